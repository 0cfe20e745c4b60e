"""Extraction of JSON objects from a model's text, whatever prose or fences stand around them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MAX_CHARACTERS = 400_000
"""Longer answers are cut."""
MAX_FAILURES = 100
"""So many braces may begin nothing; a text of nothing but braces would take for ever."""


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The outermost JSON objects in a text, in their order; line breaks in strings need not be escaped.

    What a reasoning model wrote in `<think>` tags before its answer is skipped: it holds drafts.
    """
    text, end, failures = without_thoughts(text), 0, 0
    while (start := text.find("{", end)) != -1 and failures < MAX_FAILURES:
        try:
            found, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            failures, end = failures + 1, start + 1
        else:
            yield found


def first_json_object(text: str) -> tuple[dict[str, Any], str]:
    """The object that the first brace of an answer begins, and the text behind it.

    An object further inside is never taken for it: where a model quotes what it read, that may be untrusted.

    Raises:
        ValueError: there is no brace, or it begins no JSON object.
    """
    text = without_thoughts(text)
    start = text.find("{")
    if start == -1:
        raise ValueError("there is no JSON object in the answer")
    try:
        found, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as broken:
        raise ValueError(f"the JSON object cannot be parsed: {str(broken)[:200]}") from broken
    return found, text[end:]


def without_thoughts(text: str) -> str:
    """The answer without what a reasoning model wrote in `<think>` tags before it."""
    text = text[:MAX_CHARACTERS]
    return text.rpartition("</think>")[2] if text.lstrip().startswith("<think>") else text


def _refuse_constant(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)
