"""Whose records make room where a store is full."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.owners import choose_surplus

KEPT = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=30)


@given(KEPT, st.integers(0, 20), st.integers(0, 60))
def test_nobody_loses_what_fits_into_a_fair_share(
    kept: list[tuple[str, int]], most: int, most_bytes: int
) -> None:
    items = [(number, owner, size) for number, (owner, size) in enumerate(kept)]
    newest = kept[-1][0] if kept else ""
    surplus = choose_surplus(items, newest, most, most_bytes)
    left = [item for item in items if item[0] not in surplus]
    assert len(left) <= most
    assert sum(size for *_, size in left) <= most_bytes
    counts, owners = Counter(owner for owner, _ in kept), {owner for owner, _ in kept}
    for owner in owners:
        own = [item for item in items if item[1] == owner]
        lost = [item for item in own if item[0] in surplus]
        assert lost == own[: len(lost)], "the oldest go first"
        fits = counts[owner] * len(owners) <= most
        if fits and sum(size for *_, size in own) * len(owners) <= most_bytes:
            assert not lost
