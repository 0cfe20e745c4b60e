"""Bubblewrap back end: a process tree in namespaces of its own, under a control group, never started as root."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.machine import is_out_of_descriptors
from alita_mcp.sandbox.bubblewrap.cgroup import Cgroup, CgroupMissing, Cgroups
from alita_mcp.sandbox.bubblewrap.command import (
    DROP,
    OLDEST,
    Interpreter,
    command_without_privileges,
    scratch_bytes,
    start_command,
)
from alita_mcp.sandbox.bubblewrap.process import start_confined_process
from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.packages.folders import Folders
from alita_mcp.sandbox.wire.attestation import Demands
from alita_mcp.sandbox.wire.link import Confinement, Transport
from alita_mcp.settings import Settings
from alita_mcp.values import Limits

INSTALL = (
    "Install bubblewrap 0.8 or newer: apt install bubblewrap, dnf install bubblewrap or pacman -S bubblewrap."
)
UTIL_LINUX = "Install util-linux, or start the server as another user than root."
DELEGATE = (
    "Start the server in a systemd user session, which delegates control groups, or set ALITA_SANDBOX=wasm."
)
_SETTLE_SECONDS = 10.0
_ASK = "import sys; print(*sys.version_info[:2])"


class BubblewrapSandbox(IsolatedSandbox):
    """Bubblewrap back end: needs Linux with user namespaces, no daemon and no privileges."""

    kind = "bubblewrap"

    def __init__(self, settings: Settings, cgroups: Cgroups | None = None) -> None:
        self._folders = Folders(settings.home / "environments")
        super().__init__(settings, self._folders)
        self._cgroups = cgroups or Cgroups()
        self._tools: tuple[str, Interpreter] | None = None

    def hint(self) -> str:
        """How to install bubblewrap, or what it needs."""
        return DELEGATE if shutil.which("bwrap") else INSTALL

    @asynccontextmanager
    async def boot(
        self, limits: Limits, environment: Environment | None
    ) -> AsyncIterator[tuple[Transport, Confinement]]:
        """Starts a bubblewrap process under its limits, which waits for its supervisor."""
        if self._tools is None:
            self._tools = await anyio.to_thread.run_sync(_find_tools)
            self._cgroups.sweep()
        bwrap, python = self._tools
        # never a folder that somebody else named, because it is mounted
        packages = self._folders.find(environment.digest) if environment else ""
        if environment and packages != environment.location:
            raise SandboxError(f"The environment {environment.digest!r} no longer exists.")
        confinement, cgroup, prefix = self._limit_resources(limits)

        async def confine(pid: int) -> Cgroup | None:
            if cgroup is not None:
                cgroup.admit(pid)
            return await self._find_scope(pid, limits) if prefix else cgroup

        try:
            words = start_command(python, bwrap, limits, packages or "")
            async with start_confined_process([*prefix, *words], confine) as transport:
                yield transport, confinement
        finally:
            if cgroup is not None:
                with anyio.CancelScope(shield=True):
                    await cgroup.remove()

    def _limit_resources(self, limits: Limits) -> tuple[Confinement, Cgroup | None, list[str]]:
        """What limits a sandbox: a control group made for it, or a prefix of its command that makes one.

        Raises:
            SandboxUnavailable: no control group can be had.
        """
        # memory and processes are limited from outside and cannot be seen from inside: no /sys there
        demands = Demands(
            memory_bytes=None, processes=None, scratch_bytes=scratch_bytes(limits), scratch_files=None,
            engine_filter=False,
        )  # fmt: skip
        confinement = Confinement(demands=demands)
        try:
            return confinement, self._cgroups.create(limits), []
        except CgroupMissing as problem:
            missing = problem
        if (words := self._cgroups.scope_command(limits)) is not None:
            return confinement, None, words
        raise SandboxUnavailable(f"The memory of a sandbox cannot be limited here: {missing}.", hint=DELEGATE)

    async def _find_scope(self, pid: int, limits: Limits) -> Cgroup:
        """The control group that systemd made, trusted only once the kernel shows its limits on the process."""
        with anyio.move_on_after(_SETTLE_SECONDS):
            while True:
                group = self._cgroups.group_of(pid)
                if group.holds(limits):
                    return group
                await anyio.sleep(0.01)
        raise SandboxError("systemd applied no limits to the sandbox.", hint=DELEGATE)


def _find_tools() -> tuple[str, Interpreter]:
    if sys.platform != "linux":
        raise SandboxUnavailable("bubblewrap runs on Linux only.", hint="Use Docker here.")
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxUnavailable("bubblewrap is not installed.", hint=INSTALL)
    if os.geteuid() == 0 and shutil.which(DROP[0]) is None:
        raise SandboxUnavailable(f"{DROP[0]}, which drops root's privileges, is missing.", hint=UTIL_LINUX)
    answer = _output([bwrap, "--version"])
    version = tuple(int(part) for part in re.findall(r"\d+", answer)[:2])
    if version < OLDEST:
        raise SandboxUnavailable(f"{answer.strip() or 'bubblewrap'} is too old.", hint=INSTALL)
    return bwrap, _find_python()


def _find_python() -> Interpreter:
    """The first Python that is new enough and that the sandbox user can start; the system's before our own."""
    own = f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [Interpreter("/usr/bin/python3", ""), Interpreter("/usr/local/bin/python3", "")]
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        candidates.append(Interpreter(own, sys.base_prefix))
    for candidate in candidates:
        version = tuple(int(part) for part in _output([candidate.executable, "-I", "-S", "-c", _ASK]).split())
        if version >= (3, 11):
            return candidate
    tried = ", ".join(candidate.executable for candidate in candidates)
    raise SandboxUnavailable(
        f"No Python 3.11 or newer that the sandbox's user can start: tried {tried}.",
        hint="Install python3 (3.11 or newer) from the system's packages.",
    )


def _output(argv: list[str]) -> str:
    """What a program says, as the sandbox's user; empty when it cannot be started or fails."""
    try:
        done = subprocess.run(
            command_without_privileges(argv),
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
            env={},
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError) as failure:
        if is_out_of_descriptors(failure):  # which says nothing about the program
            raise
        return ""
    return str(done.stdout)
