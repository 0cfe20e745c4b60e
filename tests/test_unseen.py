"""Code as people are shown it: one to one, and nothing but ink in its place."""

from __future__ import annotations

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.unseen import HIDDEN, code_listing, spell_hidden
from tests.listings import read_listing
from tests.tables import each_case

CODE = st.text(
    st.one_of(
        st.sampled_from(
            " \n<U+0x> |↪é日ก\u0e34\u0301\u0336\u05d0\u0663\t\r\x0c\x1c\x85\u2028\u200b\u3164\ud800"
        ),
        st.characters(exclude_categories=()),
    ),
    max_size=200,
)


@given(CODE, st.integers(min_value=30, max_value=100))
def test_a_listing_is_the_code_one_to_one_and_holds_nothing_hidden(code: str, columns: int) -> None:
    rows = code_listing(code, columns)
    assert read_listing(rows) == code
    for row in rows:
        assert row.isprintable()
        assert not HIDDEN.search(row)
        assert not {unicodedata.bidirectional(each) for each in row} & {"R", "AL", "AN"}
        assert not set(row) & {"\u3164", "\u2800", "\xa0", "\u3000"}
        assert sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in row) <= columns


@each_case(
    "code, row",
    [
        ("price = '10 €'  # größer", "1 | price = '10 €'  # größer"),
        ("'日本語 🙂 ภาษา'", "1 | '日本語 🙂 ภาษา'"),
        ("'a\u0336b'", "1 | 'a<U+0336>b'"),
        ("'ก" + "\u0e34" * 3 + "'", "1 | 'ก<U+0E34 x3>'"),
        ("'<U+2028>'", "1 | '<U+003C>U+2028>'"),
        ("\u200b" * 7_000 + "steal()", "1 | <U+200B x7000>steal()"),
        ("if x:" + " " * 40 + "steal()", "1 | if x:<U+0020 x40>steal()"),
    ],
)
def test_writing_of_every_language_stays_and_what_could_deceive_is_spelled(code: str, row: str) -> None:
    assert code_listing(code) == [row]


@each_case(
    "text, shown",
    [
        ("\x1b[2Jcleared", "<U+001B>[2Jcleared"),
        ("a\rb", "a<U+000D>b"),
        ("evil\u202etxt.exe", "evil<U+202E>txt.exe"),
        ("zero\u200bwidth", "zero<U+200B>width"),
        ("half \ud800", "half <U+D800>"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("日本 é 🙂 10\xa0€ ⚠\ufe0f שלום", "日本 é 🙂 10\xa0€ ⚠\ufe0f שלום"),
    ],
)
def test_prose_keeps_what_writing_needs(text: str, shown: str) -> None:
    assert spell_hidden(text) == shown


@given(st.text())
def test_no_prose_holds_an_escape(text: str) -> None:
    assert not re.search("[\x1b\x9b\u202e\x07\x08\x0c]|\r(?!\n)", spell_hidden(text))
