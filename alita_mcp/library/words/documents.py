"""Documents that search finds tools by, made of a manifest and wordings of others, and the words of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from alita_mcp.library.words.everyday_words import everyday
from alita_mcp.library.words.text import Document, Tokens, compose, letter_groups

LEAST_LEARNED = 30
"""So many words of others count even for a tool that says little of itself."""
AGREED_FROM, MOST_AGREED = 0.4, 2
"""Words of at least two requests, and of this share of them, say what a tool is for; no more than so many."""
FEW, FEW_WORDS = 2, 10
"""So many requests, of so many different words together, need nothing to bear them out."""


class Words(NamedTuple):
    """Words of one document, as the statistics need them."""

    own: tuple[str, ...]
    """What the tool says of itself."""
    agreed: tuple[str, ...]
    """Those that its requests have in common."""
    lent: tuple[str, ...]
    """Those of its requests, each once; the agreed ones first."""
    head: tuple[str, ...]
    """Those of name and description."""
    letters: int
    """How many letter groups the head has."""
    requests: int
    """How many requests there are."""

    @property
    def has_few_requests(self) -> bool:
        """Whether they are so few and short that they win no more needs than there are of them."""
        return self.requests <= FEW and len(self.lent) <= FEW_WORDS


def words_of(document: Document, tokens: Tokens) -> Words:
    """The words of a document, as `tokens` cuts them."""
    own, head = tuple(tokens(document.text)), tuple(tokens(document.about))
    requests = [dict.fromkeys(tokens(request)) for request in document.requests]
    having = Counter(word for request in requests for word in request)
    least = max(2.0, AGREED_FROM * len(requests))
    common = [word for word, times in having.items() if times >= least and word not in everyday(tokens)]
    agreed = tuple(sorted(common, key=lambda word: (-having[word], word))[:MOST_AGREED])
    lent = tuple(dict.fromkeys((*agreed, *having)))
    return Words(own, agreed, lent, head, sum(len(letter_groups(word)) for word in head), len(requests))


def document_of(manifest: Mapping[str, Any], wordings: Sequence[str]) -> Document:
    """Document of a tool: its author's words in its manifest, and wordings of others whose need it served."""
    parameters = [
        (name, str(schema.get("description", "")))
        for name, schema in manifest["input_schema"].get("properties", {}).items()
    ]
    name, description, requests = manifest["name"], manifest["description"], manifest.get("use_when", ())
    own = compose(name, description, parameters, requests=requests)
    if not wordings:
        return own
    every = tuple(dict.fromkeys((*requests, *counted_wordings(own, wordings))))
    return compose(name, description, parameters, requests=every)


def counted_wordings(own: Document, wordings: Sequence[str]) -> list[str]:
    """The newest words of others, at most as many words as its author's own."""
    left = max(LEAST_LEARNED, len(own.text.split()))
    counted: list[str] = []
    for text in reversed(wordings):
        left -= len(text.split())
        if left < 0:
            break
        counted.append(text)
    return counted[::-1]
