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


@each_case(
    "words, arguments",
    [
        ([], {}),
        (['{"text": "a=b", "limit": 3}'], {"text": "a=b", "limit": 3}),
        (["text=12", "limit=12", "other=true"], {"text": "12", "limit": 12, "other": True}),
        (['tags=["a", "b"]', "odd=not json"], {"tags": ["a", "b"], "odd": "not json"}),
        (["text=a=b=c"], {"text": "a=b=c"}),
        (["text="], {"text": ""}),
        (["text=@in.csv", "tags=@tags.json"], {"text": "a,b\n1,2\n", "tags": ["x"]}),
    ],
)
def test_words_become_arguments_by_the_schema(
    words: list[str], arguments: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "tags.json").write_text('["x"]', encoding="utf-8")
    assert read_arguments(words, SCHEMA, tmp_path) == arguments


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
        (["text=@image"], "cannot be read as text"),
    ],
)
def test_words_that_are_no_arguments_are_refused(words: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(InvalidArguments, match=says):
        read_arguments(words, SCHEMA, tmp_path)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])).filter(lambda text: not text.startswith("@"))
)
def test_any_text_survives_as_a_value(text: str) -> None:
    assert read_arguments([f"text={text}"], SCHEMA) == {"text": text}
