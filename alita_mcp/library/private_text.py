"""Detects text that looks private and must not be kept."""

from __future__ import annotations

import re

_PRIVATE = (
    re.compile(r"\S@\S"),  # addresses of people
    re.compile(r"\w://|\bwww\."),  # addresses of pages, which may hold anything
    re.compile(r"(?<![\w<])(?:~|\.{1,2})?/[\w.-]+/[\w./-]*|\b[A-Za-z]:\\|\\\\\w"),  # paths of files
    re.compile(r"(?:\d[\s().-]?){9,}"),  # telephone, card and account numbers
    re.compile(r"[!-~]{32,}"),  # no word is that long; keys, hashes and encoded text are
    # letters and digits mixed: keys; looked for once in each run of such characters
    re.compile(r"(?<![\w\-+/=])[\-+/=]*+(?=[\w\-+/=]*\d)(?=[\w\-+/=]*[A-Za-z])[\w\-+/=]{20,}"),
    re.compile(r"(?i)\b(?:password|passwd|passphrase|secret|api[ _-]?key|token|pin)\s*(?:is\b|[:=])"),
)

KEYS = {
    "a private key": re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----"),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b"),
    "a GitLab token": re.compile(r"\bglpat-[A-Za-z0-9_-]{20,}\b"),
    "a Slack token": re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}\b"),
    "a model provider's key": re.compile(r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}\b"),
    "a Google API key": re.compile(r"\bAIza[0-9A-Za-z_-]{35}\b"),
    "a Stripe key": re.compile(r"\b[rs]k_live_[0-9A-Za-z]{20,}\b"),
    "a Hugging Face token": re.compile(r"\bhf_[A-Za-z0-9]{30,}\b"),
    "a JSON web token": re.compile(
        r"(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    ),
    "a password in an address": re.compile(
        r"\b[a-z][a-z0-9+]{1,15}://[^\s:/@\"'{]+:[^\s:/@\"'{]{6,}@[\w.-]+"
    ),
}
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s]*+(?:-----END [A-Z0-9 ]{0,40}-----)?"
)
NAMED_SECRET = re.compile(
    r"(api_?key|secret|token|passw(or)?d|credential|auth_?key|access_?key|private_?key)", re.IGNORECASE
)
"""In a name: its value is private."""
_GIVEN_SECRET = re.compile(
    NAMED_SECRET.pattern + r"""\w{0,30}["']?\s{0,9}[:=]\s{0,9}["'][^"'\s]{4}""", re.IGNORECASE
)


def looks_private(text: str) -> bool:
    """Whether it holds an address, a path, a long number, or what looks like a key or a password."""
    return any(pattern.search(text) for pattern in _PRIVATE)


def holds_key(text: str) -> bool:
    """Whether a key of well-known shape stands anywhere in it."""
    return any(pattern.search(text) for pattern in KEYS.values())


def holds_secret(text: str) -> bool:
    """Whether code or JSON holds a key, or gives a text to a name like `password`."""
    return holds_key(text) or _GIVEN_SECRET.search(text) is not None


def without_secrets(text: str) -> str:
    """The text with every key of well-known shape taken out."""
    text = _KEY_BLOCK.sub("[secret]", text) if "PRIVATE KEY-----" in text else text
    for pattern in KEYS.values():
        text = pattern.sub("[secret]", text)
    return text
