"""Apps over published tools, with back ends that answer from a script."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.app import App, open_app
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.settings import Settings
from alita_mcp.values import AcceptedVersion, Example
from tests.library.factory import accepted
from tests.scripted_sandbox import ScriptedSandbox

INTEGERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
Open = Callable[..., AbstractAsyncContextManager[App]]


def adding(job: Job) -> RunResult:
    return RunResult(status="ok", value=job.arguments["a"] + job.arguments["b"], stdout="added\n")


def adder(name: str = "add", *, deterministic: bool = True, **more: Any) -> AcceptedVersion:
    """A tool that adds two integers."""
    made = accepted(
        name,
        "Adds two numbers.",
        code=f"def {name}(a: int, b: int) -> int:\n    return a + b\n",
        examples=(Example(arguments={"a": 1, "b": 2}, expected=3),),
        input_schema=INTEGERS,
        **more,
    )
    schema = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    return made.model_copy(
        update={
            "contract": made.contract.model_copy(update={"output_schema": schema}),
            "report": made.report.model_copy(update={"deterministic": deterministic}),
        }
    )


@pytest.fixture
def home(tmp_path: Path, stocked: Path) -> Path:
    return shutil.copytree(stocked, tmp_path / "home")


@pytest.fixture
def open_with(settings: Settings) -> Open:
    """Opens the test's own home with a back end, the tools published if they are not there yet."""

    @asynccontextmanager
    async def opening(
        sandbox: Sandbox | None = None, *tools: AcceptedVersion, **changes: Any
    ) -> AsyncIterator[App]:
        changed = settings.model_copy(update=changes)
        async with open_app(
            changed, admit=lambda _manifest: (), sandbox=sandbox or ScriptedSandbox(adding)
        ) as app:
            known = {entry.name for entry in app.library.tools.entries()}
            for tool in tools or (adder(),):
                if tool.draft.name not in known:
                    await app.library.publish(tool, expected_version=0)
            yield app

    return opening
