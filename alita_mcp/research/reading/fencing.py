"""Text of strangers as models are shown it: in; out without hidden characters, and unable to close a tag around it."""

from __future__ import annotations

import re
from functools import cache

from alita_mcp.unseen import HIDDEN

_ANGLES = "[<\uff1c\ufe64\u2039\u27e8\u3008\u2329]"
_SLASHES = r"[\s/\\\uff0f\u2044\u2215]*"
_JOINTS = r"[\s_\-\u2010-\u2015\uff3f]*"
_LINES = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""What some readers take for the end of a line."""


def seen(text: str) -> str:
    """A text with nothing hidden in it: invisible, bidirectional and control characters are taken out."""
    return HIDDEN.sub("", _LINES.sub("\n", text.replace("\r\n", "\n").replace("\r", "\n")))


def inside(text: str, tag: str) -> str:
    """A text as it stands between tags of that name, which it neither closes nor opens; nothing hidden is in it."""
    return _fence(tag).sub("&lt;", seen(text))


@cache
def _fence(tag: str) -> re.Pattern[str]:
    """Angles, and what looks like one, before the name, in whatever letters and with whatever between its words."""
    name = _JOINTS.join(map(re.escape, tag.split("_")))
    return re.compile(rf"{_ANGLES}(?={_SLASHES}{name})", re.IGNORECASE)
