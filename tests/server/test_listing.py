"""Pages of a list, while the list changes."""

from __future__ import annotations

import base64
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from alita_mcp.server.results.listing import page_of


def pages(items: list[str], size: int) -> list[list[str]]:
    found, cursor = [], None
    while True:
        page, cursor = page_of(items, str, cursor, size)
        found.append(page)
        if cursor is None:
            return found


@given(st.lists(st.text(), unique=True), st.integers(min_value=1, max_value=7))
def test_the_pages_together_are_the_list(items: list[str], size: int) -> None:
    found = pages(items, size)

    assert [item for page in found for item in page] == items
    assert all(len(page) <= size for page in found)


@pytest.mark.parametrize(
    "cursor",
    ["", "garbage", "ünïcode", "\ud800", *(base64.urlsafe_b64encode(text).decode() for text in
     (b"{}", b'["a"]', b'["a", -1]', b'["a", true]', b'[1, 1]', b'["a", 1, 2]', b"[" * 100_000, b"\xff"))],
)  # fmt: skip
def test_a_cursor_that_is_not_ours_is_an_invalid_parameter(cursor: str) -> None:
    with pytest.raises(MCPError) as refused:
        page_of(["a", "b"], str, cursor, 1)

    assert refused.value.error.code == -32602


@given(st.text())
def test_no_cursor_breaks_the_list(cursor: str) -> None:
    with contextlib.suppress(MCPError):
        page, following = page_of(["a", "b"], str, cursor, 1)
        assert len(page) <= 1
        assert following is None or page
