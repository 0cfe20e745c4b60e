"""Cache of the component as compiled for this machine: private files, checked before use.

A process that loads such a file trusts it as its own code; so only the user may have been able to write it, and its
content must have the digest in its name. Other files are removed and made anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache, partial
from importlib import metadata
from io import BufferedReader
from pathlib import Path

import anyio
import platformdirs
from anyio import to_thread

from alita_mcp.errors import LibraryError, SandboxUnavailable
from alita_mcp.exception_groups import unwrap_groups
from alita_mcp.file_locks import wait_for_lock
from alita_mcp.sandbox.interface import Progress
from alita_mcp.sandbox.wasm.build import PYTHON
from alita_mcp.sandbox.wasm.component import Component
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
_OURS = re.compile(r"([0-9a-f]{32})[-0-9a-f]*\.(?:cwasm|partial|unneeded|json)")
"""All files of ours in the folder, those of earlier releases too."""
_STEPS_BACK = getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
"""On Windows; elsewhere the compiler steps back by itself."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_ENTER = stat.S_IRWXG | stat.S_IRWXO
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


class Compiled(Value):
    """A compiled component that may be loaded."""

    path: Path
    identity: tuple[int, ...]

    def is_as_checked(self) -> bool:
        """Whether it is still the file that was checked; notes that it is in use."""
        with suppress(OSError):
            status = self.path.lstat()
            if _identity(status) == self.identity:
                os.utime(self.path, ns=(time.time_ns(), status.st_mtime_ns))
                return True
        return False


def engine_version() -> str:
    """Version of wasmtime.

    Raises:
        SandboxUnavailable: it is not installed.
    """
    try:
        return metadata.version("wasmtime")
    except metadata.PackageNotFoundError as missing:
        raise SandboxUnavailable("wasmtime is not installed.", hint="Run: pip install wasmtime") from missing


