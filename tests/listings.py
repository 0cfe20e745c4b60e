"""Reader of listings of code, as a person reads them."""

from __future__ import annotations

import re

SPELLED = re.compile(r"<U\+([0-9A-F]{4,6})(?: x([0-9]+))?>")


def read_listing(rows: list[str]) -> str:
    """The code that a listing shows."""
    lines: list[str] = []
    for row in rows:
        number, mark, shown = re.fullmatch(r" *([0-9]*) ([|↪]) (.*)", row, re.DOTALL).groups()  # type: ignore[union-attr]
        assert (mark == "|") == (number == str(len(lines) + 1))
        if mark == "|":
            lines.append(shown)
        else:
            lines[-1] += shown
    return "\n".join(
        SPELLED.sub(lambda found: chr(int(found[1], 16)) * int(found[2] or 1), line) for line in lines
    )
