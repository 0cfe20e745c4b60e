"""Redaction of keys and passwords in texts, values and events before they are written."""

from __future__ import annotations

import json
import re
from typing import Any

from alita_mcp.library.private_text import NAMED_SECRET, without_secrets
from alita_mcp.models.redaction import without_keys

REDACTED = "[secret]"
_RANDOM_LOOKING = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{8,}")


def clean_text(text: str) -> str:
    """The text without keys of this process's environment, or of well-known shape."""
    return without_secrets(without_keys(text))


def clean_value(value: bytes) -> bytes:
    """A JSON text, its texts cleaned one by one; the same bytes where there is nothing to clean.

    Names are no reason to take a value out: later steps compute with it, and a `page_token` is none of a person's.
    """
    try:
        read = json.loads(value)
        cleaned = _clean(read, named=False)
        return value if cleaned == read else json.dumps(cleaned, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return clean_text(value.decode("utf-8", "replace")).encode()


def clean_json(value: Any) -> Any:
    """A JSON value cleaned; also texts under a name like `password`."""
    return _clean(value, named=True)


def _clean(value: Any, *, named: bool) -> Any:
    match value:
        case str():
            return clean_text(value)
        case list() | tuple():
            return [_clean(each, named=named) for each in value]
        case dict():
            return {
                clean_text(str(key)): REDACTED
                if named and _is_named_secret(str(key), each)
                else _clean(each, named=named)
                for key, each in value.items()
            }
        case _:
            return value


def _is_named_secret(name: str, value: Any) -> bool:
    if not isinstance(value, str) or not NAMED_SECRET.search(name):
        return False
    return "pass" in name.lower() or _RANDOM_LOOKING.fullmatch(value) is not None
