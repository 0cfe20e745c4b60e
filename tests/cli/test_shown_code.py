"""Code as people are shown it before it runs: nothing of it is hidden, moved, or posing as another line.

Which characters are hidden: tests/test_unseen.py.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.opening import open_library
from alita_mcp.library.storage import Storage
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.cli.conftest import Alita
from tests.cli.terminal import on_terminal
from tests.library.factory import no_starters, simple

GUARD = "if user != 'admin': raise SystemExit"
"""Stands in a comment, and is to be taken for code."""


def test_nothing_of_code_is_hidden_or_stands_out_of_sight_to_the_right(alita: Alita, home: Path) -> None:
    code = f"read()  # see the rules\u2028{GUARD}\nx = 1{' ' * 500}; steal()\nwide = '{'日' * 200}'; steal()"
    number = CodeApprovals(Storage(home)).ask(AskedCode(code=code, grants=Grants(model=True)))
    lines = alita("approve", "--code", number).err.split("\n")
    (guarded,) = [line for line in lines if "read()" in line]
    assert guarded.endswith(f"# see the rules<U+2028>{GUARD}")
    far, wide = [line for line in lines if "steal()" in line]
    assert "<U+0020 x500>" in far
    assert "↪" in wide
    assert not [line for line in lines[4:] if len(line) + line.count("日") > 80]


@pytest.mark.process
def test_the_question_says_how_many_lines_there_are(home: Path, environment: dict[str, str]) -> None:
    code = "steal()" + "\n" * 3_000 + "print('harmless')"
    number = CodeApprovals(Storage(home)).ask(AskedCode(code=code, grants=Grants(model=True)))
    with on_terminal(["approve", "--code", number], environment) as terminal:
        terminal.until(b"[y/N]")
        terminal.type("n\n")
        _, said = terminal.end()
    question = next(line for line in said.splitlines() if "[y/N]" in line)
    assert "3,001 lines" in question


@pytest.fixture
def hostile(home: Path) -> None:
    """A version of an earlier Alita, or edited by hand and adopted: it passed no gate of today."""
    bundle = simple("asker", grants=Grants(model=True))
    code = bundle.draft.code + f"    # rules\u2028    {GUARD}\x85steal()\n"
    bundle = bundle.model_copy(update={"draft": bundle.draft.model_copy(update={"code": code})})

    async def publish() -> None:
        async with open_library(Settings(home=home), starters=no_starters) as library:
            await library.publish(simple("asker"), expected_version=0)
            await library.publish(bundle, expected_version=1)

    anyio.run(publish)


@pytest.mark.process
def test_tools_are_shown_like_that_by_every_command(
    alita: Alita, hostile: None, environment: dict[str, str]
) -> None:
    for command in (
        ["show", "asker", "v2", "--source"],
        ["review", "asker", "v2"],
    ):
        (line,) = [each for each in alita(*command).out.split("\n") if GUARD in each]
        assert f"# rules<U+2028>    {GUARD}<U+0085>steal()" in line, command
    with on_terminal(["approve", "asker"], environment, columns=200) as terminal:
        terminal.until(b"[y/N]")
        terminal.type("n\n")
        _, said = terminal.end()
    assert f"+    # rules<U+2028>    {GUARD}<U+0085>steal()" in said
