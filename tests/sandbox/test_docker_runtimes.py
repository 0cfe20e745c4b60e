"""What the docker sandbox asks of a container's runtime, and what of the engine where the inside cannot tell."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from alita_mcp.sandbox.docker.engine import Engine, missing_limits
from alita_mcp.sandbox.docker.sandbox import (
    FEWEST_SENTRY_THREADS,
    DockerSandbox,
    confinement,
    is_gvisor,
    runtime_parameters,
)
from alita_mcp.sandbox.docker.transport import open_container
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.tables import each_case

ABLE = {"MemoryLimit": True, "SwapLimit": True, "PidsLimit": True}
LIMITS = Limits()


@each_case("runtime", ["", "runc", "crun", "kata"])
def test_nothing_is_excused_by_a_runtime_that_shares_the_kernel_or_is_not_known(runtime: str) -> None:
    asked = confinement(LIMITS, runtime)
    assert asked.demands.ambient_set
    assert asked.demands.engine_filter
    assert asked.demands.memory_bytes == LIMITS.memory_bytes
    assert asked.demands.processes == LIMITS.processes
    assert asked.demands.scratch_files == LIMITS.scratch_files
    assert "pids_limit" not in runtime_parameters(runtime, LIMITS)


@each_case("runtime", ["runsc", "runsc-kvm", "io.containerd.runsc.v1", "gvisor"])
def test_gvisor_is_excused_from_what_it_cannot_show_and_counts_processes_itself(runtime: str) -> None:
    assert is_gvisor(runtime)
    asked = confinement(LIMITS, runtime)
    assert asked.demands.scratch_bytes == LIMITS.scratch_bytes
    assert asked.demands.memory_bytes is None
    assert asked.processes == LIMITS.processes
    assert runtime_parameters(runtime, LIMITS) == {"runtime": runtime, "pids_limit": FEWEST_SENTRY_THREADS}


@each_case(
    "told, missing",
    [
        (ABLE, ()),
        (ABLE | {"MemoryLimit": False}, ("memory",)),
        (ABLE | {"PidsLimit": None, "SwapLimit": False}, ("swap", "processes")),
        ({}, ("memory", "swap", "processes")),
    ],
)
def test_an_engine_says_what_it_cannot_limit(told: dict[str, Any], missing: tuple[str, ...]) -> None:
    assert missing_limits(told) == missing


@pytest.mark.docker
@pytest.mark.parametrize(
    ("code", "of_memory"),
    [("bytearray(1 << 30)", True), ("import os; os._exit(137)", False)],
    ids=["of its memory", "with the exit code of a kill"],
)
async def test_the_engine_tells_whether_a_container_ended_for_want_of_memory(
    docker_engine: None, settings: Settings, code: str, of_memory: bool
) -> None:
    sandbox, engine = DockerSandbox(settings), Engine(settings.docker_image, settings.home)
    parameters = sandbox.parameters(LIMITS, None) | {"entrypoint": ["python3", "-c", code]}
    with anyio.fail_after(120):
        async with open_container(engine, parameters) as transport:
            assert await transport.receive() == b""
            assert await transport.ran_out_of_memory(ended=True) is of_memory
    await engine.aclose()
