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
    ("declared", "body", "name", "kind"),
    [
        ("text/html; charset=x", b"<p>", "", "html"),
        ("TEXT/HTML", b"%PDF-1.7", "", "pdf"),
        ("text/html", b'<?xml version="1.0"?><rss>', "", "xml"),
        ("text/html", b'<?xml version="1.0"?><!DOCTYPE html><html>', "", "html"),
        ("application/xml", b"<!-- a --><!doctype html><p>", "", "html"),
        ("text/xml", b"<!---->" * 200 + b"<a>", "", "xml"),
        ("application/atom+xml", b"<feed>", "", "xml"),
        ("application/ld+json", b"{}", "", "json"),
        ("text/x-python", b"x = 1", "", "text"),
        ("application/javascript", b"x = 1", "", "text"),
        ("text/csv", b"a,b", "", "csv"),
        ("text/plain", "é".encode("utf-16"), "", "text"),
        ("text/plain; charset=utf-16le", "words".encode("utf-16-le"), "", "text"),
        ("", b"<html><p>", "https://a.example/x", "html"),
        ("application/octet-stream", b"a,b", "https://a.example/data.csv?raw=1", "csv"),
        ("application/octet-stream", b"x = 1", "https://a.example/x.py", "text"),
        ("application/octet-stream", b"all:", "https://a.example/Makefile", "text"),
    ],
)
def test_a_body_is_what_its_first_bytes_and_its_type_say(
    declared: str, body: bytes, name: str, kind: str
) -> None:
    assert kind_of(declared, body, name) == kind


@pytest.mark.parametrize(
    ("declared", "body", "name"),
    [
        ("image/svg+xml", b"<svg>", ""),
        ("video/mp4", b"words", ""),
        ("text/plain", b"PK\x03\x04", ""),
        ("text/plain", b"a\0b", ""),
        ("application/octet-stream", b"words", "https://a.example/x.bin"),
        ("application/octet-stream", b"words", "https://a.example/x.pdf"),
        ("application/pdf", b"words", ""),
        ("", b"words", ""),
    ],
)
def test_what_is_no_text_is_refused(declared: str, body: bytes, name: str) -> None:
    with pytest.raises(UsageError):
        kind_of(declared, body, name)


@pytest.mark.parametrize(
    ("text", "written", "said"),
    [
        (RUSSIAN, "utf-8", "text/html; charset=iso-8859-1"),
        (RUSSIAN, "windows-1251", "text/html; charset=windows-1251"),
        (RUSSIAN, "koi8-r", "text/html; charset=KOI8-R"),
        (RUSSIAN, "windows-1251", "text/html; charset=utf-8"),
        (RUSSIAN, "windows-1251", "text/html"),
        (JAPANESE, "shift_jis", "text/html; charset=Shift_JIS"),
        (JAPANESE, "euc-jp", "text/html; charset=utf-8"),
        (JAPANESE, "iso-2022-jp", "text/plain; charset=iso-2022-jp"),
        (GERMAN, "windows-1252", "text/html; charset=iso-8859-1"),
        (GERMAN, "utf-16", "text/html; charset=utf-8"),
        (GERMAN, "utf-16-le", "text/plain; charset=utf-16le"),
        (GERMAN, "utf-8-sig", "text/html; charset=windows-1251"),
        (GERMAN, "utf-8", "text/html; charset=unicode_escape"),
        (GERMAN, "utf-8", "text/html; charset=nonsense"),
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


def test_a_feed_comes_as_lines_with_its_links() -> None:
    feed = """<?xml version="1.0"?><rss><channel><title>Owl news</title><item><title>New owl</title>
      <link>https://a.example/new</link><description>&lt;p&gt;Seen &lt;b&gt;twice&lt;/b&gt;.&lt;/p&gt;</description>
      </item></channel></rss>"""
    document = read_document(feed.encode(), "application/rss+xml", "https://a.example/feed")
    assert document.title == "Owl news"
    assert "title: New owl" in document.text
    assert "description: Seen twice ." in document.text
    assert [link.url for link in document.links] == ["https://a.example/new"]
    atom = (
        b'<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://a.example/next" rel="next"/></feed>'
    )
    assert read_document(atom, "application/atom+xml", "u").text == "link:  [1]"


def test_entities_of_xml_neither_grow_nor_read_files() -> None:
    lines = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e0 "boom">{lines}]><a><b>words</b>&e11;</a>'
    assert len(read_document(bomb.encode(), "text/xml", "u").text) < 1_000
    reading = (
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;<b>words</b></a>'
    )
    assert read_document(reading.encode(), "text/xml", "u").text == "b: words"


@pytest.mark.parametrize("body", [b"<?xml", b"<?xml version='1.0'?>", b"   "])
def test_broken_xml_is_refused(body: bytes) -> None:
    with pytest.raises(UsageError):
        read_document(body, "application/xml", "u")
