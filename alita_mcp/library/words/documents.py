"""Documents that search finds tools by, made of a manifest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

from alita_mcp.library.words.text import split_words


@dataclass(frozen=True)
class Document:
    """Texts that a tool is found by."""

    name: str
    """In words."""
    description: str
    parameters: str = ""
    requests: tuple[str, ...] = ()
    """Requests that it is said to serve."""

    @cached_property
    def hash(self) -> str:
        """Differs whenever a text does."""
        return hashlib.sha256(json.dumps(astuple(self)).encode()).hexdigest()[:16]


def compose(
    name: str,
    description: str,
    parameters: Iterable[tuple[str, str]] = (),
    *,
    tags: Sequence[str] = (),
    requests: Sequence[str] = (),
) -> Document:
    """A document of these parts; parameters are pairs of name and description."""
    said = [f"{split_words(parameter)} {about}".strip() for parameter, about in parameters]
    return Document(split_words(name), description, " ".join([*said, *tags]), tuple(requests))


def document_of(manifest: Mapping[str, Any]) -> Document:
    """Document of a tool: its author's words in its manifest."""
    parameters = [
        (name, str(schema.get("description", "")))
        for name, schema in manifest["input_schema"].get("properties", {}).items()
    ]
    requests = dict.fromkeys(manifest.get("use_when", ()))
    return compose(manifest["name"], manifest["description"], parameters, requests=tuple(requests))
