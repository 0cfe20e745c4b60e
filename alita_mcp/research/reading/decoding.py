"""Decoder of bodies, which checks the declared character set against the bytes."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_DECLARATION = re.compile(rb"(?:charset|encoding)\s*=\s*+[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
"""In the content type, the XML declaration and the `meta` elements of a page."""
_NO_CHARSETS = {"unicode_escape", "raw_unicode_escape", "utf-7", "idna", "punycode"}
_SUPERSETS = {
    "iso8859-1": "cp1252", "ascii": "cp1252", "shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030",
    "euc_kr": "cp949", "tis-620": "cp874", "iso8859-9": "cp1254",
}  # fmt: skip
"""As browsers do: pages that name the smaller character set use the larger one."""
_HEAD = 4_096


def decode(body: bytes, content_type: str = "") -> str:
    """The text of a body; bytes that fit no character set are replaced, never refused.

    By a byte order mark; else as UTF-8 where the bytes are; else as declared, or as Windows-1252.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if body.startswith(mark):
            return body.decode(name, "replace")
    declared = charset_of(body, content_type)
    # Text in these passes as UTF-8, too, and means something else.
    names = [] if declared.startswith(("utf-16", "utf-32", "iso2022")) else ["utf-8"]
    for name in [*names, *filter(None, [declared])]:
        with suppress(ValueError):
            return body.decode(name)
    return body.decode(declared or "cp1252", "replace")


def charset_of(body: bytes, content_type: str) -> str:
    """The first known character set that the content type or the head of the body names; empty where there is none."""
    for match in _DECLARATION.finditer(content_type.encode("ascii", "replace") + b"\n" + body[:_HEAD]):
        try:
            codec = codecs.lookup(match[1].decode("ascii", "replace"))
            b"x".decode(codec.name, "replace")  # `rot13` and the like are known, and are no text encodings
        except (LookupError, ValueError):
            continue
        if codec.name not in _NO_CHARSETS:
            return _SUPERSETS.get(codec.name, codec.name)
    return ""
