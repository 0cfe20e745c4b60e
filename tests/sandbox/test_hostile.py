"""Hostile programs on the engines: their end, an unharmed host, a worker usable or replaced, no traces.

On an engine each program costs about a second: `make test` takes a sample there, `make test-all` all of them.
"""

from __future__ import annotations

import base64
import gc
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import psutil
import pytest

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.sandbox.wire.frames import TOKEN_BYTES
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.sandbox.arena import Arena, opened_arena
from tests.sandbox.hostile import Hostile
from tests.sandbox.hostile_programs import BATCHES, HOSTILE, SAMPLE, offenders
from tests.sandbox.leftovers import (
    bubblewrap_leftovers,
    busy_host,
    control_groups,
    docker_leftovers,
    mounts_of_ours,
    nothing_left,
)

pytestmark = pytest.mark.no_cover

CONFINED: dict[str, Callable[[Settings], Sandbox]] = {
    "docker": DockerSandbox,
    "bubblewrap": BubblewrapSandbox,
}
ENGINES = {"docker": "docker_engine", "bubblewrap": "bubblewrap"}
LEFT = {"docker": docker_leftovers, "bubblewrap": bubblewrap_leftovers}
CONFINED_KINDS = [
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
]


@pytest.fixture(scope="module")
def arena(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    kind: str = request.param
    request.getfixturevalue(ENGINES[kind])
    with opened_arena(CONFINED[kind], tmp_path_factory.mktemp(kind)) as opened:
        yield opened


@pytest.mark.parametrize("arena", CONFINED_KINDS, indirect=True)
@pytest.mark.parametrize(
    "program", [it for it in HOSTILE if it.name in SAMPLE], ids=lambda program: program.name
)
def test_a_hostile_program_harms_nobody(arena: Arena, program: Hostile) -> None:
    arena.attack(program)
    leftovers = LEFT[arena.sandbox.kind](os.getpid())
    assert len(leftovers) <= 8 * 64, leftovers


@pytest.mark.exhaustive
@pytest.mark.parametrize("arena", CONFINED_KINDS, indirect=True)
@pytest.mark.parametrize("batch", BATCHES)
def test_the_hostile_programs_outside_the_sample_harm_nobody(arena: Arena, batch: str) -> None:
    others = [program for program in BATCHES[batch] if program.name not in SAMPLE]
    assert offenders(others, arena.attack) == {}
    leftovers = LEFT[arena.sandbox.kind](os.getpid())
    assert len(leftovers) <= 8 * 64, leftovers


@pytest.mark.parametrize("kind", CONFINED_KINDS)
def test_when_the_sandbox_is_closed_nothing_is_left_of_any_of_them(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    request.getfixturevalue(ENGINES[kind])
    mounts, there = (
        mounts_of_ours(kind),
        set(LEFT[kind](os.getpid())),
    )  # of the arena that the other tests share
    groups = set(control_groups(os.getpid()))
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    traces = {
        "daemon",
        "closed_folders",
        "fork_bomb",
        "exits_hard_but_leaves_a_child",
    }
    with opened_arena(CONFINED[kind], tmp_path) as arena:
        for program in HOSTILE:
            if program.name in traces:
                arena.attack(program)
        arena.close()
        anyio.run(nothing_left, lambda pid: list(set(LEFT[kind](pid)) - there), os.getpid())
        assert set(control_groups(os.getpid())) <= groups
        assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
        anyio.run(nothing_left, lambda _pid: list(mounts_of_ours(kind) - mounts), os.getpid())


@pytest.mark.parametrize("arena", CONFINED_KINDS, indirect=True)
def test_the_frame_token_is_in_no_memory_of_a_tool(arena: Arena) -> None:
    marker = f"marker-{os.getpid()}"
    limits = Limits(wall_seconds=60, cpu_seconds=60, result_bytes=100 << 20, memory_bytes=512 << 20)
    job = Job(code=DUMP, function="f", arguments={"marker": marker}, limits=limits)
    result, tokens = arena.call(with_tokens, arena.sandbox, job)
    assert result.ok, result
    memory = zlib.decompress(base64.b64decode(result.value))
    assert len(memory) > 1_000_000
    assert marker.encode() in memory
    assert tokens
    assert [token for token in tokens if token in memory or token.hex().encode() in memory] == []


async def with_tokens(sandbox: Sandbox, job: Job) -> tuple[RunResult, set[bytes]]:
    """A call's result, and every token that a part of the host's end held meanwhile."""
    results, tokens = [], set()

    async def run() -> None:
        results.append(await sandbox.run(job))

    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            while not results:
                tokens |= {
                    thing._token
                    for thing in gc.get_objects()
                    if str(type(thing).__module__).startswith("alita_mcp.sandbox")
                    and hasattr(thing, "_token")
                }
                await anyio.sleep(0.05)
    return results[0], {token for token in tokens if len(token) == TOKEN_BYTES}


DUMP = """
import base64, ctypes, time, zlib

def f(marker):
    data = b""
    for line in list(open("/proc/self/maps")):
        area, rights, *rest = line.split()
        if rights.startswith("rw") and rest[-1:] not in (["[vvar]"], ["[vsyscall]"]):
            start, end = (int(part, 16) for part in area.split("-"))
            data += ctypes.string_at(start, min(end - start, 32 << 20))
    time.sleep(0.5)
    return base64.b64encode(zlib.compress(data, 1)).decode()
"""


@pytest.mark.parametrize("arena", CONFINED_KINDS, indirect=True)
def test_two_servers_on_one_host_leave_each_other_alone(arena: Arena, tmp_path: Path) -> None:
    kind = arena.sandbox.kind

    async def beside() -> None:
        with anyio.fail_after(120):
            async with await busy_host(kind, tmp_path / "other") as host:
                there = LEFT[kind](host.pid)
                assert there != []
                # a sandbox that starts now removes what crashes left, and nothing of a server that lives
                another = CONFINED[kind](Settings(home=tmp_path / "third"))
                try:
                    job = Job(
                        code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40}
                    )
                    assert (await another.run(job)).value == 42
                finally:
                    await another.aclose()
                assert LEFT[kind](host.pid) == there
                host.kill()
            await nothing_left(LEFT[kind], host.pid)

    arena.call(beside)
