"""docs/security.md: each sentence about what holds names tests that are there."""

from __future__ import annotations

import re

from tests.docs.documents import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
_NAMED_TEST = re.compile(r"`([\w/]+\.py)`")


def claims() -> list[str]:
    """The points below the headings about whom the server holds against."""
    holds = PAGE.partition("\n## What holds\n")[2].partition("\n## ")[0]
    return re.split(r"^- ", holds, flags=re.MULTILINE)[1:]


def test_each_claim_names_tests_that_are_there() -> None:
    assert len(claims()) > 40
    assert [claim for claim in claims() if not _NAMED_TEST.search(claim)] == []
    named = {name for claim in claims() for name in _NAMED_TEST.findall(claim)}
    assert sorted(name for name in named if not (ROOT / "tests" / name).is_file()) == []
