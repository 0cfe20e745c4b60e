"""Aliases of a tool: requests that it served become texts by which it is found.

They come from strangers, are kept for good and are read by whoever looks at the tool: what is no short, plain request,
or looks as if somebody would not want it kept, is not learned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alita_mcp.library.library import Library
from alita_mcp.library.private_text import holds_key, looks_private
from alita_mcp.library.words.text import likeness, plain_tokens, words_of
from alita_mcp.values import Grants
from alita_mcp.verification.static.wording import text_checks

MAX_CHARACTERS = 200
MAX_LEARNED_AT_ONCE = 6
NEARLY_EQUAL = 0.8
"""Share of common words from which on a request is one that the tool has."""


def worth_learning(text: str) -> str | None:
    """Returns the text as a request on one line; None where it is too long, cannot be shown, or looks private."""
    words = " ".join(text.split())
    if not is_plain(words) or holds_key(words) or looks_private(words):
        return None
    return words


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


async def learn_words(
    library: Library, tool: str, description: str, use_when: Sequence[str] = (), *, owner: str
) -> None:
    """Records the words of an owner's request that a tool serves; text that cannot be shown or kept is left out."""
    for text in [description, *use_when][:MAX_LEARNED_AT_ONCE]:
        words = worth_learning(" ".join(text.split())[:MAX_CHARACTERS])
        if words is not None:
            await library.learn_wording(tool, words, owner=owner)
