"""Parts of a text: between characters, as many as there is room for, one after another the whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import InvalidArguments
from alita_mcp.server.results.ranges import part_of

TEXTS = st.text(st.sampled_from('ab"\\\n\x01é語🙂'), min_size=1, max_size=60)
ROOMS = st.integers(min_value=-5, max_value=80)


@given(TEXTS, ROOMS)
def test_parts_that_follow_one_another_are_the_whole(text: str, room: int) -> None:
    document, offset, parts = text.encode(), 0, ""
    while offset < len(document):
        part = part_of(document, room, offset)
        assert part.start == offset < part.end
        assert len(part.text) == max(1, room) or part.end == len(document)
        parts, offset = parts + part.text, part.end
    assert parts == text
    assert part_of(document, len(document)).text == text


@given(TEXTS, st.integers(min_value=4, max_value=40))
def test_a_client_may_count_by_itself(text: str, length: int) -> None:
    document = text.encode()
    parts = [part_of(document, 1_000, place, length) for place in range(0, len(document), length)]
    assert "".join(part.text for part in parts if part.start < part.end) == text


@pytest.mark.parametrize("length", [0, 1, 3])
def test_too_short_a_part_holds_a_character(length: int) -> None:
    assert part_of("🙂🙂".encode(), 100, 4, length).text == "🙂"


def test_behind_the_end_there_is_nothing() -> None:
    with pytest.raises(InvalidArguments, match="past the end"):
        part_of(b"abc", 100, 3)
