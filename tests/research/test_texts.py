"""Words and addresses of strangers, and the endpoints that a person writes down."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.research.json_api import endpoint
from alita_mcp.research.texts import iso_date, one_line, without_markup


@given(st.text() | st.binary() | st.integers() | st.none(), st.integers(1, 50))
def test_any_words_become_one_short_line(words: object, most: int) -> None:
    line = one_line(words, most)
    assert len(line) <= most
    assert not {unicodedata.category(each) for each in line} & {"Cc", "Cs", "Zl", "Zp"}


def test_markup_is_taken_off() -> None:
    assert without_markup("<strong>Owls</strong> &amp; mice <3 a < b") == "Owls & mice <3 a < b"
    assert without_markup(5) == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-03-04T05:06Z", "2026-03-04"),
        ("2026-13-99", ""),
        ("March 2026", ""),
        (None, ""),
        ("0000-00-00", ""),
    ],
)
def test_a_date_is_one_of_the_calendar(text: object, found: str) -> None:
    assert iso_date(text) == found


@pytest.mark.parametrize(
    ("url", "base_url", "place"),
    [
        ("https://example.org", "https://example.org", "example.org:443"),
        (" http://Example.org:8080/searx/?q=1 ", "http://example.org:8080/searx", "example.org:8080"),
        ("http://[fd00::1]/x", "http://[fd00::1]/x", "[fd00::1]:80"),
        ("https://example.org/a b", "https://example.org/a%20b", "example.org:443"),
    ],
)
def test_an_endpoint_has_one_spelling(url: str, base_url: str, place: str) -> None:
    at = endpoint("x", url, setting="ALITA_X")
    assert (at.base_url, at.host_port) == (base_url, place)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org",
        "http://",
        "http://[bad",
        "http://a:99999",
        "https://owl:word@a.org",
    ],
)
def test_what_is_no_address_is_refused_by_its_setting(url: str) -> None:
    with pytest.raises(UsageError, match="ALITA_X is not a plain http") as told:
        endpoint("x", url, setting="ALITA_X")
    assert "word" not in str(told.value)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schl\u00fcssel", "tab\t"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(key: str) -> None:
    with pytest.raises(UsageError) as told:
        endpoint("x", "https://example.org", setting="ALITA_X", key=key)
    assert key not in str(told.value)
