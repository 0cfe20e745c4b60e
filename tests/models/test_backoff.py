"""How long is waited: growing, jittered, never less than asked, never for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.models.litellm.backoff import MAX_PAUSE_S, Patience, retry_after_seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0 "}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Fri, 20 Nov 2026 12:00:30 GMT"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_the_server_asks_for_is_read(headers: dict[str, str] | None, seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


@given(st.integers(0, 20), st.none() | st.floats(0, 1e9))
def test_a_pause_is_within_its_limits(attempt: int, asked: float | None) -> None:
    pause = Patience(first_pause_s=1.0).pause(attempt, asked)
    least = min(MAX_PAUSE_S, 2**attempt / 2 if asked is None else asked)
    assert least <= pause <= MAX_PAUSE_S


def test_two_callers_do_not_come_back_together() -> None:
    assert len({Patience().pause(2, None) for _ in range(20)}) > 1
