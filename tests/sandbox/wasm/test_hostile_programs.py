"""Every hostile program in the embedded sandbox: what it asks for is not there, and nothing forbidden ever succeeds."""

from __future__ import annotations

from functools import partial

import pytest

from alita_mcp.sandbox.interface import RunResult
from tests.sandbox.arena import Arena
from tests.sandbox.hostile import Expected, Hostile, ends, gives
from tests.sandbox.hostile_programs import BATCHES, offenders

pytestmark = pytest.mark.no_cover

ABSENT = {
    "No module named 'fcntl'": "descriptors of the host cannot be had, so nothing controls them",
    "No module named 'mmap'": "memory is the instance's own and is never shared",
    "No module named 'resource'": "limits are the engine's and cannot be asked for",
    "module 'ctypes' has no attribute": "native code cannot be loaded and no system call be made",
    "has no attribute 'fork'": "there are no processes",
    "has no attribute 'kill'": "there is no other process to signal",
    "has no attribute 'umask'": "files have no rights: there is one user",
    "has no attribute 'tzset'": "the time zone is that of no machine",
    "has no attribute 'pthread_sigmask'": "there are no signals",
    "has no attribute 'getitimer'": "there are no signals",
    "has no attribute 'sched_getscheduler'": "there is nothing to be scheduled against",
    "has no attribute 'nice'": "there is nothing to be scheduled against",
    "has no attribute 'memfd_create'": "memory is the instance's own and is never shared",
    "wasi does not support processes": "there are no processes",
    "can't start new thread": "there is one thread",
    "starts no threads": "there is one thread",
    "starts no processes": "there are no processes",
    "has no attribute 'AF_UNIX'": "there are no sockets",
    "has no attribute 'SO_REUSEPORT'": "there are no sockets",
    "has no sockets": "there are no sockets",
    "has no attribute 'closerange'": "there are no descriptors but those of its own files",
    "Permission denied": "nothing outside its own folder can be changed",
    "No such file or directory": "there are no files but the tool's own",
    "Bad file descriptor": "there is no channel to a supervisor",
    "has no attribute 'mkfifo'": "there is nobody to speak to",
}
"""What a program that ends otherwise than in a sandbox of processes ran into, and why it cannot be there."""
HERE: dict[str, Expected] = {
    "closes_everything": gives(lambda value: value == 1),  # results leave by no descriptor
    "closes_everything_and_waits": ends("timeout"),
    "cpu_limit": ends("timeout"),  # on a busy machine three seconds pass before one of processor time does
    "wide": ends("ok", "timeout"),  # a hundred thousand files take longer than in a kernel
    "json_replaced": ends("crashed"),  # it breaks its own answer
    "every_socket_filled": gives(lambda value: value == 5),  # there is none
    "descriptors_are_full_for_the_next": gives(lambda value: value == 0),  # none can be doubled
    "knows_that_it_is_tested": gives(lambda value: value == ["(none)", [], ["tool"], 0]),
    "site_packages": gives(lambda value: value == [True]),  # of the machine that built it, without a path
    "host_named": gives(lambda value: value == "(none)(none)"),
}
"""What comes of programs that run here to another end."""


BRIEF_S = 3
"""Enough for what ends at all; programs that compute or wait for ever end by time, whatever their own limit."""


def is_absent(result: RunResult) -> bool:
    return result.status in {"error", "load_failed"} and any(words in result.message for words in ABSENT)


def attack(arena: Arena, program: Hostile) -> None:
    job = arena.job(program, bare=True)
    brief = job.limits.model_copy(update={"wall_seconds": min(BRIEF_S, job.limits.wall_seconds)})
    for _ in range(program.times):
        result = arena.run(job.model_copy(update={"limits": brief}))
        expected = [program.expected, HERE.get(program.name, program.embedded or program.expected), is_absent]
        assert any(holds(result) for holds in expected), result
        arena.canaries.assert_untouched(result)
    assert arena.add() == 42


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_hostile_programs_harm_nobody(arena: Arena, batch: str) -> None:
    assert offenders(BATCHES[batch], partial(attack, arena)) == {}
