from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from alita_mcp.app import App
from alita_mcp.app.runs.rights import CodeWaits
from alita_mcp.cli.output import Output
from alita_mcp.cli.usage.program_groups import ProgramGroup
from alita_mcp.cli.usage.tools_of_groups import make_tool
from alita_mcp.errors import PackagesRejected
from alita_mcp.library.runs.recorded_run import RecordedRun

GROUP = ProgramGroup((), (RecordedRun(id="0" * 32, at="", code="print(1)"),), "one", None, "")


class AppWithoutSandbox:
    """Answers every run of code the same way: with a value, or an error."""

    def __init__(self, answer: CodeWaits | PackagesRejected) -> None:
        self.answer = answer
        self.code = self

    @asynccontextmanager
    async def told_of_preparation(self, _on_stage: Any) -> AsyncIterator[None]:
        yield

    async def run(self, _request: Any, _asker: Any, on_stage: Any) -> CodeWaits:
        await on_stage("environment")
        if isinstance(self.answer, PackagesRejected):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        (PackagesRejected("there is no package 'nmupy'"), 6, "there is no package 'nmupy'"),
        (CodeWaits(grants=("network",), how=""), 1, "it waits for a person"),
    ],
)
async def test_what_cannot_run_is_told_and_nothing_is_made(
    answer: CodeWaits | PackagesRejected, status: int, why: str
) -> None:
    made = await make_tool(cast(App, AppWithoutSandbox(answer)), GROUP, Output())
    assert (made.status, made.told["status"]) == (status, "failed")
    assert why in made.text
