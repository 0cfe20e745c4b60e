"""Profiles of files: what a model is told of a table, of JSON and of other texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.agent.memory.profiles import LONGEST, profile_file

TABLE = (
    "day;amount (kg);price;note\n" + "2024-01-02;1,5;12 €;\n" * 40 + "soon;n/a;7 $;late\n2024-02-01;2,25\n"
)


def profile(tmp_path: Path, name: str, content: str | bytes, extracted: str = "") -> str:
    path = tmp_path / "file"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return profile_file(name, path, extracted).profile


def test_a_table_is_described_by_columns_kinds_units_and_odd_values(tmp_path: Path) -> None:
    said = profile(tmp_path, "a.csv", f"\ufeff{TABLE}")
    assert said.startswith(
        "42 rows, separated by ';', 1 rows of another length: day (dates such as 2024-01-02; 1 odd: "
    )
    for part in (
        "amount (kg) (numbers such as 1,5; decimal commas in 41; 1 odd: 'n/a'", "unit '€' in 40", "unit '$' in 1",
        "note (1 texts: 'late'; 40 blank)",
    ):  # fmt: skip
        assert part in said


def test_other_files_are_described_by_what_they_are(tmp_path: Path) -> None:
    assert profile(tmp_path, "r.json", '{"05": {"USD": 1.1}}').endswith('beginning: {"05": {"USD": 1.1}}')
    assert "beginning: Dear Ada," in profile(tmp_path, "letter.txt", "Dear Ada,\nwe are well.\n")
    assert profile(tmp_path, "a.pdf", b"%PDF\xff", "# Total\n1,240 EUR").endswith(
        "beginning: # Total 1,240 EUR"
    )
    assert profile(tmp_path, "picture.png", b"\x89PNG\xff") == ""


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.txt"])
@given(st.text(max_size=300))
def test_any_text_has_a_short_profile(tmp_path_factory: pytest.TempPathFactory, name: str, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    assert len(profile(folder, name, text.encode("utf-8", "replace"))) <= LONGEST


@pytest.mark.parametrize("hostile", ['"', "a,", "1,", "- ", "[" * 500, '{"a":', "€", "9 "])
def test_hostile_files_are_described_at_once(tmp_path: Path, hostile: str) -> None:
    for name in ("a.csv", "a.json"):
        assert len(profile(tmp_path, name, hostile * 200_000)) <= LONGEST
