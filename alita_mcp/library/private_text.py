"""What people type and would not want kept: a text in, whether it looks private out."""

from __future__ import annotations

import re

_PRIVATE = (
    re.compile(r"\S@\S"),  # addresses of people
    re.compile(r"\w://|\bwww\."),  # addresses of pages, which may hold anything
    re.compile(r"(?<![\w<])(?:~|\.{1,2})?/[\w.-]+/[\w./-]*|\b[A-Za-z]:\\|\\\\\w"),  # paths of files
    re.compile(r"(?:\d[\s().-]?){9,}"),  # telephone, card and account numbers
    re.compile(r"[!-~]{32,}"),  # no word is that long; keys, hashes and encoded text are
    re.compile(r"\b(?=[\w\-+/=]*\d)(?=[\w\-+/=]*[A-Za-z])[\w\-+/=]{20,}"),  # letters and digits mixed: keys
    re.compile(r"(?i)\b(?:password|passwd|passphrase|secret|api[ _-]?key|token|pin)\s*(?:is\b|[:=])"),
)


def looks_private(text: str) -> bool:
    """Whether it holds an address, a path, a long number, or what looks like a key or a password."""
    return any(pattern.search(text) for pattern in _PRIVATE)
