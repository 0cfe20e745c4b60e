"""`alita review`: a stranger's words shown as data, and marked as read exactly as they were shown."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import anyio
import pytest

from alita_mcp.owners import Maker
from tests.cli.conftest import Alita
from tests.cli.terminal import on_terminal
from tests.library.factory import accepted, opened

pytestmark = pytest.mark.slow

CODE = '''
def halve_all(numbers: list[float]) -> list[float]:
    """Half of each number.

    Args:
        numbers: Any numbers.
    """
    return [number / 2 for number in numbers]
'''
REQUEST = {
    "name": "halve_all",
    "description": "Halves numbers.\n\nProved\n  sandboxes    docker, bubblewrap\nNeeds\n  nothing but the sandbox",
    "code": CODE,
    "tests": [
        {"arguments": {"numbers": [2.0, 5.0]}, "expected": [1.0, 2.5]},
        {"arguments": {"numbers": []}, "expected": []},
        {"arguments": {"numbers": [-1.0]}, "expected": [-0.5]},
    ],
}


@pytest.fixture
def made(alita: Alita, tmp_path: Path) -> str:
    """The digest of a tool that came in through the command line."""
    (tmp_path / "request.json").write_text(json.dumps(REQUEST))
    assert alita("synthesize", str(tmp_path / "request.json")).status == 0
    return str(alita("show", "halve_all", "--json").json["manifest"]["digest"])


def waiting(alita: Alita) -> list[dict[str, object]]:
    return list(alita("review", "--json").json)


def test_what_nobody_reviewed_is_listed_with_who_made_it(alita: Alita, made: str) -> None:
    assert made.startswith("sha256:")
    assert waiting(alita) == [{"name": "halve_all", "version": 1, "made_by": "the command line"}]
    assert "made by the command line" in alita("review").out


def test_the_name_of_a_client_forges_no_line_of_the_list(alita: Alita, home: Path) -> None:
    async def publish() -> None:
        made = accepted().model_copy(update={"made_by": Maker("client\ncalculate  v9  reviewed")})
        async with opened(home) as library:
            await library.publish(made, expected_version=0)

    anyio.run(publish)
    assert alita("review").out == "slugify  v1  made by client calculate v9 reviewed\n"


def test_without_a_terminal_it_is_shown_as_data_and_marked_by_its_digest_only(
    alita: Alita, made: str
) -> None:
    shown = alita("review", "halve_all")
    assert shown.status == 2
    assert f"alita review halve_all --yes {made}" in shown.err
    assert "  | Halves numbers." in shown.out
    assert "  | Needs" in shown.out
    assert "8 |     return [number / 2 for number in numbers]" in shown.out
    ours = [line for line in shown.out.splitlines() if not re.match(r" +\||[0-9]+ \|", line)]
    assert ours == ["halve_all v1  not reviewed", made, "description", "summary", "use_when", "input_schema",
                    "output_schema", "made_by", "owner", "tests", "source"]  # fmt: skip
    for wrong in ("sha256:" + "0" * 64, made[:20]):
        refused = alita("review", "halve_all", "--yes", wrong)
        assert (refused.status, "nothing was marked" in refused.err) == (3, True)
    assert len(waiting(alita)) == 1
    assert alita("review", "halve_all", "--yes", made).status == 0
    assert waiting(alita) == []
    assert "halve_all v1  reviewed" in alita("review", "halve_all").out


def test_what_was_read_is_not_what_came_after_it(alita: Alita, made: str, tmp_path: Path) -> None:
    later = {**REQUEST, "description": "Something else.", "update": True}
    (tmp_path / "later.json").write_text(json.dumps(later))
    assert alita("synthesize", str(tmp_path / "later.json")).status == 0
    assert alita("review", "halve_all", "--yes", made).status == 3
    assert waiting(alita)[0]["version"] == 2
    assert alita("review", "halve_all", "v1", "--yes", made).status == 0
    assert waiting(alita)[0]["version"] == 2


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="terminals of its own are POSIX's")
@pytest.mark.parametrize(("said", "left"), [("y", 0), ("\n", 1)])
def test_on_a_terminal_a_person_is_asked(
    alita: Alita, made: str, environment: dict[str, str], said: str, left: int
) -> None:
    with on_terminal(["review", "halve_all"], environment) as terminal:
        terminal.until(b"Mark halve_all v1 as reviewed?")
        terminal.type(f"{said}\n")
        assert terminal.end()[0] == 0
    assert len(waiting(alita)) == left
    assert made


def test_a_description_of_many_lines_draws_no_false_card(alita: Alita, made: str) -> None:
    card = alita("show", "halve_all").out.splitlines()
    assert made in "\n".join(card)
    assert [line for line in card if line == "Proved"] == ["Proved"]
    assert [line for line in card if line == "Needs"] == ["Needs"]
    assert "  | Needs" in card
    assert "  |   sandboxes    docker, bubblewrap" in card


def test_shipped_tools_need_no_review(alita: Alita) -> None:
    assert waiting(alita) == []
    assert "text_statistics v1  reviewed" in alita("review", "text_statistics").out
