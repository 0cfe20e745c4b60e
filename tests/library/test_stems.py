"""Texts as stems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.library.words.stems import LONGEST_BYTES, STOP_WORDS, stems

KNOWN = {
    "Resizing PICTURES, quickly!": "resiz pictur quick",
    "the words that I can count": "word count",
    "to_csv-file v2.5 3rd": "csv file v2 5 3rd",
    "generalization generally communism skies dying news": "general general communism sky die news",
    "café naïve São größe Œuvre Łódź e\u0301clair": "cafe naiv sao gross oeuvr lodz eclair",
    "m² ﬁne \uff26\uff35\uff2c\uff2c": "m2 fine full",
    "ДОМ 日本語で何か สวัสดี": "дом 日本語で何か สวัสดี",
    "don't it's": "",
    "🙂 \x00 \ud800 \u202e": "",
    "a\x00b evil\u202emark": "b evil mark",
}


@pytest.mark.parametrize("text", KNOWN)
def test_texts_have_these_stems(text: str) -> None:
    assert " ".join(stems(text)) == KNOWN[text]


@given(st.text(st.characters(), max_size=60))
def test_stems_are_words_that_any_table_takes(text: str) -> None:
    for stem in stems(text):
        assert stem
        assert stem.encode()
        assert not set(stem) & set(" \t\n\0\"'*:^(){}+-_")
        assert stem not in STOP_WORDS


def test_a_run_of_letters_that_is_no_word_does_not_count() -> None:
    assert stems("a" * LONGEST_BYTES + " " + "b" * (LONGEST_BYTES + 1)) == ("a" * LONGEST_BYTES,)
