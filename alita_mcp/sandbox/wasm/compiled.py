"""Cache of the component as compiled for this machine: private files, checked before use.

A process that loads such a file trusts it as its own code; so only the user may have been able to write it, and it must
be what its record says. Other files are removed and made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import IO, NoReturn

import anyio
import platformdirs
from anyio import to_thread
from pydantic import Field, ValidationError

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.exception_groups import unwrap_groups
from alita_mcp.file_locks import wait_for_lock
from alita_mcp.sandbox.interface import Progress
from alita_mcp.sandbox.wasm.component import Component
from alita_mcp.sandbox.wasm.private import open_private, private_folder, write_private
from alita_mcp.sandbox.wasm.process import MAX_COMPLAINTS, NO_WINDOW, NOWHERE, helper_process, module_command
from alita_mcp.sandbox.wasm.worker.features import SETTINGS
from alita_mcp.values import Value

COMPILER = "alita_mcp.sandbox.wasm.worker.compile"
MOST_SECONDS = 600.0
CPU_SECONDS = 13.0
"""What compiling takes; measured on x86-64, there 12.8 to 14.2."""
KEPT_DAYS = 30
"""Files that were not used for so long are removed."""
LOCK = "compile.lock"
_TICK_SECONDS = 1.0
_POLL_SECONDS = 0.1
_MAX_RECORD = 10_000
_OURS = re.compile(r"([0-9a-f]{32})(?:-[0-9a-f]{16})?\.(?:cwasm|json|partial|unneeded)")
_STEPS_BACK = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
"""On Windows; elsewhere the compiler steps back by itself."""


class Key(Value):
    """All that a compiled file depends on; its digest is the file's name."""

    component: str
    engine: str
    settings: str
    machine: str

    @property
    def digest(self) -> str:
        """Name of the file and its record, without an ending."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]


class Record(Value):
    """Record that is kept beside a compiled file."""

    wanted: Key
    file: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: int = Field(gt=0)
    base_bytes: int = Field(gt=0, le=1 << 30)
    seconds: float
    cpu_seconds: float


class Compiled(Value):
    """A compiled component that may be loaded."""

    path: Path
    base_bytes: int
    """What an instance takes before it does anything."""
    record: Record
    identity: tuple[int, ...]

    def is_as_checked(self) -> bool:
        """Whether it is still the file that was checked; notes that it is in use."""
        with suppress(OSError):
            os.utime(self.path.with_name(f"{self.record.wanted.digest}.json"))
            return _identity(self.path.lstat()) == self.identity
        return False


def key_for(component: Component) -> Key:
    """Key of the compiled file that this process needs.

    Raises:
        SandboxUnavailable: the engine is not installed.
    """
    try:
        engine = metadata.version("wasmtime")
    except metadata.PackageNotFoundError as missing:
        raise SandboxUnavailable("wasmtime is not installed.", hint="Run: pip install wasmtime") from missing
    return Key(component=component.sha256, engine=engine, settings=SETTINGS, machine=_machine())


class CompiledFiles:
    """Cache of a user's compiled files in one folder, by default for all libraries of the user."""

    def __init__(
        self, folder: Path | None = None, compiler: str = COMPILER, most_seconds: float = MOST_SECONDS
    ) -> None:
        self.folder = folder or platformdirs.user_cache_path("alita-mcp", appauthor=False) / "compiled"
        self._compiler = compiler
        self._most_seconds = most_seconds

    async def compile_once(self, component: Component, progress: Progress) -> Compiled:
        """The compiled component; made first where it is not there, by one process for all that want it.

        Raises:
            SandboxUnavailable: the folder is not private, or compiling fails; the next call tries again.
        """
        folder, key = await to_thread.run_sync(private_folder, self.folder), key_for(component)
        find = partial(to_thread.run_sync, find_compiled, folder, key)
        try:
            if found := await find():
                return found
            with unwrap_groups():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_report, progress)
                    # 1. This process compiles, with the lock held; the system frees the lock of one that is killed.
                    # 2. Another one compiled while this one waited for the lock: the file is there now.
                    async with wait_for_lock(folder / LOCK, 2 * self._most_seconds, _POLL_SECONDS):
                        found = await find() or await self._compile(folder, component, key)
                    tasks.cancel_scope.cancel()
        except TimeoutError as stuck:
            raise SandboxUnavailable(
                f"Another process has been preparing Python for {2 * self._most_seconds:g} s.",
                hint=f"Find the process that holds {folder / LOCK}, and end it.",
            ) from stuck
        except (OSError, RuntimeError) as problem:
            raise SandboxUnavailable(
                f"Python could not be prepared for this machine: {problem}.",
                hint=f"{folder} must be writable, on a file system that has locks.",
            ) from problem
        if found is None:
            raise SandboxUnavailable(
                "The compiled Python is not what its compiler wrote.",
                hint="Check the disk; the next call tries again.",
            )
        return found

    async def find(self, component: Component) -> Compiled | None:
        """The compiled component where it is there and valid; compiles nothing.

        Raises:
            SandboxUnavailable: the folder is not private.
        """
        folder = await to_thread.run_sync(private_folder, self.folder)
        return await to_thread.run_sync(find_compiled, folder, key_for(component))

    def is_due(self, component: Component) -> bool:
        """Whether to compile before anybody asks: it is not there, and may be needed. Reads no large file."""
        name = key_for(component).digest
        if (self.folder / f"{name}.json").exists():
            return False
        return not _is_young(self.folder / f"{name}.unneeded")

    def note_unneeded(self, component: Component) -> None:
        """Notes that another sandbox was chosen, so that the next start does not compile unasked."""
        marker = private_folder(self.folder) / f"{key_for(component).digest}.unneeded"
        with suppress(OSError):
            marker.touch()

    async def _compile(self, folder: Path, component: Component, key: Key) -> Compiled | None:
        """Compiles into a new file, with the lock held; nothing that another process has open is replaced."""
        await to_thread.run_sync(_remove_unused, folder, key.digest)
        started, aside = time.monotonic(), folder / f"{key.digest}-{secrets.token_hex(8)}.partial"
        try:
            words = await self._run_compiler(component, aside)
            seconds = round(time.monotonic() - started, 1)
            await to_thread.run_sync(_keep_compiled, aside, words, key, seconds)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        return await to_thread.run_sync(find_compiled, folder, key)

    async def _run_compiler(self, component: Component, target: Path) -> str:
        """Runs the compiler in a process that ends with this call, also a cancelled one; its report."""
        argv = module_command(self._compiler, str(component.path), component.sha256, str(target))
        with tempfile.TemporaryFile() as report, tempfile.TemporaryFile() as complaints:
            streams = {"stdout": report, "stderr": complaints}
            async with helper_process(
                argv, **streams, cwd=NOWHERE, creationflags=_STEPS_BACK | NO_WINDOW
            ) as process:
                with anyio.move_on_after(self._most_seconds):
                    await process.wait()
                if process.returncode is None:
                    _fail(f"it took more than {self._most_seconds:g} s")
                if process.returncode:
                    lines = _text(complaints).splitlines()
                    _fail(lines[-1] if lines else f"its process was ended ({process.returncode})")
            return _text(report)


