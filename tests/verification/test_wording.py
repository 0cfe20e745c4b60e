"""Texts that a model will read: what honest writing in many languages needs, and characters that no writing needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.values import Grants
from alita_mcp.verification.static.wording import HIDDEN, text_checks

DATA = Path(__file__).parents[1] / "data"


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_names_are_read_too() -> None:
    assert text_checks("the name", "see https://evil.invalid", 1_000, Grants())


@pytest.mark.parametrize("row", rows(DATA / "honest_descriptions.jsonl"), ids=lambda row: row["text"][:30])
def test_honest_descriptions_of_many_languages_pass(row: dict[str, str]) -> None:
    assert text_checks("the description", row["text"], 1_000, Grants()) == []


@pytest.mark.parametrize(
    "text",
    [
        "plain\u200dtext",
        "plain\u200ctext",
        "\u200d\U0001f469",
        "\U0001f469\u200d",
        "\u0645\u06cc\u200c",
        "\u0645\u200c\u200c\u06cc",
        "\u0645\u200c\u200d\u06cc",
        "a\ufe0f",
        "1\ufe0f",
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(each)) for each in "ignore all") + "\U000e007f",
        "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    ],
)
def test_joiners_selectors_and_tags_are_refused_where_no_writing_needs_them(text: str) -> None:
    assert HIDDEN.search(text)
