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
import shutil
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from importlib import metadata
from pathlib import Path

import anyio
import platformdirs
from anyio import to_thread
from pydantic import Field, ValidationError

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.file_locks import file_lock
from alita_mcp.sandbox.interface import Progress
from alita_mcp.sandbox.wasm import compiling
from alita_mcp.sandbox.wasm.component import Component
from alita_mcp.sandbox.wasm.private import open_private, private_folder
from alita_mcp.sandbox.wasm.worker.features import SETTINGS
from alita_mcp.values import Value

KEPT_DAYS = 30
"""Files that were not used for so long are removed."""
_LOCK = "compile.lock"
_POLL_SECONDS = 0.1
_TRIES = 20
_MAX_RECORD = 10_000
_OURS = re.compile(r"([0-9a-f]{32})(?:-[0-9a-f]{16})?\.(?:cwasm|json|partial|unneeded)")


class Wanted(Value):
    """Key of a compiled file: all that it depends on; its digest is the file's name."""

    component: str
    engine: str
    settings: str
    machine: str

    @property
    def name(self) -> str:
        """The digest."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:32]


class Record(Value):
    """Record that is kept beside a compiled file."""

    wanted: Wanted
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
        """Whether it is still the file that was checked; says that it is in use."""
        with suppress(OSError):
            os.utime(self.path.with_name(f"{self.record.wanted.name}.json"))
            return _identity(self.path.lstat()) == self.identity
        return False


def user_folder() -> Path:
    """Folder of compiled files, for all libraries of a user."""
    return platformdirs.user_cache_path("alita-mcp", appauthor=False) / "compiled"


def wanted(component: Component) -> Wanted:
    """Key of the compiled file that this process needs.

    Raises:
        SandboxUnavailable: the engine is not installed.
    """
    try:
        engine = metadata.version("wasmtime")
    except metadata.PackageNotFoundError as missing:
        raise SandboxUnavailable("wasmtime is not installed.", hint="Run: pip install wasmtime") from missing
    return Wanted(component=component.sha256, engine=engine, settings=SETTINGS, machine=_machine())


class CompiledFiles:
    """Cache of a user's compiled files in one folder."""

    def __init__(
        self,
        folder: Path | None = None,
        module: str = compiling.MODULE,
        most_seconds: float = compiling.MOST_SECONDS,
    ) -> None:
        self.folder = folder or user_folder()
        self._module = module
        self._most_seconds = most_seconds

    async def once(self, component: Component, progress: Progress) -> Compiled:
        """The compiled component; made first where it is not there, by one process for all that want it.

        Raises:
            SandboxUnavailable: the folder is not private, or compiling fails; the next call tries again.
        """
        folder, wants = await to_thread.run_sync(private_folder, self.folder), wanted(component)
        find = partial(to_thread.run_sync, find_compiled, folder, wants)
        try:
            found = await find()
            if found is None:
                async with self._locked(folder, progress):
                    found = await find() or await self._make(folder, component, wants, progress)
        except (OSError, RuntimeError) as problem:
            raise SandboxUnavailable(
                f"Python could not be prepared for this machine: {problem}.",
                hint=f"{folder} must be writable, on a file system that has locks.",
            ) from problem
        return found

    async def find(self, component: Component) -> Compiled | None:
        """The compiled component where it is there and as it must be; compiles nothing.

        Raises:
            SandboxUnavailable: the folder is not private.
        """
        folder = await to_thread.run_sync(private_folder, self.folder)
        return await to_thread.run_sync(find_compiled, folder, wanted(component))

    def is_due(self, component: Component) -> bool:
        """Whether to compile before anybody asks: it is not there, and may be needed. Reads no large file."""
        name = wanted(component).name
        if (self.folder / f"{name}.json").exists():
            return False
        with suppress(OSError):
            return not _is_young(self.folder / f"{name}.unneeded")
        return True

    def note_unneeded(self, component: Component) -> None:
        """Remembers that another sandbox was chosen, so that the next start does not look again unasked."""
        folder = private_folder(self.folder)
        with suppress(OSError):
            (folder / f"{wanted(component).name}.unneeded").touch()
            os.utime(folder / f"{wanted(component).name}.unneeded")

    @asynccontextmanager
    async def _locked(self, folder: Path, progress: Progress) -> AsyncIterator[None]:
        """One process at a time; the system frees the lock of one that is killed."""
        from filelock import Timeout

        lock = file_lock(folder / _LOCK)
        told = 0.0
        try:
            with anyio.fail_after(2 * self._most_seconds):
                while True:
                    try:
                        lock.acquire(timeout=0)
                        break
                    except Timeout:
                        if time.monotonic() - told >= compiling.TICK_SECONDS:
                            await progress(compiling.line(folder))
                            told = time.monotonic()
                        await anyio.sleep(_POLL_SECONDS)
        except TimeoutError as stuck:
            raise SandboxUnavailable(
                f"Another process has been preparing Python for {2 * self._most_seconds:g} s.",
                hint=f"See who holds {folder / _LOCK}, and end it.",
            ) from stuck
        try:
            yield
        finally:
            lock.release()

    async def _make(self, folder: Path, component: Component, wants: Wanted, progress: Progress) -> Compiled:
        """Compiles, with the lock held."""
        await to_thread.run_sync(_sweep, folder, wants.name)
        free = shutil.disk_usage(folder).free
        if free < compiling.NEEDED_BYTES:
            raise SandboxUnavailable(
                f"Python could not be prepared for this machine: {folder} has {free >> 20} MB left.",
                hint=f"Free {compiling.NEEDED_BYTES >> 20} MB there; the next call tries again.",
            )
        started, stem = time.monotonic(), f"{wants.name}-{secrets.token_hex(8)}"
        aside = folder / f"{stem}.partial"
        try:
            said = await compiling.compile_aside(component, aside, progress, self._module, self._most_seconds)
            seconds = round(time.monotonic() - started, 1)
            await to_thread.run_sync(_keep, aside, said, wants, seconds)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        made = await to_thread.run_sync(find_compiled, folder, wants)
        if made is None:
            raise SandboxUnavailable(
                "The compiled Python is not what its compiler wrote.",
                hint="Look at the disk; the next call tries again.",
            )
        return made


