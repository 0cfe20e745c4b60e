"""A model's answer to JSON: the first object in a text, whatever prose or fence stands around it."""

from __future__ import annotations

import json


def first_json_object(text: str) -> object:
    """The first JSON object in `text`.

    Raises:
        ValueError: there is none.
    """
    start = text.find("{")
    while start != -1:
        try:
            return json.JSONDecoder().raw_decode(text, start)[0]
        except json.JSONDecodeError:
            start = text.find("{", start + 1)
    raise ValueError("there is no JSON object in the answer")
