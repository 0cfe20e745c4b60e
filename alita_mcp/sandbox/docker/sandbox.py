"""Docker back end: one container for each worker, nothing mounted from the host, frames over attached stdio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from alita_mcp.sandbox.docker.engine import GVISOR, OWNER_LABEL, START_DOCKER, Engine
from alita_mcp.sandbox.docker.transport import open_container
from alita_mcp.sandbox.docker.volumes import Volumes, volume_name
from alita_mcp.sandbox.interface import Environment, Progress
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.wire.attestation import Demands
from alita_mcp.sandbox.wire.bundle import command
from alita_mcp.sandbox.wire.link import PACKAGES, Confinement, Transport
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock

USER = 65532
_PAGE = 4096
_SHARED_MEMORY = "16m"
_TMPFS = "rw,nosuid,nodev,noexec,mode=1777"
FEWEST_SENTRY_THREADS = 512
"""gVisor's own threads count towards the limit of processes; with fewer it falls over."""


class DockerSandbox(IsolatedSandbox):
    """Docker back end; works with any engine that the `docker` command reaches, remote ones included."""

    kind = "docker"

    def __init__(self, settings: Settings) -> None:
        self._engine = Engine(settings.docker_image, settings.home)
        super().__init__(settings, Volumes(self._engine))

    def hint(self) -> str:
        """How to install or start an engine."""
        return START_DOCKER

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; the image is pulled first, with progress."""
        await self._engine.ensure_image(progress)
        return await super().prepare(lock, progress)

    @asynccontextmanager
    async def boot(
        self, limits: Limits, environment: Environment | None
    ) -> AsyncIterator[tuple[Transport, Confinement]]:
        """Starts a container that waits for its supervisor."""
        await self._engine.ensure_image()
        gvisor = await self._engine.has_gvisor()
        parameters = self.parameters(limits, environment, gvisor=gvisor)
        async with open_container(self._engine, parameters) as transport:
            yield transport, confinement(limits, gvisor=gvisor)

    def parameters(
        self, limits: Limits, environment: Environment | None, *, gvisor: bool = False
    ) -> dict[str, Any]:
        """Arguments of `containers.create`; each of them takes something away from the container."""
        from docker.types import LogConfig, Ulimit

        # named by the digest, not by the location: that could be a path, which would be mounted from the host
        volumes = {volume_name(environment.digest): {"bind": PACKAGES, "mode": "ro"}} if environment else {}
        scratch = max(limits.scratch_bytes, _PAGE)
        return {
            "image": self._engine.image,
            "entrypoint": list(command("python3")),
            "command": [],
            "network_mode": "none",
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true"],
            "user": f"{USER}:{USER}",
            "read_only": True,
            "mem_limit": limits.memory_bytes,
            "memswap_limit": limits.memory_bytes,
            "nano_cpus": 1_000_000_000,
            "pids_limit": max(limits.processes, FEWEST_SENTRY_THREADS) if gvisor else limits.processes,
            "ipc_mode": "private",
            "tmpfs": {
                "/tmp": f"{_TMPFS},size={scratch},nr_inodes={limits.scratch_files}",  # noqa: S108
                "/dev/shm": f"{_TMPFS},size={_SHARED_MEMORY},nr_inodes=1024",  # noqa: S108
            },
            "ulimits": [Ulimit(name="core", soft=1, hard=1)],
            "log_config": LogConfig(type="none"),  # a flood of output would fill the engine's disk otherwise
            "stdin_open": True,
            "tty": False,
            "auto_remove": True,
            "hostname": "tool",
            "working_dir": "/tmp",  # noqa: S108 - inside the container
            "environment": {},
            "volumes": volumes,
            "labels": {OWNER_LABEL: str(self._engine.owner)},
            **({"runtime": GVISOR} if gvisor else {}),
        }

    async def aclose(self) -> None:
        """Ends every container and closes the connection to the engine."""
        await super().aclose()
        await self._engine.aclose()


def confinement(limits: Limits, *, gvisor: bool) -> Confinement:
    """Attestation that a container must give for these limits.

    Under gVisor the host's control groups and filters lie outside of what the container sees, so they cannot be
    attested: the engine is asked instead whether it keeps limits, and the processes inside are counted by a resource
    limit of gVisor's kernel. That one has no set of ambient capabilities, and counts no files of a tmpfs.
    """
    inside_sees = not gvisor
    return Confinement(
        demands=Demands(
            memory_bytes=limits.memory_bytes if inside_sees else None,
            processes=limits.processes if inside_sees else None,
            scratch_bytes=max(limits.scratch_bytes, _PAGE),
            scratch_files=limits.scratch_files if inside_sees else None,
            engine_filter=inside_sees,
            ambient_set=inside_sees,
        ),
        processes=None if inside_sees else limits.processes,
    )
