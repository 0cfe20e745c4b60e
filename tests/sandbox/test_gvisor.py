"""gVisor as the runtime of the docker sandbox, on an engine of the tests' own: the same programs, nothing weaker.

All of it is a matter of ten minutes on two processors, so only `make test-all` runs it.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.conformance import TRIALS, try_claims
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Probe
from alita_mcp.settings import Settings
from tests.conftest import skip_or_fail
from tests.sandbox.arena import Arena, opened_arena
from tests.sandbox.hostile import Expected, Hostile, ends, fails, gives
from tests.sandbox.hostile_programs import BATCHES, HOSTILE, offenders
from tests.sandbox.private_engine import PrivateEngine

pytestmark = [pytest.mark.docker, pytest.mark.exhaustive, pytest.mark.xdist_group("gvisor")]
WORDS = ["--network=none", "--platform=ptrace"]


class Deviation(NamedTuple):
    """How a program ends in gVisor's kernel, where that is not how it ends in Linux, and why nobody is harmed."""

    reason: str
    expected: Expected


def refused_but(*allowed: int) -> Expected:
    """Every attempt failed, except perhaps those in these places."""
    return gives(lambda tried: all(it[0] != "OK" for at, it in enumerate(tried) if at not in allowed))


def no_memory_opened(tried: list[list[str]]) -> bool:
    """Of six files for each process, the first is its memory; `environ` and `auxv` hold no secret."""
    return all(attempt[0] != "OK" for at, attempt in enumerate(tried) if at % 6 not in {1, 2})


DUMPABLE = "gVisor of 2022 ignores PR_SET_DUMPABLE for /proc/1, so"
DEVIATIONS = {
    "supervisor_opened": Deviation(
        f"{DUMPABLE} all but its memory opens; what that is worth, three tests below show",
        refused_but(1, 2, 3, 4),
    ),
    "others_memory_read": Deviation(
        f"{DUMPABLE} the environment and the auxiliary vector are read, which the tool has itself",
        gives(no_memory_opened),
    ),
    "others_descriptors_opened": Deviation(
        f"{DUMPABLE} pipes and folders open, which are the tool's own or of no use; sockets do not",
        gives(lambda tried: len(tried) > 0),
    ),
    "signals_by_thread_and_queue": Deviation(
        "pidfd_open does not exist; the signals before it reached nobody",
        fails("OSError", "not implemented"),
    ),
    "memory_kept_by_nobody": Deviation(
        "gVisor itself is in the sandbox's memory, so that less of it is left for the program",
        lambda result: result.status == "memory" or result.value == 5,
    ),
    "scratch_mounted_over": Deviation(
        "a device may be made by anybody, but it is one of gVisor's own: this one is always empty",
        refused_but(2),
    ),
    "device_files": Deviation(
        "a device may be made by anybody, but gVisor has no disk behind it; the next test opens one",
        refused_but(8),
    ),
    "priorities": Deviation(
        "priorities are numbers without effect: gVisor's threads are the host's to schedule", refused_but(1)
    ),
    "namespaces_joined": Deviation(
        "namespaces are no files, so there is none to join", fails("FileNotFoundError", "/proc/self/ns/")
    ),
}
FALLS = {
    "fork_bomb", "memory_of_children", "recursion_without_limit", "returns_many_times", "storm_while_it_is_loaded",
    "memory_while_it_is_loaded", "memory_kept_by_nobody", "files_are_full_for_the_next", "heap_and_scratch_together",
}  # fmt: skip
"""These exhaust memory, which ends gVisor's kernel and with it the container. The end is `memory` when the engine says
so; its word can get lost when the container is gone first, and then the worker is, which is an error of the sandbox."""
CLAIM_THAT_FALLS = "ends a call at memory_bytes"
"""Its program exhausts memory: it may also find the worker gone, as the programs in FALLS may."""


@pytest.fixture(scope="module")
def engine(docker_engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateEngine]:
    """An engine that knows gVisor and has the image."""
    if obstacle := PrivateEngine.obstacle():
        skip_or_fail("gvisor", obstacle)
    if (runsc := shutil.which("runsc")) is None:
        skip_or_fail("gvisor", "runsc is not installed")
    runtimes = {"runsc": {"path": runsc, "runtimeArgs": WORDS}}
    engine = PrivateEngine(tmp_path_factory.mktemp("g"), {"runtimes": runtimes})
    image = Settings().docker_image
    try:
        engine.start()
        engine.load(image)
        try:
            engine.run("run", "--rm", "--runtime=runsc", "--network=none", image, "true")
        except subprocess.CalledProcessError as failed:
            skip_or_fail(
                "gvisor", f"runsc starts no container on this kernel: {failed.stderr.strip()[-300:]}"
            )
        yield engine
    finally:
        engine.remove()


def under_gvisor(settings: Settings) -> DockerSandbox:
    return DockerSandbox(settings)


@pytest.fixture(scope="module")
def arena(engine: PrivateEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DOCKER_HOST", engine.address)
        with opened_arena(under_gvisor, tmp_path_factory.mktemp("home")) as opened:
            yield opened


def is_known(probe: Probe) -> bool:
    """Whether gVisor's own end explains it."""
    lost = probe.detail.startswith("The sandbox ended without an answer.")
    return probe.name == CLAIM_THAT_FALLS and lost


def expected_here(program: Hostile) -> Hostile:
    deviation = DEVIATIONS.get(program.name)
    return program._replace(expected=deviation.expected) if deviation else program


def test_every_deviation_is_that_of_a_program() -> None:
    assert set(DEVIATIONS) | FALLS <= {program.name for program in HOSTILE}


KERNEL = "def f():\n    return open('/proc/version').read()\n"


def test_the_kernel_is_not_the_hosts(arena: Arena) -> None:
    told = arena.run(arena.job(Hostile("kernel", KERNEL, lambda _: True)))
    assert told.ok, told
    assert told.value != Path("/proc/version").read_text()


@pytest.mark.parametrize("batch", BATCHES)
def test_hostile_programs_harm_nobody(arena: Arena, batch: str) -> None:
    def attack(program: Hostile) -> None:
        arena.attack(program, may_fall=program.name in FALLS)

    assert offenders(map(expected_here, BATCHES[batch]), attack) == {}


ANSWERS_FORGED = """
import os
def f():
    out = os.open('/proc/1/fd/1', os.O_WRONLY)
    os.write(out, b'x' * 4096)
    return 5
"""


def test_who_writes_as_the_supervisor_loses_the_worker_and_is_found_out(arena: Arena) -> None:
    with pytest.raises(SandboxError, match="token"):
        arena.run(arena.job(Hostile("answers_forged", ANSWERS_FORGED, ends("ok"))))
    assert arena.add() == 42


def test_it_isolates(arena: Arena) -> None:
    found = arena.call(try_claims, arena.sandbox, TRIALS)
    assert [probe for probe in found if not (probe.passed or is_known(probe))] == []


def test_nothing_is_left(engine: PrivateEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", engine.address)
    others = set(engine.containers())  # of the arena that the other tests share
    with opened_arena(under_gvisor, tmp_path) as own:
        assert own.add() == 42
        assert set(engine.containers()) - others != set()
    assert set(engine.containers()) - others == set()
