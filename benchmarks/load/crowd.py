"""Clients of one server that call and search one after the other, and what became of every operation."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from benchmarks.calls import timing
from benchmarks.load.client import Address, Client, Lost, connect
from benchmarks.load.servers import NOOP, TOOL, MeasuredServer

SEARCH_EVERY = 5
"""One operation in so many is a search."""
MAX_TEXTS = 5
_numbers = itertools.count(1)


@dataclass
class Crowd:
    """Figures of so many clients of one server, over all windows so far."""

    clients: int
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    done: Counter[int] = field(default_factory=Counter)
    """Client → operations with a right answer."""
    latencies: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    """Seconds until each answer `busy`; its client comes back when it is told to."""
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Right answers per second."""
        return self.done.total() / self.seconds if self.seconds else 0.0

    def figures(self) -> dict[str, Any]:
        """For the result."""
        shares = [self.done[client] for client in range(self.clients)]
        every = self.done.total()
        return {
            "operations": every,
            "per_second": round(self.per_second, 1),
            "cpu_ms": round(1e3 * self.cpu_seconds / every, 3) if every else None,
            "lost": len(self.lost),
            "wrong": len(self.wrong),
            "first_failures": (self.lost + self.wrong)[:MAX_TEXTS],
            "fairness": round(min(shares) / max(shares), 3) if every else 0.0,
            "p50_s": round(timing.quantile(self.latencies, 0.5), 4) if every else None,
            "p99_s": round(timing.quantile(self.latencies, 0.99), 4) if every else None,
            "busy": len(self.busy),
            "busy_p50_s": round(timing.quantile(self.busy, 0.5), 4) if self.busy else None,
        }


async def run_window(crowd: Crowd, server: MeasuredServer, seconds: float) -> None:
    """Lets every client go on for so long; each operation is waited for to its end."""
    watch, cpu = timing.Stopwatch(), server.cpu_seconds()
    async with anyio.create_task_group() as watching:
        watching.start_soon(_watch, server)
        async with anyio.create_task_group() as tasks:
            for client in range(crowd.clients):
                tasks.start_soon(_go_on, crowd, client, server, seconds)
        watching.cancel_scope.cancel()
    crowd.seconds += watch.seconds
    crowd.cpu_seconds += server.cpu_seconds() - cpu


async def _watch(server: MeasuredServer) -> None:
    while True:
        await anyio.sleep(1)
        server.cpu_seconds()


async def _go_on(crowd: Crowd, number: int, server: MeasuredServer, seconds: float) -> None:
    window = timing.Stopwatch()
    while window.seconds < seconds:
        try:
            async with connect(server.address) as client:
                while client.is_open and window.seconds < seconds:
                    await _operate(crowd, number, server.name, client)
        except Lost as failed:
            crowd.lost.append(str(failed))
            await anyio.sleep(timing.SETTLE_S)


async def _operate(crowd: Crowd, number: int, name: str, client: Client) -> None:
    """One call or search with arguments that no other has; its answer is checked."""
    unique, watch = next(_numbers), timing.Stopwatch()
    if unique % SEARCH_EVERY:
        result = await client.call_tool(TOOL, {"a": unique, "b": 40})
        right = (result.get("structuredContent") or {}).get("result") == (0 if name == NOOP else unique + 40)
    else:
        query = {"query": f"add two integers, request {unique}"}
        result = await client.call_tool("search_capabilities", query)
        found: Sequence[dict[str, Any]] = (result.get("structuredContent") or {}).get("results", ())
        right = name == NOOP or any(row["name"] == TOOL for row in found)
    if retry_after_s := (result.get("_meta") or {}).get("alita/retry_after_s"):
        crowd.busy.append(watch.seconds)
        await anyio.sleep(retry_after_s)
    elif right:
        crowd.done[number] += 1
        crowd.latencies.append(watch.seconds)
    else:
        crowd.wrong.append(str(result)[:300])


async def call_once(address: Address) -> None:
    """One call of the tool over a connection of its own.

    Raises:
        Lost: it is not answered.
    """
    async with connect(address) as client:
        await client.call_tool(TOOL, {"a": next(_numbers), "b": 40})
