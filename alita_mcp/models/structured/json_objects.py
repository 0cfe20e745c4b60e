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
    text, end, failures = text[:MAX_CHARACTERS], 0, 0
    text = text.rpartition("</think>")[2] if text.lstrip().startswith("<think>") else text
    while (start := text.find("{", end)) != -1 and failures < MAX_FAILURES:
        try:
            found, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            failures, end = failures + 1, start + 1
        else:
            yield found


def _refuse_constant(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)
