"""Tools that cannot run here: said with the reason in every answer, never listed, never what comes next."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.app import App, open_app
from alita_mcp.library.opening import open_library
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.server.results.visibility import next_step
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.in_memory import Build, connected, refused, succeeded

NO_MODEL = "needs a model: set ALITA_MODEL"


@pytest.fixture
async def granted(settings: Settings, tmp_path: Path) -> dict[str, Any]:
    """Settings with a workspace, under which all that the starter tools ask for is granted."""
    folder = tmp_path / "files"
    folder.mkdir()
    async with open_library(settings) as library:
        for name in ("read_text_file", "summarize_text", "fetch_csv_and_query"):
            await library.approve(name)
    return {"workspace": folder}


def able() -> ScriptedSandbox:
    return ScriptedSandbox(lambda _job: RunResult(status="ok", value="x"), kind="bubblewrap")


async def row(client: Any, query: str, name: str) -> tuple[dict[str, Any], str]:
    found = await succeeded(client, "search_capabilities", query=query)
    return next(hit for hit in found["results"] if hit["name"] == name), found["next"]


async def test_a_tool_that_needs_a_model_is_no_next_step_without_one(build: Build, era: str) -> None:
    async with connected(build(sandbox=able()), era) as client:
        found = await succeeded(client, "search_capabilities", query="summarize this article")
        first = found["results"][0]
        called_by_name = await refused(client, "summarize_text", text="x")
        through = await refused(client, "run_tool", name="summarize_text", arguments={"text": "x"})
        misspelt = await refused(client, "summarize_txt", text="x")
        misspelt_through = await refused(client, "run_tool", name="summarize_txt", arguments={"text": "x"})

    assert found["fit"] == "match"
    assert (first["name"], first["call"], first["reason"]) == ("summarize_text", "not here", NO_MODEL)
    assert found["next"].startswith(f"summarize_text cannot run here: it {NO_MODEL}")
    assert "call summarize_text" not in found["next"]
    assert called_by_name == through
    assert f"summarize_text cannot run here: it {NO_MODEL}." in called_by_name
    assert "alita approve" not in called_by_name
    for text in (misspelt, misspelt_through):
        assert f"summarize_text (cannot run here: it {NO_MODEL})" in text


async def test_what_waits_for_a_person_is_said_and_is_no_next_step(
    build: Build, era: str, tmp_path: Path
) -> None:
    (tmp_path / "files").mkdir()
    server = build(sandbox=able(), settings={"workspace": tmp_path / "files"})
    async with connected(server, era) as client:
        hit, then = await row(client, "read a text file from the workspace", "read_text_file")
        misspelt = await refused(client, "read_text_fil", path="a.txt")

    assert hit["call"] == "after approval"
    assert then.startswith("read_text_file can be called after a person approves it")
    assert "read_text_file (can be called after a person approves it)" in misspelt


async def test_places_of_the_list_go_to_tools_that_can_run(
    settings: Settings, granted: dict[str, Any]
) -> None:
    few = settings.model_copy(update=granted | {"promoted": 4})
    async with opened(few, able()) as app:
        listed = {entry.name for entry in app.visible_tools()}
        assert len(listed) == 4
        assert "summarize_text" not in listed
    async with opened(few, able(), ScriptedModel(["x"])) as app:
        for name in ("summarize_text", "read_text_file"):
            await app.library.pin(name)
        assert {"summarize_text", "read_text_file"} <= {entry.name for entry in app.visible_tools()}


def test_the_next_step_is_the_first_hit_that_fits_and_can_be_called() -> None:
    rows = [
        {"name": "one", "call": "not here", "reason": NO_MODEL},
        {"name": "two", "call": "run_tool"},
        {"name": "three", "call": "direct"},
    ]
    assert next_step("match", rows, [True, True, False]) == "call two through run_tool"
    assert next_step("match", rows, [True, False, True]) == "call three"
    assert "call one" not in next_step("match", rows, [True, False, False])
    assert next_step("none", rows, [False] * 3) == "call synthesize_tool"


def opened(
    settings: Settings, sandbox: Sandbox, model: ScriptedModel | None = None
) -> AbstractAsyncContextManager[App]:
    """An App on a home with the starter tools."""
    return open_app(settings, admit=admit, sandbox=sandbox, model=model)
