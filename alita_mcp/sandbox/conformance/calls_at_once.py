"""Conformance claims about several calls at once, and about cancelled calls."""

from __future__ import annotations

from typing import Any

import anyio

from alita_mcp.errors import SandboxBusy, SandboxError, SandboxRefused
from alita_mcp.sandbox.conformance.claims import PATIENCE_SECONDS, Broken, Claim, Subject, chapter
from alita_mcp.values import Limits

_CALLERS = 12
_SQUARE = "def f(n):\n    return n * n\n"
_LOOP = """
import time
def f():
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass
"""
_GREEDY = """
def f():
    held = []
    for n in range(80):
        held.append([n] * 500000)
    return len(held)
"""
_GIVEN_UP = 10


async def _do_not_mix(subject: Subject) -> None:
    given: dict[int, Any] = {}

    async def square(number: int) -> None:
        given[number] = await subject.value(_SQUARE, {"n": number})

    async with anyio.create_task_group() as tasks:
        for number in range(_CALLERS):
            tasks.start_soon(square, number)
    if given != {number: number * number for number in range(_CALLERS)}:
        raise Broken(f"{_CALLERS} calls at once gave {given}")


async def _tools_do_not_mix(subject: Subject) -> None:
    given: dict[int, Any] = {}

    async def tell(number: int) -> None:
        given[number] = await subject.value(f"NUMBER = {number}\ndef f():\n    return NUMBER\n")

    async with anyio.create_task_group() as tasks:
        for number in range(_CALLERS):
            tasks.start_soon(tell, number)
    if given != {number: number for number in range(_CALLERS)}:
        raise Broken(f"{_CALLERS} tools at once gave {given}")


async def _others_notice_nothing(subject: Subject) -> None:
    given: list[Any] = []

    async def overdo() -> None:
        try:
            await subject.run(_GREEDY, limits=Limits(memory_bytes=64 << 20))
        except SandboxRefused:
            raise
        except SandboxError:
            return  # how it ends itself is for the claims about limits

    async def work() -> None:
        given.extend([await subject.value(_SQUARE, {"n": number}) for number in range(6)])

    async with anyio.create_task_group() as tasks:
        for task in (overdo, work, overdo):
            tasks.start_soon(task)
    if given != [number * number for number in range(6)]:
        raise Broken(f"calls beside one that hits its memory limit gave {given}")


async def _ends_when_given_up(subject: Subject) -> None:
    with anyio.move_on_after(PATIENCE_SECONDS) as patience:
        with anyio.move_on_after(1) as given_up:
            await subject.run(_LOOP, limits=Limits(wall_seconds=90, cpu_seconds=90))
        if not given_up.cancelled_caught:
            raise Broken("a call that loops for a minute ended by itself within a second")
    if patience.cancelled_caught:
        raise Broken(f"a call that was given up went on for {PATIENCE_SECONDS:g} s")
    await _still_works(subject)


async def _frees_what_it_held(subject: Subject) -> None:
    for number in range(_GIVEN_UP):
        with anyio.move_on_after(0.05 * number):
            await subject.run(_LOOP, limits=Limits(wall_seconds=90, cpu_seconds=90))
    await _still_works(subject)


async def _still_works(subject: Subject) -> None:
    try:
        given = await subject.value(_SQUARE, {"n": 7})
    except SandboxBusy as busy:
        raise Broken(f"a call that was given up still holds its place: {busy.message}") from busy
    if given != 49:
        raise Broken(f"the next call gave {given}")


CONCURRENCY = chapter(
    "calls at once",
    Claim("", "does not mix calls of one tool", _do_not_mix, essential=True),
    Claim("", "does not mix calls of several tools", _tools_do_not_mix, essential=True),
    Claim("", "lets nobody notice what another call overdoes", _others_notice_nothing),
)
CANCELLATION = chapter(
    "cancellation",
    Claim("", "ends a call that is given up, and works on", _ends_when_given_up, essential=True),
    Claim("", "frees what calls held that were given up at any moment", _frees_what_it_held),
)
