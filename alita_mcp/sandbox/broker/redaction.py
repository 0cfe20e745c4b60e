"""Redaction of secrets in all text and JSON that leaves a call."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import TypeVar
from urllib.parse import quote, quote_plus

from alita_mcp.errors import UsageError
from alita_mcp.texts import map_texts

REDACTED = "[secret]"
SHORTEST = 4
"""A shorter value would be found everywhere by chance."""
_V = TypeVar("_V")


def check_secret(name: str, value: str) -> None:
    """Refuses a secret that is too short to be told from ordinary text.

    Raises:
        UsageError: it is too short; the message names the secret, never its value.
    """
    if len(value) < SHORTEST:
        raise UsageError(
            f"The secret {name!r} is shorter than {SHORTEST} characters, too short to be redacted reliably."
        )


def redact(value: _V, values: Iterable[str]) -> _V:
    """A text or JSON value without the secrets: as they are, in URLs, JSON, base64 and hex, in capitals and backwards.

    The names in objects are redacted too.
    """
    forms: set[str] = set()
    for secret in values:
        forms |= _spellings(secret) | _encodings(secret.encode("utf-8", "surrogatepass"))
    # the longest first, so that a secret that contains another is not cut in two
    ordered = sorted(forms, key=lambda form: (-len(form), form))

    def without(text: str) -> str:
        for form in ordered:
            text = text.replace(form, REDACTED)
        return text

    changed: _V = map_texts(value, without)
    return changed


def _spellings(value: str) -> set[str]:
    """As it is and as URLs, JSON and Python write it; in capitals and in small letters; forwards and backwards."""
    written = {
        form
        for text in (value, value.upper(), value.lower())
        for form in (
            text,
            quote(text, errors="replace"),
            quote(text, safe="", errors="replace"),
            quote_plus(text, errors="replace"),
            json.dumps(text)[1:-1],
            repr(text)[1:-1],
        )
    }
    cases = written | {form.upper() for form in written} | {form.lower() for form in written}
    return cases | {form[::-1] for form in cases}


def _encodings(value: bytes) -> set[str]:
    """In hex; in base64, alone and inside a longer text such as `user:secret`, where it begins in one of three ways.

    Inside, the character at either end that the secret shares with its neighbours stays: at most four bits.
    """
    codes = {base64.b64encode(value).decode()}
    for before in range(3):
        code = base64.b64encode(bytes(before) + value).decode()
        codes.add(code[-(-before * 8 // 6) : (before + len(value)) * 8 // 6])
    codes |= {code.replace("+", "-").replace("/", "_") for code in codes}
    return codes | {quote(code, safe="") for code in codes} | {value.hex(), value.hex().upper()}
