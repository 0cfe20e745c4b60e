"""Clients of a team of servers that call, search, make tools and hand over tasks, and what was acknowledged to them."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from benchmarks.calls import timing
from benchmarks.load.client import Address, Client, Lost, connect
from benchmarks.team import author

SEARCH_EVERY = 5
"""One operation of a caller in so many is a search."""
RETRY_S = 0.2
Operation = Callable[[Client, int], Awaitable[None]]


class Refused(Exception):
    """A clear answer that nothing was done; the message is the server's."""


@dataclass
class Crowd:
    """What came of all operations of all clients."""

    address: Address
    """The balancer's."""
    done: Counter[str] = field(default_factory=Counter)
    """Kind of operation → right answers."""
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    published: dict[int, float] = field(default_factory=dict)
    """Number of a tool → when its publication was acknowledged."""
    jobs: dict[str, int] = field(default_factory=dict)
    """Id of each job that was acknowledged → its number."""
    failed: set[str] = field(default_factory=set)
    """Jobs that were answered with an error: what they were to do is asked for again, as a whole."""
    solved: dict[int, str] = field(default_factory=dict)
    broken: list[tuple[float, str]] = field(default_factory=list)
    """When a connection broke, or the balancer had no server: nothing was acknowledged."""
    refused: list[tuple[float, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    pause_s: float = 0.0
    """Of a client after each operation, as an agent's model thinks; in the mean before the first, too."""
    is_over: bool = False
    first: int = 1_000
    """The number of the first operation; each has another, and so has each tool."""

    def __post_init__(self) -> None:
        self._numbers = itertools.count(self.first)

    async def run(self, *, callers: int, makers: int = 0, askers: int = 0, solvers: int = 0) -> None:
        """So many clients, each of which goes on until `is_over`; what it has begun it finishes.

        Makers hand in code, askers leave it to the server's model, solvers hand over tasks.
        """
        async with anyio.create_task_group() as tasks:
            for operate, count in (
                (self.call_or_search, callers), (self.make, makers), (self.ask, askers), (self.solve, solvers),
            ):  # fmt: skip
                for _ in range(count):
                    tasks.start_soon(self._go_on, operate)

    async def _go_on(self, operate: Callable[[Client, int], Awaitable[None]]) -> None:
        number = next(self._numbers)
        await anyio.sleep(random.uniform(0, 2 * self.pause_s))
        while not self.is_over or number in self.jobs.values():
            try:
                async with connect(self.address) as client:
                    while client.is_open and (not self.is_over or number in self.jobs.values()):
                        watch = timing.Stopwatch()
                        await operate(client, number)
                        self.done[operate.__name__] += 1
                        self.seconds[operate.__name__].append(watch.seconds)
                        number = next(self._numbers)
                        await anyio.sleep(self.pause_s)
            except Lost as failed:
                self.broken.append((time.monotonic(), str(failed)))
                await anyio.sleep(RETRY_S)
            except Refused as refusal:
                self.refused.append((time.monotonic(), str(refusal)))
                await anyio.sleep(RETRY_S)

    async def call_or_search(self, client: Client, unique: int) -> None:
        """Calls one of the tools that were acknowledged, or looks for it."""
        known = list(self.published)
        number = known[unique % len(known)]
        name = author.tool_name(number)
        if unique % SEARCH_EVERY:
            result = await self.answer(client, name, {"a": unique, "b": 40})
            self._check(result.get("result") == unique + 40 + number, name, result)
        else:
            words = {"query": f"Adds two integers and the number {number}."}
            result = await self.answer(client, "search_capabilities", words)
            self._check(bool(result.get("results")), f"search {name}", result)

    async def make(self, client: Client, number: int) -> None:
        """Hands in code and tests."""
        await self._make(client, number, author.request_with_code(number))

    async def ask(self, client: Client, number: int) -> None:
        """Has the model write a tool."""
        await self._make(client, number, author.request_for_model(number))

    async def _make(self, client: Client, number: int, request: dict[str, Any]) -> None:
        told = await self._follow(client, "synthesize_tool", request, number)
        # `exists`: an earlier try was published, and its acknowledgement got lost with its replica
        if told.get("status") not in ("created", "exists") or told.get("tool") != author.tool_name(number):
            self.wrong.append(f"{number}: {told}"[:400])
            return
        self.published[number] = time.monotonic()

    async def solve(self, client: Client, number: int) -> None:
        """Hands over a task."""
        told = await self._follow(client, "solve_task", {"task": author.task(number)}, number)
        self._check(told.get("answer") == str(number), f"task {number}", told)
        self.solved[number] = str(told.get("answer"))

    async def _follow(
        self, client: Client, tool: str, request: dict[str, Any], number: int
    ) -> dict[str, Any]:
        """The outcome of a synthesis or task; one that was acknowledged is asked for until it is there."""
        job = next((job for job, of in self.jobs.items() if of == number and job not in self.failed), "")
        try:
            told = await self.answer(client, tool, {"job_id": job} if job else request)
            while told.get("status") == "working":
                job = told["job_id"]
                self.jobs[job] = number
                told = await self.answer(client, tool, {"job_id": job})
        except Refused:
            self.failed.add(job)
            raise
        return told

    async def answer(self, client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured answer to one call; one that is `busy` is asked again when it says.

        Raises:
            Lost: the connection broke.
            Refused: an error that says that nothing was done.
        """
        while True:
            result = await client.call_tool(tool, arguments)
            if pause_s := (result.get("_meta") or {}).get("alita/retry_after_s"):
                self.done["busy"] += 1
                await anyio.sleep(pause_s)
                continue
            if result.get("isError"):
                text = " ".join(block.get("text", "") for block in result.get("content", ()))
                raise Refused(f"{tool}: {text[:300]}")
            return result.get("structuredContent") or {}

    def _check(self, is_right: bool, what: str, result: dict[str, Any]) -> None:
        if not is_right:
            self.wrong.append(f"{what}: {result}"[:400])
