"""Decoder of bodies; checks the declared character set against the bytes."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_XML = re.compile(rb"\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})", re.IGNORECASE)
_KNOWN = re.compile(
    r"utf[-_]?(8|16|32)([-_]?[bl]e)?|(us-)?ascii|iso[-_]?8859[-_]?\d+|latin[-_]?[19]|windows-?125\d|cp125\d|cp\d{3}|"
    r"koi8[-_][ru]|gb(k|2312|18030)|big5([-_]?hkscs)?|euc[-_](jp|kr)|shift[-_]?jis|s-?jis|x-sjis|iso-2022-(jp|kr)|"
    r"tis-620|mac[-_]\w{3,12}",
    re.IGNORECASE,
)
"""Names of codecs for text; others that Python knows, as unicode_escape, are no character sets."""
_READ_AS = {
    "iso-8859-1": "windows-1252", "iso8859-1": "windows-1252", "latin1": "windows-1252", "latin-1": "windows-1252",
    "ascii": "windows-1252", "us-ascii": "windows-1252", "x-sjis": "cp932", "shift_jis": "cp932", "sjis": "cp932",
    "gb2312": "gb18030", "gbk": "gb18030", "euc-kr": "cp949", "tis-620": "cp874", "iso-8859-9": "windows-1254",
}  # fmt: skip
"""As browsers do: pages that name the smaller set use the larger one."""
_SAMPLE = 32_768
_HEAD = 4_096
_FEW = 16
"""Letters beyond ASCII that are too few to guess from."""


def decode(body: bytes, content_type: str = "") -> str:
    """The text of a body; bytes that fit no character set are replaced, never refused.

    By a byte order mark; else as UTF-8 where the bytes are; else as declared where they fit; else as guessed, unless at
    most one character in a hundred of a declared UTF-8 is damaged.
    """
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    declared = _declared(body, content_type)
    candidates = [] if declared.startswith(("utf-16", "utf-32", "iso2022")) else ["utf-8"]
    for name in [*candidates, declared]:
        try:
            if name:
                return body.decode(name)
        except ValueError:
            continue
    text = body.decode(declared or "utf-8", "replace")
    beyond_ascii = sum(1 for character in text if character > "\x7f")
    if declared and (declared != "utf-8" or text.count("\ufffd") * 100 <= beyond_ascii):
        return text
    return body.decode(_guess(body), "replace")


def _declared(body: bytes, content_type: str) -> str:
    """The first known character set of the header, the XML declaration and the page's own words; empty: none."""
    named = [match[1] for match in (_CHARSET.search(content_type),) if match]
    for pattern in (_XML, _META):
        named += [match[1].decode("ascii") for match in (pattern.search(body[:_HEAD]),) if match]
    for name in map(str.lower, named):
        if _KNOWN.fullmatch(name):
            try:
                return codecs.lookup(_READ_AS.get(name, name)).name
            except LookupError:
                return ""
    return ""


def _guess(body: bytes) -> str:
    """The likeliest character set of a sample that begins where the text leaves ASCII."""
    import charset_normalizer

    first = next((place for place, byte in enumerate(body) if byte > 0x7F), 0)
    sample = body[max(0, first - 200) : first + _SAMPLE]
    if sum(byte > 0x7F for byte in sample) < _FEW:
        return "windows-1252"
    found = charset_normalizer.from_bytes(sample).best()
    return found.encoding if found is not None else "windows-1252"
