"""Builds as calls: the builder program runs in a fresh worker; its broker passes on progress and takes the result."""

from __future__ import annotations

import base64
from importlib import resources
from typing import Any

from alita_mcp.errors import AlitaError, PackagesRejected, SandboxError
from alita_mcp.sandbox.interface import Broker, EgressPolicy, Environment, Job, Progress, RunResult
from alita_mcp.sandbox.network.egress_policies import AllowList
from alita_mcp.values import Grants, Limits

BUILD_SECONDS = 300.0
BUILD_SCRATCH_BYTES = 1 << 30
BUILD_LIMITS = Limits(
    wall_seconds=BUILD_SECONDS,
    cpu_seconds=BUILD_SECONDS,
    memory_bytes=(512 << 20) + BUILD_SCRATCH_BYTES,  # files in /tmp count as memory
    scratch_bytes=BUILD_SCRATCH_BYTES,
    scratch_files=64 << 10,
    broker_calls=10_000,
)
MAX_RESULT_BYTES = 512 << 20
DEEPEST = 8
"""Calls of any depth may wait for a build, and a build waits for none."""


def build_failure(reason: str, *, lacks_room: bool) -> AlitaError:
    """The error for a build without a result: the packages' fault where its time, memory or disk space ran out."""
    if lacks_room:
        message = f"The packages could not be installed. {reason}"
        return PackagesRejected(message, hint="Use fewer or smaller packages.")
    return SandboxError(reason)


class BuildBroker(Broker):
    """Broker of one build: it may reach `hosts` ("name:port") and nothing else."""

    def __init__(self, hosts: frozenset[str], on_line: Progress) -> None:
        self._policy = AllowList(hosts)
        self._on_line = on_line
        self._result = bytearray()

    @property
    def egress_policy(self) -> EgressPolicy | None:
        """Egress policy of its connections."""
        return self._policy

    async def answer(self, service: str, words: dict[str, Any]) -> None:
        """Takes a line of progress or a piece of the result."""
        if service == "build.progress":
            await self._on_line(words["line"])
        elif service == "build.result":
            self._result += base64.b64decode(words["data"])
            if len(self._result) > MAX_RESULT_BYTES:
                raise ValueError("No space left for its result")
        else:
            raise PermissionError(f"a build has no service {service[:100]!r}")

    def result_of(self, ended: RunResult) -> bytes:
        """The bytes that the build sent.

        Raises:
            PackagesRejected: its time, memory or disk space ran out.
            SandboxError: it failed in another way.
        """
        if ended.ok:
            return bytes(self._result)
        is_full = any(words in ended.message for words in ("No space left", "File too large"))
        lacks_room = is_full or ended.status not in {"error", "load_failed"}
        kind = f"{ended.error_type}: " if ended.error_type else ""
        raise build_failure(f"The build failed: {kind}{ended.message}.", lacks_room=lacks_room)


def build_job(request: dict[str, Any], uv: Environment | None) -> Job:
    """The call that carries out a request; see `builder_program.build`."""
    return Job(
        code=resources.files("alita_mcp.sandbox.packages").joinpath("builder_program.py").read_text("utf-8"),
        function="build",
        arguments={"request": request},
        environment=uv,
        limits=BUILD_LIMITS,
        hash_seed=0,  # compiled modules hold sets in their order: the same bytes every time
        grants=Grants(
            network=("package-index",)
        ),  # what opens connections at all; the broker knows the hosts
        fresh=True,
        depth=DEEPEST,
    )
