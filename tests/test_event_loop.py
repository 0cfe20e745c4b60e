"""What is large goes to a thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from alita_mcp.event_loop import SMALL_PARTS, is_large, off_loop


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "large"),
    [
        ({"a": [1, 2, {"b": None}]}, False),
        ("x" * 100_000, False),
        ("x" * 1_000_000, True),
        ([0] * (SMALL_PARTS + 1), True),
        ({str(n): n for n in range(SMALL_PARTS + 1)}, True),
        ([[0] * 10] * (SMALL_PARTS // 10), True),
        (nested(SMALL_PARTS // 2), False),
        (nested(100_000), True),
    ],
)
def test_large_is_what_takes_long_to_walk(value: Any, large: bool) -> None:
    assert is_large(value) is large


async def test_only_large_work_takes_a_thread() -> None:
    here = threading.get_ident()
    assert await off_loop(threading.get_ident, large=False) == here
    assert await off_loop(threading.get_ident, large=True) != here
