from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.cli.library.run import read_arguments
from alita_mcp.errors import InvalidArguments
from tests.tables import each_case

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}, "tags": {"type": "array"}},
}


def test_one_json_object_is_taken_as_it_is() -> None:
    assert read_arguments(['{"text": "a=b", "limit": 3}'], SCHEMA) == {"text": "a=b", "limit": 3}


def test_no_words_are_no_arguments() -> None:
    assert read_arguments([], SCHEMA) == {}


def test_a_text_parameter_takes_the_word_and_others_take_json() -> None:
    words = ["text=12", "limit=12", 'tags=["a", "b"]', "other=true", "odd=not json"]
    assert read_arguments(words, SCHEMA) == {
        "text": "12",
        "limit": 12,
        "tags": ["a", "b"],
        "other": True,
        "odd": "not json",
    }


def test_a_value_may_hold_more_equals_signs_or_nothing() -> None:
    assert read_arguments(["text=a=b=c"], SCHEMA) == {"text": "a=b=c"}
    assert read_arguments(["text="], SCHEMA) == {"text": ""}


def test_a_value_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "tags.json").write_text('["x"]', encoding="utf-8")
    words = ["text=@in.csv", "tags=@tags.json"]
    assert read_arguments(words, SCHEMA, tmp_path) == {"text": "a,b\n1,2\n", "tags": ["x"]}


@each_case(
    "words, says",
    [
        (["{not json"], "not valid JSON"),
        (["{" * 100_000], "not valid JSON"),
        (["-5"], "neither JSON nor key=value"),
        (["=5"], "neither JSON nor key=value"),
        (["[1]"], "neither JSON nor key=value"),
        (["text=a", "text=b"], "given twice"),
        (["text=@missing.txt"], "cannot be read"),
        (["text=@."], "cannot be read"),
    ],
)
def test_words_that_are_no_arguments_are_refused(words: list[str], says: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments, match=says):
        read_arguments(words, SCHEMA, tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(InvalidArguments, match="cannot be read as text"):
        read_arguments(["text=@image"], SCHEMA, tmp_path)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])).filter(lambda text: not text.startswith("@"))
)
def test_any_text_survives_as_a_value(text: str) -> None:
    assert read_arguments([f"text={text}"], SCHEMA) == {"text": text}
