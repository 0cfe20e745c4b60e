"""Pagination of lists, with cursors that survive inserts and removals between two pages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from typing import TypeVar

import mcp_types as types
from mcp.shared.exceptions import MCPError

Item = TypeVar("Item")


def page_of(
    items: Sequence[Item], key: Callable[[Item], str], cursor: str | None, size: int
) -> tuple[list[Item], str | None]:
    """The page after `cursor` and the cursor of the next one, None on the last page.

    A cursor names the last item of its page and where it stood: when that item is gone, the list goes on at
    the place it left.

    Raises:
        MCPError: -32602, the cursor is not one of ours.
    """
    start = 0
    if cursor is not None:
        try:
            last, place = json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True))
        except (binascii.Error, ValueError, TypeError, RecursionError):
            raise MCPError(types.INVALID_PARAMS, "Invalid cursor") from None
        if not isinstance(last, str) or type(place) is not int or place < 0:
            raise MCPError(types.INVALID_PARAMS, "Invalid cursor")
        after = (index + 1 for index, item in enumerate(items) if key(item) == last)
        start = next(after, min(place, len(items)))
    page = list(items[start : start + size])
    if not page or start + size >= len(items):
        return page, None
    mark = json.dumps([key(page[-1]), start + len(page) - 1])
    return page, base64.urlsafe_b64encode(mark.encode()).decode()
