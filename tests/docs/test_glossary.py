"""docs/glossary.md: at most 25 words, in order, each in use and each explained in one line."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST = 25


def test_the_glossary_is_short_in_order_and_about_words_in_use() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z -]+) \| (.{20,160}) \|$", text, re.MULTILINE)
    words = [word for word, _ in rows if word != "word"]
    assert len(words) == len(re.findall(r"^\| \w", text, re.MULTILINE)) - 1, "a row has another form"
    assert words == sorted(words)
    assert 10 < len(words) <= MOST
    source = " ".join(path.read_text(encoding="utf-8").lower() for path in (ROOT / "alita_mcp").rglob("*.py"))
    assert [word for word in words if word.replace(" ", "") not in source.replace(" ", "")] == []