def key_for(component: Component) -> str:
    """First part of the compiled file's name: a digest of all that the file depends on.

    Raises:
        SandboxUnavailable: the engine is not installed.
    """
    words = [component.sha256, PYTHON, engine_version(), SETTINGS, _machine()]
    return hashlib.sha256(json.dumps(words).encode()).hexdigest()[:32]


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
        find = partial(self.find, component)
        try:
            if found := await find():
                return found
            with unwrap_groups():
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_report, progress)
                    # 1. This process compiles, with the lock held; the system frees the lock of one that is killed.
                    # 2. Another one compiled while this one waited for the lock: the file is there now.
                    async with wait_for_lock(self.folder / LOCK, 2 * self._most_seconds, _POLL_SECONDS):
                        found = await find()
                        if found is None:
                            await self._compile(component)
                            found = await find()
                    tasks.cancel_scope.cancel()
        except (LibraryError, OSError, RuntimeError) as problem:
            raise SandboxUnavailable(
                f"Python could not be prepared for this machine: {problem}",
                hint=f"{self.folder} must be writable, on a file system that has locks.",
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
        return await to_thread.run_sync(self._find, key_for(component))

    def _find(self, key: str) -> Compiled | None:
        folder = _private_folder(self.folder)
        for path in folder.glob(f"{key}-*.cwasm"):
            with suppress(OSError), _open_private(path) as file:
                found = Compiled(path=path, identity=_identity(os.fstat(file.fileno())))
                if path.name == f"{key}-{hashlib.file_digest(file, 'sha256').hexdigest()}.cwasm":
                    return found if found.is_as_checked() else None
        return None

    async def _compile(self, component: Component) -> None:
        """Runs the compiler in a process that ends with this call, also a cancelled one; with the lock held."""
        key = key_for(component)
        await to_thread.run_sync(_remove_unused, self.folder, key)
        aside = self.folder / f"{key}-{secrets.token_hex(8)}.partial"
        argv = module_command(self._compiler, str(component.path), component.sha256, str(aside))
        options = {"stdout": subprocess.DEVNULL, "cwd": NOWHERE, "creationflags": _STEPS_BACK | NO_WINDOW}
        why = f"it took more than {self._most_seconds:g} s"
        try:
            with tempfile.TemporaryFile() as complaints:
                async with helper_process(argv, **options, stderr=complaints) as process:
                    with anyio.move_on_after(self._most_seconds):
                        if await process.wait() == 0:
                            return
                        complaints.seek(0)
                        words = complaints.read(MAX_COMPLAINTS).decode("utf-8", "replace").strip()
                        why = words.rpartition("\n")[2] or f"its process was ended ({process.returncode})"
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        raise SandboxUnavailable(
            f"Python could not be prepared for this machine: {why}.",
            hint="It takes 100 MB on the disk and 500 MB of memory for a moment; the next call tries again.",
        )


async def _report(progress: Progress) -> None:
    """Tells how long it has taken, until it is cancelled."""
    started = time.monotonic()
    while True:
        seconds = time.monotonic() - started
        total = max(CPU_SECONDS, seconds)
        await progress(f"preparing Python for this machine, once: {seconds:.0f} of about {total:.0f} s")
        await anyio.sleep(_TICK_SECONDS)


def _remove_unused(folder: Path, current: str) -> None:
    """Removes what killed compilers left, what is made anew, and what was not used for a month; with the lock held."""
    due = time.time() - KEPT_DAYS * 86_400
    for path in folder.iterdir():
        if ours := _OURS.fullmatch(path.name):
            with suppress(OSError):  # gone already; on Windows a file that is in use
                used = max(path.lstat().st_atime, path.lstat().st_mtime)
                if ours[1] == current or path.suffix == ".partial" or used < due:
                    path.unlink()


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@cache
def _machine() -> str:
    """The platform and what its processor can do, which compiled code makes use of."""
    able = platform.processor()
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        able = next((line for line in lines if line.startswith(("flags", "Features"))), able)
    return f"{sys.platform} {platform.machine()} {able}"


def _private_folder(folder: Path) -> Path:
    """Checks that a folder is private; makes it where it is missing.

    On Windows it lies in the user's profile, whose access list keeps others out; elsewhere owner and mode are checked,
    and that no other user can replace it. A folder above it that the user's group may write is allowed: many systems
    give each user a group of their own.

    Raises:
        SandboxUnavailable: it cannot be made, or somebody else can change it.
    """
    try:
        folder = folder.parent.resolve() / folder.name
        for place in (*reversed(folder.parents), folder):
            if not place.is_dir():
                with suppress(FileExistsError):
                    place.mkdir(mode=0o700)  # whatever the umask allows
        weakness = _find_weakness(folder)
    except OSError as problem:
        raise SandboxUnavailable(
            f"The folder for compiled files cannot be used: {problem}.",
            hint="It lies in the user's folder for caches, which must be writable (on Linux XDG_CACHE_HOME names it).",
        ) from problem
    if weakness:
        raise SandboxUnavailable(
            f"{folder} is not private: {weakness}. Nothing was loaded from it.",
            hint="Remove it; it is made anew. Folders above it must be yours or root's, and nobody else's to write to.",
        )
    return folder


def _find_weakness(folder: Path) -> str:
    """Why somebody else could change the folder; empty where nobody can."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or getattr(found, "st_reparse_tag", False):
        return "it is a link or a file, not a folder"
    if os.name != "posix":
        return ""
    if found.st_uid != os.geteuid():
        return f"it belongs to another user ({found.st_uid})"
    if found.st_mode & _OTHERS_WRITE:
        return f"others may write to it (mode {found.st_mode & 0o7777:o})"
    if found.st_mode & _OTHERS_ENTER:
        folder.chmod(0o700)
    for above in folder.parents[:-1]:
        its = above.stat()
        if its.st_uid not in (os.geteuid(), 0):
            return f"{above} belongs to another user ({its.st_uid})"
        if its.st_mode & stat.S_IWOTH and not its.st_mode & stat.S_ISVTX:
            return f"everybody may write to {above}"
    return ""


def _open_private(path: Path) -> BufferedReader:
    """Opens a file that only the user may write; OSError where it is another one."""
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    found = os.fstat(file.fileno())
    is_ours = os.name != "posix" or (found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_WRITE)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or not is_ours:
        file.close()
        raise PermissionError(f"{path} is not a file of this user's alone")
    return file
