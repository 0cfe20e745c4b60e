"""Extraction of a question's most distinctive words, for search back ends."""

from __future__ import annotations

import re

from alita_mcp.library.words.everyday_words import WORDS
from alita_mcp.library.words.stems import STOP_WORDS
from alita_mcp.research.texts import MAX_QUERY, one_line

_WORD = re.compile(r"\w(?:[\w.+-]*\w)?")
_SAYS_NOTHING = {
    *STOP_WORDS, *WORDS.split(), "library", "libraries", "package", "packages", "module", "modules", "pip",
    "install", "installation", "latest", "newest", "version", "repository", "repo", "github", "code",
}  # fmt: skip


def keywords(query: str, most: int, also_without: frozenset[str] = frozenset()) -> list[str]:
    """At most so many words in lower case, in order, once each; everyday ones only where there are no others."""
    words = list(dict.fromkeys(_WORD.findall(one_line(query, MAX_QUERY).lower())))
    common = _SAYS_NOTHING | also_without
    telling = [word for word in words if word not in common and len(word) > 1]
    return (telling or words)[:most]