def find_compiled(folder: Path, key: Key) -> Compiled | None:
    """Finds the compiled file in a private folder, if it and its record are valid."""
    try:
        with open_private(folder / f"{key.digest}.json") as file:
            record = Record.model_validate_json(file.read(_MAX_RECORD))
        if record.wanted != key or not _OURS.fullmatch(record.file):
            return None
        with open_private(folder / record.file) as file:
            status = os.fstat(file.fileno())
            if (
                status.st_size != record.bytes
                or hashlib.file_digest(file, "sha256").hexdigest() != record.sha256
            ):
                return None
        os.utime(folder / f"{key.digest}.json")
    except (OSError, ValidationError):
        return None
    return Compiled(
        path=folder / record.file, base_bytes=record.base_bytes, record=record, identity=_identity(status)
    )


async def _report(progress: Progress) -> None:
    """Tells how long it has taken, until it is cancelled."""
    started = time.monotonic()
    while True:
        seconds = time.monotonic() - started
        total = max(CPU_SECONDS, seconds)
        await progress(f"preparing Python for this machine, once: {seconds:.0f} of about {total:.0f} s")
        await anyio.sleep(_TICK_SECONDS)


def _keep_compiled(aside: Path, words: str, key: Key, seconds: float) -> None:
    """Gives a compiled file its name, then names it in the record.

    Raises:
        SandboxUnavailable: the compiler made something else.
        OSError: the disk refuses.
    """
    made = aside.with_suffix(".cwasm")
    try:
        report = json.loads(words)
        engine, settings = report.pop("engine"), report.pop("settings")
        record = Record(wanted=key, file=made.name, seconds=seconds, **report)
    except (ValueError, TypeError, KeyError, AttributeError) as garbage:
        raise SandboxUnavailable(f"The compiler answered {words[:200]!r}.") from garbage
    if (engine, settings) != (key.engine, key.settings):
        raise SandboxUnavailable(
            f"The compiler used {engine} ({settings}), not {key.engine} ({key.settings}).",
            hint="wasmtime was replaced while this process runs: start it again.",
        )
    aside.rename(made)
    written = aside.with_name(f"{key.digest}-{secrets.token_hex(8)}.partial")
    write_private(written, record.model_dump_json(indent=1).encode() + b"\n")
    written.replace(made.with_name(f"{key.digest}.json"))


def _remove_unused(folder: Path, current: str) -> None:
    """Removes what killed compilers left, what is made anew, and what was not used for a month; with the lock held."""
    for path in folder.iterdir():
        ours = _OURS.fullmatch(path.name)
        if ours is None:
            continue
        used = folder / f"{ours[1]}.json" if path.suffix == ".cwasm" else path
        with suppress(OSError):  # gone already; on Windows a file that is in use
            if ours[1] == current or path.suffix == ".partial" or not _is_young(used):
                path.unlink()


def _is_young(path: Path) -> bool:
    """Whether a file was used within `KEPT_DAYS`; false where it is not there."""
    try:
        return time.time() - path.lstat().st_mtime < KEPT_DAYS * 86_400
    except OSError:
        return False


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _fail(why: str) -> NoReturn:
    raise SandboxUnavailable(
        f"Python could not be prepared for this machine: {why}.",
        hint="It takes 100 MB on the disk and 500 MB of memory for a moment; the next call tries again.",
    )


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(MAX_COMPLAINTS).decode("utf-8", "replace").strip()


@cache
def _machine() -> str:
    """The platform and what its processor can do, which compiled code makes use of."""
    able = platform.processor()
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        able = next((line for line in lines if line.startswith(("flags", "Features"))), able)
    return f"{sys.platform} {platform.machine()} {hashlib.sha256(able.encode()).hexdigest()[:16]}"
