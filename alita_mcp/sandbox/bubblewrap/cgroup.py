"""Control groups for bubblewrap: memory and process limits of a whole sandbox, cgroup v1 and v2."""

from __future__ import annotations

import os
import shutil
import signal
import uuid
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.owner import ProcessOwner
from alita_mcp.values import Limits

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
_REMOVE_SECONDS = 10.0
_PERIOD_US = 100_000
_REQUIRED = {"memory.max", "memory.limit_in_bytes", "pids.max"}
"""Files of the limits that must hold; not every kernel has the others."""


class CgroupMissing(Exception):
    """Error: no control group can be made here; the text says why."""


class Cgroup(NamedTuple):
    """One control group: a folder in v2, a folder per controller in v1."""

    folders: tuple[Path, ...]

    def admit(self, pid: int) -> None:
        """Moves a process, and all that it will start, under the limits."""
        try:
            for folder in self.folders:
                (folder / "cgroup.procs").write_text(str(pid), "ascii")
        except OSError as refused:
            raise SandboxError(f"The sandbox cannot be put under its limits: {refused}.") from refused

    def holds(self, limits: Limits) -> bool:
        """Whether it is a v2 group with these limits, or tighter ones."""
        wanted = {"memory.max": limits.memory_bytes, "pids.max": limits.processes}
        found = {file: _number(folder / file) for folder in self.folders for file in wanted}
        return bool(found) and all(
            limit is not None and limit <= wanted[file] for file, limit in found.items()
        )

    def oom_kills(self) -> int:
        """Number of processes that the kernel killed in this group because memory ran out."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                try:
                    lines = (folder / name).read_text("ascii").splitlines()
                except OSError:
                    continue
                return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
        return 0

    async def remove(self) -> None:
        """Kills all processes in the group and removes its folders."""
        with anyio.move_on_after(_REMOVE_SECONDS):
            for folder in self.folders:
                while not _remove_folder(folder):
                    for pid in _words(folder / "cgroup.procs"):
                        with suppress(ProcessLookupError, PermissionError):
                            os.kill(int(pid), signal.SIGKILL)
                    await anyio.sleep(0.005)


class Cgroups:
    """Factory of control groups below those that are delegated to this process.

    `root` and `own` are where the kernel shows them, `manager` is the socket of the user's own systemd.
    """

    def __init__(self, root: Path = ROOT, own: Path = OWN, manager: Path | None = None) -> None:
        self._root = root
        self._own = own
        self._manager = manager
        self._owner = ProcessOwner.this_process()

    def create(self, limits: Limits) -> Cgroup:
        """Makes a control group with these limits, which are checked by reading them back.

        Raises:
            CgroupMissing: the system delegates none to this process.
        """
        name = f"alita-{self._owner}-{uuid.uuid4().hex[:8]}"
        made: list[Path] = []
        try:
            for parent, files in self._plan(limits):
                folder = parent / name
                folder.mkdir()
                made.append(folder)
                for file, value in files.items():
                    write_limit(folder / file, value)
        except (OSError, CgroupMissing) as refused:
            for folder in made:
                _remove_folder(folder)
            raise CgroupMissing(str(refused)) from refused
        return Cgroup(tuple(made))

    def scope_command(self, limits: Limits) -> list[str] | None:
        """Prefix of a command by which the user's systemd makes a control group that this process may not make."""
        manager = self._manager or Path(f"/run/user/{os.geteuid()}/systemd/private")
        program = shutil.which("systemd-run")
        if program is None or not self._is_v2() or not manager.exists():
            return None
        properties = (
            f"MemoryMax={limits.memory_bytes}",
            "MemorySwapMax=0",
            f"TasksMax={limits.processes}",
            "CPUQuota=100%",
            "Delegate=yes",  # or systemd ends the whole scope when the kernel kills one process for want of memory
        )
        return [
            program, "--user", "--scope", "--quiet", "--collect",
            *(f"--property={line}" for line in properties), "--",
        ]  # fmt: skip

    def group_of(self, pid: int) -> Cgroup:
        """The v2 control group of a process, made by another program; one without limits when the process is gone."""
        try:
            lines = Path(f"/proc/{pid}/cgroup").read_text("ascii").splitlines()
        except OSError:
            return Cgroup(())
        return Cgroup(
            tuple(self._root / line.removeprefix("0::/") for line in lines if line.startswith("0::/"))
        )

    def sweep(self) -> None:
        """Removes empty control groups of processes that have ended."""
        try:
            parents = [parent for parent, _ in self._plan(Limits())]
        except CgroupMissing:
            return
        for parent in parents:
            # beside ours too: a later process seldom starts in the very group of the one that was killed
            inside = parent.parent != self._root and parent.parent.is_relative_to(self._root)
            for folder in (*parent.glob("alita-*"), *(parent.parent.glob("*/alita-*") if inside else ())):
                owner = ProcessOwner.parse(folder.name.removeprefix("alita-").rpartition("-")[0])
                if owner is not None and owner.is_gone():
                    _remove_folder(folder)

    def _plan(self, limits: Limits) -> list[tuple[Path, dict[str, str]]]:
        """The groups below which one is made, with the files that hold its limits."""
        memory, processes, period = str(limits.memory_bytes), str(limits.processes), str(_PERIOD_US)
        if self._is_v2():
            files = {
                "memory.max": memory, "memory.swap.max": "0", "pids.max": processes, "cpu.max": f"{period} {period}",
            }  # fmt: skip
            return [(self._find_delegated_group(), files)]
        plan = [
            (
                self._v1_parent("memory"),
                {"memory.limit_in_bytes": memory, "memory.memsw.limit_in_bytes": memory},
            ),
            (self._v1_parent("pids"), {"pids.max": processes}),
            (self._v1_parent("cpu"), {"cpu.cfs_period_us": period, "cpu.cfs_quota_us": period}),
        ]
        return [(parent, files) for parent, files in plan if parent.is_dir()]

    def _is_v2(self) -> bool:
        return (self._root / "cgroup.controllers").exists()

    def _find_delegated_group(self) -> Path:
        """The nearest group above ours that hands memory and processes down and lets us make children."""
        folder = self._root / self._path_of("")
        for candidate in (folder, *folder.parents):
            if not candidate.is_relative_to(self._root):
                break
            handed_down = _words(candidate / "cgroup.subtree_control")
            if {"memory", "pids"} <= handed_down and os.access(candidate / "cgroup.procs", os.W_OK):
                return candidate
        raise CgroupMissing("no control group with memory and pids is delegated to this user")

    def _v1_parent(self, controller: str) -> Path:
        own = self._root / controller / self._path_of(controller)
        parent = own if own.is_dir() else self._root / controller
        if controller != "cpu" and not parent.is_dir():
            raise CgroupMissing(f"the control group {controller!r} is not mounted")
        return parent

    def _path_of(self, controller: str) -> str:
        try:
            lines = self._own.read_text("ascii").splitlines()
        except OSError:
            lines = []
        for line in lines:
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(","):
                return path.lstrip("/")
        return ""


def write_limit(file: Path, value: str) -> None:
    """Writes a limit and reads it back.

    Raises:
        CgroupMissing: a limit that is required does not hold.
        OSError: the kernel refuses.
    """
    is_required = file.name in _REQUIRED
    if is_required or file.exists():
        file.write_text(value, "ascii")
        found = _number(file)
        if is_required and (found is None or found > int(value)):
            raise CgroupMissing(f"{file.name} is {found} after it was set to {value}")


def _number(file: Path) -> int | None:
    try:
        text = file.read_text("ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def _words(file: Path) -> set[str]:
    try:
        return set(file.read_text("ascii").split())
    except OSError:
        return set()


def _remove_folder(folder: Path) -> bool:
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()
