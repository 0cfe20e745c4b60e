"""Example requests of a tool: which texts are plain requests that say something new."""

from __future__ import annotations

from collections.abc import Iterable

from alita_mcp.library.words.text import likeness, plain_tokens, words_of
from alita_mcp.values import Grants
from alita_mcp.verification.static.wording import text_checks

MAX_CHARACTERS = 200
NEARLY_EQUAL = 0.8
"""Share of common words from which on a request is one that the tool has."""


def is_plain(request: str) -> bool:
    """Whether it is one short line of words that asks for something and holds no address."""
    shown = request.isprintable() and bool(plain_tokens(request))
    return shown and not text_checks("request", request, MAX_CHARACTERS, Grants())


def says_nothing_new(text: str, known: Iterable[str], name: str) -> bool:
    """Whether a request is the tool's name alone, a part of a text that is known, or nearly the same as one."""
    words, own = words_of(text), words_of(name) | {name}
    texts = [words_of(each) for each in known]
    return any(words <= each for each in (own, *texts)) or any(
        likeness(words, each) >= NEARLY_EQUAL for each in texts
    )
