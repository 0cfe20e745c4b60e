"""The docker back end: a container per call, nothing mounted from the host, frames over the attached stdio."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from alita_mcp.sandbox.attestation import Demands
from alita_mcp.sandbox.bundle import command
from alita_mcp.sandbox.docker_engine import OWNER_LABEL, START_DOCKER, Engine
from alita_mcp.sandbox.docker_transport import running_container
from alita_mcp.sandbox.docker_volumes import has_volume, store_volume, volume_name
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.seam import Environment, Progress
from alita_mcp.sandbox.wire import PACKAGES, Confinement, Transport
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock

USER = 65532
_PAGE = 4096
_SHARED_MEMORY = "16m"


class DockerSandbox(IsolatedSandbox):
    """Works with any engine that the `docker` command reaches, remote ones included."""

    kind = "docker"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._engine = Engine(settings.docker_image)

    def hint(self) -> str:
        """How to get an engine."""
        return START_DOCKER

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        """The environment for a lock; the image is pulled first, with progress."""
        await self._engine.ensure_image(progress)
        return await super().prepare(lock, progress)

    @asynccontextmanager
    async def boot(
        self, limits: Limits, environment: Environment | None
    ) -> AsyncIterator[tuple[Transport, Confinement]]:
        """A container that waits for its supervisor."""
        await self._engine.ensure_image()
        parameters = self.parameters(limits, environment)
        async with running_container(self._engine, parameters) as transport:
            yield transport, confinement(limits)

    def parameters(self, limits: Limits, environment: Environment | None) -> dict[str, Any]:
        """What `containers.create` gets; each line takes something away from the container."""
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
            "pids_limit": limits.processes,
            "ipc_mode": "private",
            "tmpfs": {
                "/tmp": f"{_TMPFS},size={scratch},nr_inodes={scratch_files(limits)}",  # noqa: S108
                "/dev/shm": f"{_TMPFS},size={_SHARED_MEMORY},nr_inodes=1024",  # noqa: S108
            },
            "ulimits": [Ulimit(name="core", soft=0, hard=0)],
            "log_config": LogConfig(type="none"),  # a flood of output would fill the engine's disk otherwise
            "stdin_open": True,
            "tty": False,
            "auto_remove": True,
            "hostname": "tool",
            "working_dir": "/tmp",  # noqa: S108 - inside the container
            "environment": {},
            "volumes": volumes,
            "labels": {OWNER_LABEL: str(self._engine.owner)},
        }

    async def store_environment(self, digest: str, tar: bytes) -> str:
        """Keeps an environment in a named volume."""
        await self._engine.ensure_image()
        return await store_volume(self._engine, digest, tar)

    async def has_environment(self, digest: str) -> str | None:
        """The volume of an environment that was filled completely."""
        await self._engine.ensure_image()
        return await has_volume(self._engine, digest)

    async def aclose(self) -> None:
        """Closes the connection to the engine."""
        await self._engine.aclose()


_TMPFS = "rw,nosuid,nodev,noexec,mode=1777"


def scratch_files(limits: Limits) -> int:
    """How many files fit in /tmp; each costs the kernel memory that no size limit counts."""
    return max(4096, limits.scratch_bytes >> 14)


def confinement(limits: Limits) -> Confinement:
    """What a container must attest for these limits."""
    return Confinement(
        demands=Demands(
            memory_bytes=limits.memory_bytes,
            processes=limits.processes,
            scratch_bytes=max(limits.scratch_bytes, _PAGE),
            scratch_files=scratch_files(limits),
            engine_filter=True,
        )
    )
