"""What people see of trust: the evidence card as text and as JSON, and approvals."""

from __future__ import annotations

from pathlib import Path

import anyio

from alita_mcp.library.opening import open_library
from alita_mcp.settings import Settings
from alita_mcp.values import Check, Grants, MutationScore, Survivor, VerificationReport
from tests.cli.conftest import Alita
from tests.library.factory import SLUGIFY_EXAMPLES, accepted, no_starters


def publish(home: Path, *, grants: Grants | None = None, hostile: str = "") -> None:
    """A provisional tool with a report of everything that the card can show."""
    thin = accepted(
        description=f"Turn a title into a URL slug.{hostile}",
        examples=SLUGIFY_EXAMPLES[:1],
        trust="provisional",
        grants=grants or Grants(),
    )
    mutation = MutationScore(
        killed=9, total=12, survivors=(Survivor(line=14, was=f"not slug{hostile}", now="slug"),)
    )
    checks = (
        Check(stage="static", passed=True),
        Check(stage="mutation", passed=False, hard=False, message=f"9 of 12 noticed{hostile}"),
    )
    report = thin.report.model_copy(update={"mutation": mutation, "checks": checks, "properties": 80})

    async def work() -> None:
        async with open_library(Settings(home=home), starters=no_starters) as library:
            await library.publish(thin.model_copy(update={"report": report}), expected_version=0)

    anyio.run(work)


def test_the_card_in_a_pipe_is_plain_lines_with_all_the_evidence(alita: Alita, home: Path) -> None:
    publish(home)
    card = alita("show", "slugify").out
    for piece in (
        "slugify v1  provisional, enabled",
        "  mutation     soft failure, 1 check, 0 s: 9 of 12 noticed",
        "  mutants      9 of 12",
        "  survivor     line 14: not slug → slug",
        "  generated    80 inputs tried",
        "  to raise     Send the same name with tests of your own: some whose result shows the change",
    ):
        assert piece in card
    assert "\x1b" not in card
    assert not [line for line in card.splitlines() if line != line.rstrip()]


def test_the_card_as_json_is_whole(alita: Alita, home: Path) -> None:
    publish(home)
    card = alita("show", "slugify", "--json").json
    assert VerificationReport.model_validate(card["report"]).properties == 80
    assert card["evidence"]["mutants"] == "9/12"
    assert card["evidence"]["to_raise_trust"].startswith("Send the same name")
    assert card["evidence"]["stages"][1]["outcome"] == "soft failure"


def test_strangers_words_steer_no_terminal(alita: Alita, home: Path) -> None:
    publish(home, hostile="[red]\u202e\x07")
    card = alita("show", "slugify", "--source").out
    assert "[red]" in card
    assert "def slugify" in card
    assert not {"\u202e", "\x07"} & set(card)


def test_the_shipped_tools_with_older_reports_have_a_card(alita: Alita) -> None:
    for tool in alita("list", "--json").json:
        card = alita("show", tool["name"]).out
        assert "verified, enabled" in card
        assert "  examples " in card
        assert "to raise" not in card


def test_a_provisional_tool_is_not_approved_and_the_command_says_what_it_needs(
    alita: Alita, home: Path
) -> None:
    publish(home, grants=Grants(model=True))
    said = alita("approve", "slugify")
    assert said.status == 3
    assert "slugify v1 is provisional, and grants are given to verified tools only" in said.err
    assert "line 14" in said.err
    assert not alita("show", "slugify", "--json").json["granted"]
    assert "It has to be verified first" in alita("show", "slugify").out
