"""Redaction of providers' words for messages and logs: no keys, no control characters, bounded length."""

from __future__ import annotations

import re

from alita_mcp.settings import environment_keys
from alita_mcp.texts import one_line
from alita_mcp.unseen import HIDDEN

SHOWN_CHARACTERS = 300
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?i)\b(?:sk|pk|gsk|xai|hf|rk|r8|key|AIza|glpat|ghp)[-_][\w*.-]{8,}|\bAIza[\w-]{20,}|(?<=bearer )\S{8,}"
    r"|(?<=key=)[^\s&\"']{8,}|(?<=://)[^/\s@:]+:[^/\s@]+(?=@)"
)


def without_keys(text: str) -> str:
    """The text, every key of this process's environment taken out."""
    for key in sorted(environment_keys(), key=len, reverse=True):
        text = text.replace(key, "[key]")
    return text


def presentable(text: str) -> str:
    """The text in one line of at most `SHOWN_CHARACTERS`, everything that is or looks like a key taken out."""
    text = without_keys(text[: SHOWN_CHARACTERS * 20])
    return one_line(HIDDEN.sub(" ", _LOOKS_LIKE_A_KEY.sub("[key]", text)), SHOWN_CHARACTERS)
