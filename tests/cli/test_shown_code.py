"""Code as people are shown it before it runs: nothing of it is hidden, moved, or posing as another line."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.cli.conftest import Alita
from tests.cli.terminal import on_terminal
from tests.library.factory import no_starters, simple
from tests.tables import each_case

GUARD = "if user != 'admin': raise SystemExit"
"""Stands in a comment, and is to be taken for code."""
UNSEEN = ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u2028", "\u2029", "\r"]


def shown(alita: Alita, home: Path, code: str) -> str:
    """What `alita approve --code` shows of a code without a terminal."""
    number = CodeApprovals(home).ask(AskedCode(code=code, grants=Grants(model=True)))
    return alita("approve", "--code", number).err


@pytest.mark.parametrize("character", UNSEEN, ids=ascii)
def test_no_part_of_a_line_poses_as_another_line(alita: Alita, home: Path, character: str) -> None:
    said = shown(alita, home, f"read()  # see the rules{character}{GUARD}")
    (line,) = [each for each in said.split("\n") if "read()" in each]
    assert line.endswith(f"# see the rules<U+{ord(character):04X}>{GUARD}")


@each_case(
    "hidden",
    [
        "\u3164", "\u2800", "\xa0", "\u115f", "\u200b", "\u202e", "\ufe0f", "\U000e0041", "\u2003", "\ue000",
        "\u05d0", "\u3000", "a\u0336".replace("a", ""), "\U0001d159", "\t", "\x7f", "\U000e01ef",
    ],
)  # fmt: skip
def test_what_is_blank_or_turns_a_line_around_is_spelled_out(alita: Alita, home: Path, hidden: str) -> None:
    said = shown(alita, home, f"key = 'a{hidden}b'")
    assert f"'a<U+{ord(hidden):04X}>b'" in said


def test_nothing_stands_out_of_sight_to_the_right(alita: Alita, home: Path) -> None:
    far = shown(alita, home, "x = 1" + " " * 500 + "; steal()\n" + "wide = '" + "日" * 200 + "'; steal()")
    rows = [row for row in far.split("\n") if "steal()" in row]
    assert len(rows) == 2
    assert "<U+0020 x500>" in rows[0]
    assert "↪" in rows[1]
    assert not [row for row in far.split("\n")[4:] if len(row) + row.count("日") > 80]


@pytest.mark.process
def test_the_question_says_how_many_lines_there_are(home: Path, environment: dict[str, str]) -> None:
    code = "steal()" + "\n" * 3_000 + "print('harmless')"
    number = CodeApprovals(home).ask(AskedCode(code=code, grants=Grants(model=True)))
    with on_terminal(["approve", "--code", number], environment) as terminal:
        terminal.until(b"[y/N]")
        terminal.type("n\n")
        _, said = terminal.end()
    question = next(line for line in said.splitlines() if "[y/N]" in line)
    assert "3,001 lines" in question


def test_tools_are_shown_like_that_by_every_command(alita: Alita, home: Path) -> None:
    """Files of earlier versions, or edited by hand and adopted, passed no gate of today."""
    hostile = simple("asker", grants=Grants(model=True)).model_copy()
    code = hostile.draft.code + f"    # rules\u2028    {GUARD}\x85steal()\n"
    hostile = hostile.model_copy(update={"draft": hostile.draft.model_copy(update={"code": code})})

    async def publish() -> None:
        async with open_library(Settings(home=home), starters=no_starters) as library:
            await library.publish(simple("asker"), expected_version=0)
            await library.publish(hostile, expected_version=1)

    anyio.run(publish)
    for command in (
        ["show", "asker", "v2", "--source"],
        ["review", "asker", "v2"],
        ["tool", "diff", "asker", "v1", "v2"],
    ):
        said = alita(*command)
        (line,) = [each for each in said.out.split("\n") if GUARD in each]
        assert f"# rules<U+2028>    {GUARD}<U+0085>steal()" in line, command


@pytest.mark.process
def test_the_difference_that_is_approved_is_shown_like_that(home: Path, environment: dict[str, str]) -> None:
    hostile = simple("asker", grants=Grants(model=True))
    code = hostile.draft.code + f"    # rules\u2028+    {GUARD}\n"
    hostile = hostile.model_copy(update={"draft": hostile.draft.model_copy(update={"code": code})})

    async def publish() -> None:
        async with open_library(Settings(home=home), starters=no_starters) as library:
            await library.publish(hostile, expected_version=0)

    anyio.run(publish)
    with on_terminal(["approve", "asker"], environment, columns=200) as terminal:
        terminal.until(b"[y/N]")
        terminal.type("n\n")
        _, said = terminal.end()
    assert f"+    # rules<U+2028>+    {GUARD}" in said
    assert "lines above" in next(line for line in said.splitlines() if "[y/N]" in line)
