"""What a body is, in which characters it is written, and what texts, JSON and XML come out as."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import UsageError
from alita_mcp.research.reading.decoding import decode
from alita_mcp.research.reading.documents import kind_of, read_document

pytestmark = pytest.mark.extra("web")

RUSSIAN = "Совы охотятся ночью и летают без звука. Они хорошо видят в темноте и ещё лучше слышат. " * 3
JAPANESE = "フクロウは夜に狩りをし、音もなく飛ぶ。暗闇でもよく見える。" * 5
GERMAN = "Eulen jagen nachts und fliegen geräuschlos. Größere Käuze hören übrigens besser, sagt man. " * 3


@pytest.mark.parametrize(
    ("declared", "body", "kind"),
    [
        ("text/html", b"<p>", "html"),
        ("text/html", b"%PDF-1.7", "pdf"),
        ("text/html", b'<?xml version="1.0"?><rss>', "text"),
        ("text/html", b'<?xml version="1.0"?><!DOCTYPE html><html>', "html"),
        ("application/xml", b"<!-- a --><!doctype html><p>", "html"),
        ("application/atom+xml", b"<!---->" * 200 + b"<a>", "text"),
        ("application/ld+json", b"{}", "json"),
        ("application/javascript", b"x = 1", "text"),
        ("text/plain", b"<html><p>", "text"),
        ("text/plain", "\u00e9".encode("utf-16"), "text"),
    ],
)
def test_a_body_is_what_its_first_bytes_and_its_type_say(declared: str, body: bytes, kind: str) -> None:
    assert kind_of(declared, body) == kind


@pytest.mark.parametrize(
    ("url", "body", "content_type"),
    [
        ("https://a.example/x", b"<html><p>words</p>", "text/html"),
        ("https://a.example/data.csv?raw=1", b"a,b", "text/csv"),
        ("https://a.example/Makefile", b"all:", "text/plain"),
        ("https://a.example/x.bin", b"words", "text/plain"),
        ("file:Data#1.JSON", b"{}", "application/json"),
    ],
)
def test_a_body_without_a_type_is_what_its_suffix_says(url: str, body: bytes, content_type: str) -> None:
    assert read_document(body, "application/octet-stream", url).content_type == content_type


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        ("image/svg+xml", b"<svg>"),
        ("video/mp4", b"words"),
        ("text/plain", b"PK\x03\x04"),
        ("text/plain", b"a\0b"),
        ("application/pdf", b"words"),
    ],
)
def test_what_is_no_text_is_refused(declared: str, body: bytes) -> None:
    with pytest.raises(UsageError):
        kind_of(declared, body)


@pytest.mark.parametrize(
    ("text", "written", "said"),
    [
        (RUSSIAN, "utf-8", "text/html; charset=iso-8859-1"),
        (RUSSIAN, "windows-1251", "text/html; charset=windows-1251"),
        (RUSSIAN, "koi8-r", "text/html; charset=KOI8-R"),
        (JAPANESE, "shift_jis", "text/html; charset=Shift_JIS"),
        (JAPANESE, "iso-2022-jp", "text/plain; charset=iso-2022-jp"),
        (GERMAN, "windows-1252", "text/html; charset=iso-8859-1"),
        (GERMAN, "utf-16", "text/html; charset=utf-8"),
        (GERMAN, "utf-16-le", "text/plain; charset=utf-16le"),
        (GERMAN, "utf-8-sig", "text/html; charset=windows-1251"),
        (GERMAN, "utf-8", "text/html; charset=unicode_escape"),
        (GERMAN, "utf-8", "text/html; charset=nonsense"),
        (GERMAN, "windows-1252", "text/html; charset=rot13"),
        (GERMAN, "windows-1252", "text/html; charset=undefined"),
    ],
)
def test_a_wrong_character_set_is_repaired(text: str, written: str, said: str) -> None:
    assert decode(text.encode(written), said) == text


def test_a_page_names_its_character_set_itself() -> None:
    page = f'<meta http-equiv="content-type" content="text/html; charset=windows-1251"><p>{RUSSIAN}'
    assert RUSSIAN in decode(page.encode("windows-1251"), "text/html")
    feed = f'<?xml version="1.0" encoding="koi8-r"?><a>{RUSSIAN}</a>'
    assert RUSSIAN in decode(feed.encode("koi8-r"), "")


def test_a_few_damaged_characters_spoil_no_page() -> None:
    body = RUSSIAN.encode() + b"\xff" + RUSSIAN.encode()
    assert decode(body, "text/html; charset=utf-8") == f"{RUSSIAN}\ufffd{RUSSIAN}"
    assert decode(b"\x81\xff", "text/html; charset=shift_jis")


@given(st.binary(max_size=300), st.text(max_size=40))
def test_no_bytes_break_it(body: bytes, said: str) -> None:
    assert isinstance(decode(body, f"text/html; charset={said}"), str)


def test_json_comes_in_lines_and_what_is_none_as_it_is() -> None:
    assert read_document(b'{"a":[1,{"b":"\xc3\xa9"}]}', "application/json", "u").text == (
        '{\n "a": [\n  1,\n  {\n   "b": "é"\n  }\n ]\n}'
    )
    for odd in ("{broken", "[" * 100_000, json.dumps({"a": "x" * 2_000_001})):
        assert read_document(odd.encode(), "application/json", "u").text == odd


def test_plain_text_and_code_come_as_they_are() -> None:
    code = "def f():\r\n\treturn  1\r\n"
    document = read_document(code.encode(), "text/x-python", "https://a.example/f.py")
    assert (document.text, document.content_type, document.links) == (
        "def f():\n\treturn  1\n",
        "text/x-python",
        (),
    )


def test_a_feed_comes_as_it_is_with_its_links() -> None:
    feed = """<?xml version="1.0"?><!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><rss><title>&f;</title>
      <link>https://a.example/new</link><guid>https://a.example/new</guid><a href="http://b.example/?c=1"/></rss>"""
    document = read_document(feed.encode(), "application/rss+xml", "https://a.example/feed")
    assert document.text == feed
    assert [link.url for link in document.links] == ["https://a.example/new", "http://b.example/?c=1"]
