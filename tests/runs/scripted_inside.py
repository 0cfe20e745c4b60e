"""A sandbox whose calls are coroutines of a test: what the program inside would ask, it asks."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from alita_mcp.sandbox.interface import Broker, Job, RunResult
from tests.scripted_sandbox import ScriptedSandbox

Ask = Callable[[str, dict[str, Any]], Awaitable[Any]]
Program = Callable[[Ask], Awaitable[RunResult | None]]
NEXT = "session.next"
READY = {"piece": "", "more": False}


class ScriptedInside(ScriptedSandbox):
    """Plays one program a call, the last one again and again."""

    def __init__(self, *programs: Program) -> None:
        super().__init__(lambda _job: RunResult(status="ok"))
        self._programs = list(programs)
        self.running = 0

    async def ended(self) -> None:
        """Returns when nothing runs."""
        while self.running:
            await anyio.lowlevel.checkpoint()

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        assert broker is not None
        self.jobs.append(job)
        program = self._programs.pop(0) if len(self._programs) > 1 else self._programs[0]
        self.running += 1
        try:
            return await program(broker.answer) or RunResult(status="ok")
        finally:
            self.running -= 1


def outcome(value: Any = None, *, stdout: str = "", stderr: str = "") -> dict[str, Any]:
    """What the program inside says when a step has ended."""
    told = {"value": {"kind": "json", "value": value}, "stdout": stdout, "stderr": stderr}
    return {"piece": json.dumps(told), "more": False}


async def echo(ask: Ask) -> None:
    """Each step gives its own code."""
    order = await ask(NEXT, READY)
    while True:
        order = await ask(NEXT, outcome(order["code"], stdout="out", stderr="err"))


def once_then(after: Callable[[Ask], Awaitable[RunResult | None]]) -> Program:
    """Answers one step, takes a second one and then does something else."""

    async def program(ask: Ask) -> RunResult | None:
        order = await ask(NEXT, READY)
        await ask(NEXT, outcome(order["code"]))
        return await after(ask)

    return program


def ending(result: RunResult) -> Program:
    """Ends instead of an answer to the second step."""

    async def end(_ask: Ask) -> RunResult:
        return result

    return once_then(end)


def failing(problem: Exception) -> Program:
    """The sandbox fails instead of an answer to the second step."""

    async def fail(_ask: Ask) -> None:
        raise problem

    return once_then(fail)


async def hang(_ask: Ask) -> None:
    """Never ends by itself."""
    await anyio.sleep_forever()
