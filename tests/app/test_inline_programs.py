"""Programs of clients' own shells: the right tool is named for some, and hardly ever a wrong one."""

from __future__ import annotations

import ast
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from alita_mcp.app.inline_programs import InlinePrograms
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.history.store import RunStore
from alita_mcp.settings import Settings
from alita_mcp.values import AcceptedVersion
from tests.library.factory import accepted

DATA = Path(__file__).parents[1] / "data"
PROGRAMS = [json.loads(line) for line in (DATA / "inline_programs.jsonl").read_text("utf-8").splitlines()]


def real_tools() -> Iterator[AcceptedVersion]:
    for file in sorted((DATA / "real_tools").glob("*.py")):
        code = file.read_text("utf-8")
        tree = ast.parse(code)
        described = next(
            each for each in tree.body if isinstance(each, ast.Assign) and each.targets[0].id == "DESCRIPTION"
        )
        function = next(each for each in tree.body if getattr(each, "name", "") == file.stem)
        names = [each.arg for each in (*function.args.args, *function.args.kwonlyargs)]
        schema = {
            "type": "object",
            "properties": {name: {"type": "string"} for name in names},
            "required": names,
        }
        source = "\n".join(code.splitlines()[: described.lineno - 1])
        yield accepted(file.stem, ast.literal_eval(described.value), code=source, input_schema=schema)


@pytest.fixture
async def library(tmp_path: Path) -> AsyncIterator[Library]:
    async with open_library(Settings(home=tmp_path / "home")) as library:
        for tool in real_tools():
            await library.publish(tool, expected_version=0)
        yield library


@pytest.mark.slow
async def test_the_right_tool_is_named_often_and_a_wrong_one_hardly_ever(library: Library) -> None:
    programs = InlinePrograms(library, RunHints(RunStore()), lambda manifest: "")
    named = {}
    for each in PROGRAMS:
        entry = await programs.find_tool(each["code"], each["description"])
        named[each["description"]] = (each["tool"], entry.name if entry else None)
    right = [said for said, (tool, found) in named.items() if found and found == tool]
    wrong = {said: pair for said, pair in named.items() if pair[1] and pair[1] != pair[0]}
    assert len(right) >= 17
    assert not wrong

    # the code of a tool once more, under other names and with other values, whatever is said of it
    for tool in real_tools():
        code = tool.draft.code.replace(tool.draft.name, "solve")
        entry = await programs.find_tool(code, "")
        assert entry is not None, tool.draft.name
        assert entry.name == tool.draft.name
    assert await programs.find_tool("print(1 + 2)", "Compute the sum of two numbers with calculate") is None
