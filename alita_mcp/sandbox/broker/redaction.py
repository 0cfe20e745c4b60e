"""Takes secrets out of what leaves a call: text or JSON and the secrets' values in, the same without them out."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

from alita_mcp.errors import UsageError

REDACTED = "[secret]"
SHORTEST = 4
"""A shorter value would be found everywhere by chance."""


def check_secret(name: str, value: str) -> None:
    """Refuses a value that could not be told from ordinary text.

    Raises:
        UsageError: it is too short; the message names the secret, never its value.
    """
    if len(value) < SHORTEST:
        raise UsageError(
            f"The secret {name!r} is shorter than {SHORTEST} characters, so it could not be kept out of results."
        )


def redact(text: str, values: Iterable[str]) -> str:
    """The text without the secrets, as they are and as they stand in URLs, JSON and base64."""
    return _without(_forms(values), text)


def redact_json(value: Any, values: Iterable[str]) -> Any:
    """A JSON value without the secrets, also in the names of objects."""
    return _redacted(value, _forms(values))


def _forms(values: Iterable[str]) -> list[str]:
    """All that is replaced, the longest first, so that a secret that contains another is not cut in two."""
    forms = set()
    for value in values:
        forms |= {
            value,
            quote(value),
            quote(value, safe=""),
            quote_plus(value),
            json.dumps(value)[1:-1],
            repr(value)[1:-1],
        }
        forms.add(base64.b64encode(value.encode()).decode())
    return sorted(forms, key=lambda form: (-len(form), form))


def _redacted(value: Any, forms: list[str]) -> Any:
    if isinstance(value, str):
        return _without(forms, value)
    if isinstance(value, list):
        return [_redacted(part, forms) for part in value]
    if isinstance(value, dict):
        return {_without(forms, name): _redacted(part, forms) for name, part in value.items()}
    return value


def _without(forms: list[str], text: str) -> str:
    for form in forms:
        text = text.replace(form, REDACTED)
    return text
