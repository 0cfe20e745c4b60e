"""Decision notes have one form: a title that says the decision, date, status, and pointers that lead both ways."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "decisions"
NOTES = {int(path.name[:4]): path for path in sorted(FOLDER.glob("[0-9]*.md"))}
LINKS = r"(?:\[\d+\]\([\w.-]+\)(?:, )?)+"
HEAD = re.compile(
    r"# (?P<number>\d+)\. (?P<title>\S.+)\n\n"
    r"- Date: (?P<date>\d{4}-\d\d-\d\d)\n"
    rf"- Status: (?:accepted|superseded by (?P<superseded>{LINKS}?))(?:, amended by (?P<amended>{LINKS}))?\n"
    rf"(?:- Replaces: (?P<replaces>{LINKS})\n)?"
    rf"(?:- Amends: (?P<amends>{LINKS})\n)?"
    r"\n\S"
)
BACK = {"superseded": "replaces", "amended": "amends", "replaces": "superseded", "amends": "amended"}


def head(number: int) -> re.Match[str]:
    found = HEAD.match(NOTES[number].read_text(encoding="utf-8"))
    assert found is not None, f"{NOTES[number].name} begins in another form: see README.md beside it"
    return found


def named(number: int, pointer: str) -> set[int]:
    """The notes that a pointer of this note leads to; each link leads to the file of its number."""
    links = re.findall(r"\[(\d+)\]\(([\w.-]+)\)", head(number)[pointer] or "")
    assert all(NOTES[int(other)].name == name for other, name in links)
    return {int(other) for other, _ in links}


@pytest.mark.parametrize("number", NOTES)
def test_a_note_has_number_date_and_a_title_that_says_something(number: int) -> None:
    found = head(number)
    assert int(found["number"]) == number
    assert date(2026, 1, 1) <= date.fromisoformat(found["date"])
    assert len(found["title"].split()) >= 4
    assert not found["title"].endswith(".")


@pytest.mark.parametrize("number", NOTES)
def test_pointers_lead_both_ways(number: int) -> None:
    for pointer, back in BACK.items():
        for other in named(number, pointer):
            assert number in named(other, back), f"{other} does not name {number}"


def test_the_list_holds_every_note_with_its_title_and_status() -> None:
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\d+)\]\((.+?)\) \| (.+?) \| (.+?) \|$", index, re.MULTILINE)
    wanted = []
    for number, path in NOTES.items():
        later = ", ".join(map(str, sorted(named(number, "superseded"))))
        status = f"superseded by {later}" if later else "accepted"
        wanted.append((str(number), path.name, head(number)["title"], status))
    assert rows == wanted
