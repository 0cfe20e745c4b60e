"""Decision notes: at most twenty-five, numbered, each with a title that says the decision, and an index that holds them all."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "decisions"
NOTES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")


def heading(path: Path) -> tuple[int, str]:
    found = re.match(r"# (\d+)\. (\S.+)\n\n\S", path.read_text(encoding="utf-8"))
    assert found is not None, f"{path.name} does not begin with '# NUMBER. Title'"
    return int(found[1]), found[2]


def test_notes_are_few_and_numbered_without_gaps() -> None:
    assert [heading(path)[0] for path in NOTES] == list(range(1, len(NOTES) + 1))
    assert len(NOTES) <= 25


def test_a_title_says_the_decision() -> None:
    titles = [heading(path)[1] for path in NOTES]
    assert [title for title in titles if len(title.split()) < 4 or title.endswith(".")] == []


def test_the_index_holds_every_note_with_its_title() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d+)\]\((.+?)\) \| (.+?) \|$", index, re.MULTILINE)
    assert rows == [(str(heading(path)[0]), path.name, heading(path)[1]) for path in NOTES]
