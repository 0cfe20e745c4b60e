"""What the docker sandbox asks of a container's runtime, and what of the engine where the inside cannot tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.docker.engine import Engine
from alita_mcp.sandbox.docker.sandbox import FEWEST_SENTRY_THREADS, DockerSandbox, confinement
from alita_mcp.sandbox.docker.transport import open_container
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.tables import each_case

ABLE = {"MemoryLimit": True, "SwapLimit": True, "PidsLimit": True}
LIMITS = Limits()


class Told(Engine):
    """Engine that says of itself what it is told to."""

    info: dict[str, Any]

    async def call(self, action: Any) -> Any:
        return action(SimpleNamespace(info=lambda: self.info))


@pytest.mark.parametrize("gvisor", [False, True])
def test_gvisor_is_excused_from_what_it_cannot_show_and_counts_processes_itself(
    settings: Settings, gvisor: bool
) -> None:
    asked, limits = confinement(LIMITS, gvisor=gvisor), LIMITS
    parameters = DockerSandbox(settings).parameters(limits, None, gvisor=gvisor)
    assert asked.demands is not None
    assert (asked.demands.ambient_set, asked.demands.engine_filter) == (not gvisor, not gvisor)
    seen = (asked.demands.memory_bytes, asked.demands.processes, asked.demands.scratch_files)
    assert seen == ((None,) * 3 if gvisor else (limits.memory_bytes, limits.processes, limits.scratch_files))
    assert asked.demands.scratch_bytes == limits.scratch_bytes
    assert asked.processes == (limits.processes if gvisor else None)
    assert parameters["pids_limit"] == (FEWEST_SENTRY_THREADS if gvisor else limits.processes)
    assert parameters.get("runtime") == ("runsc" if gvisor else None)


@each_case(
    "told, missing",
    [
        ({"MemoryLimit": False}, "memory"),
        ({"PidsLimit": None, "SwapLimit": False}, "swap, processes"),
    ],
)
async def test_an_engine_with_gvisor_that_cannot_limit_is_refused(
    settings: Settings, told: dict[str, Any], missing: str
) -> None:
    engine = Told(settings.docker_image, settings.home)
    engine.info = ABLE | told | {"Runtimes": {"runc": {}}}
    assert not await engine.has_gvisor(), "without gVisor the inside can tell"
    engine = Told(settings.docker_image, settings.home)
    engine.info = ABLE | {"Runtimes": {"runsc": {}}}
    assert await engine.has_gvisor()
    engine = Told(settings.docker_image, settings.home)
    engine.info = ABLE | told | {"Runtimes": {"runsc": {}}}
    with pytest.raises(SandboxError, match=f"cannot limit {missing} here"):
        await engine.has_gvisor()


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
