"""Runs of code as tests keep them, and a toolsmith that reads them."""

from __future__ import annotations

import itertools
from typing import Any

import anyio

from alita_mcp.library.library import Library
from alita_mcp.owners import USER
from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.program import program_of
from alita_mcp.runs.history.store import RunStore
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.context import Advice
from alita_mcp.toolsmith.requests.outcomes import Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith

DISCOUNT = """if not prices:
    raise ValueError("no prices")
total = sum(prices)
total - total * percent // 100
"""
_NUMBERS = itertools.count(1)


def discounted(prices: list[int], percent: int) -> int:
    total = sum(prices)
    return total - total * percent // 100


class KeptRuns:
    """Runs in the memory of a store."""

    def __init__(self) -> None:
        self.store = RunStore()

    def add(self, code: str, arguments: dict[str, Any] | None = None, **seen: Any) -> str:
        """Keeps a run that ended well, unless told otherwise; its id."""
        if "result" in seen:
            seen.setdefault("result_kind", "json")
        number = f"{next(_NUMBERS):032x}"
        run = RecordedRun(id=number, at="2026-01-01T00:00:00Z", code=code, arguments=arguments or {}, **seen)
        self.store.add_run(run, key_of(code), USER)
        return number

    def discounts(self, *calls: tuple[list[int], int]) -> list[str]:
        """Runs of `DISCOUNT`, each with what it gives."""
        return [
            self.add(DISCOUNT, {"prices": prices, "percent": percent}, result=discounted(prices, percent))
            for prices, percent in calls
        ]


def key_of(code: str) -> str:
    program = program_of(code)
    return program.key if program else ""


class RunBench:
    """A toolsmith without models, its library and its runs."""

    def __init__(self, library: Library, sandbox: Sandbox, settings: Settings) -> None:
        self.library, self.runs, self.stages = library, KeptRuns(), list[str]()
        advice = Advice(runs=self.runs.store)
        self.smith = Toolsmith(library, sandbox, settings, lambda _manifest: (), advice=advice)

    async def make(self, *run_ids: str, **raw: Any) -> Outcome:
        async def hear(stage: str) -> None:
            self.stages.append(stage)

        request = read_request({"from_run": list(run_ids), **raw})
        if isinstance(request, Rejected):
            return request
        with anyio.fail_after(120):
            return await self.smith.make(request, hear)