def find_compiled(folder: Path, wants: Wanted) -> Compiled | None:
    """Finds the compiled file in a private folder, if it and its record are valid."""
    record = _read_record(folder / f"{wants.name}.json")
    if record is None or record.wanted != wants or not _OURS.fullmatch(record.file):
        return None
    path = folder / record.file
    try:
        with open_private(path) as file:
            found = os.fstat(file.fileno())
            if (
                found.st_size != record.bytes
                or hashlib.file_digest(file, "sha256").hexdigest() != record.sha256
            ):
                return None
        os.utime(folder / f"{wants.name}.json")
    except OSError:
        return None
    return Compiled(path=path, base_bytes=record.base_bytes, record=record, identity=_identity(found))


def _read_record(path: Path) -> Record | None:
    try:
        with open_private(path) as file:
            return Record.model_validate_json(file.read(_MAX_RECORD))
    except (OSError, ValidationError):
        return None


def _keep(aside: Path, said: str, wants: Wanted, seconds: float) -> None:
    """Gives a written file its name, then says so in the record; nothing that another process has open is replaced.

    Raises:
        SandboxUnavailable: the compiler made something else.
        OSError: the disk refuses.
    """
    made = aside.with_suffix(".cwasm")
    try:
        words = json.loads(said)
        settled = Wanted(component=wants.component, engine=words.pop("engine"), settings=words.pop("settings"),
                         machine=wants.machine)  # fmt: skip
        record = Record(wanted=settled, file=made.name, seconds=seconds, **words)
    except (ValueError, TypeError, KeyError, AttributeError) as garbage:
        raise SandboxUnavailable(f"The compiler answered {said[:200]!r}.") from garbage
    if settled != wants:
        raise SandboxUnavailable(
            f"The compiler used {settled.engine} ({settled.settings}), not {wants.engine} ({wants.settings}).",
            hint="wasmtime was replaced while this process runs: start it again.",
        )
    aside.rename(made)
    target = made.with_name(f"{wants.name}.json")
    written = aside.with_name(f"{wants.name}-{secrets.token_hex(8)}.partial")
    with os.fdopen(
        os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(record.model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    _replace(written, target)


def _replace(written: Path, target: Path) -> None:
    """Renames over a file; Windows refuses that while a process reads it, which takes a moment."""
    for _ in range(_TRIES):
        with suppress(PermissionError):
            written.replace(target)
            return
        time.sleep(_POLL_SECONDS)
    written.replace(target)


def _sweep(folder: Path, current: str) -> None:
    """Removes what killed compilers left, what is made anew, and what was not used for a month. With the lock held."""
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
    except FileNotFoundError:
        return False


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@cache
def _machine() -> str:
    """The platform and what its processor can do, which compiled code makes use of."""
    able = platform.processor()
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        able = next((line for line in lines if line.startswith(("flags", "Features"))), able)
    return f"{sys.platform} {platform.machine()} {hashlib.sha256(able.encode()).hexdigest()[:16]}"
