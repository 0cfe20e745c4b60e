"""Fencing of strangers' texts for models: no hidden characters, no way to close the tag around them."""

from __future__ import annotations

import re
from functools import cache

from alita_mcp.unseen import HIDDEN

_ANGLES = "[<\uff1c\ufe64\u2039\u27e8\u3008\u2329]"
_SLASHES = r"[\s/\\\uff0f\u2044\u2215]*"
_JOINTS = r"[\s_\-\u2010-\u2015\uff3f]*"
_LINES = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What some readers take for the end of a line."""


def visible_text(text: str) -> str:
    """A text without invisible, bidirectional and control characters."""
    return HIDDEN.sub("", _LINES.sub("\n", text.replace("\r\n", "\n").replace("\r", "\n")))


def escape_fence(text: str, tag: str) -> str:
    """A text to stand between tags of that name, which it can neither close nor open."""
    return _fence(tag).sub("&lt;", visible_text(text))


@cache
def _fence(tag: str) -> re.Pattern[str]:
    """Angles, and what looks like one, before the name, in whatever letters and with whatever between its words."""
    name = _JOINTS.join(map(re.escape, tag.split("_")))
    return re.compile(rf"{_ANGLES}(?={_SLASHES}{name})", re.IGNORECASE)
