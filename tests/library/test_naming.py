"""Which names are offered for one that no tool has: near ones, or none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.library.versions.naming import nearest_names

KNOWN = (
    "business_days", "calculate", "convert_units", "count_words", "csv_query", "fetch_csv_and_query", "http_request",
    "read_text_file", "slugify", "summarize_text", "text_statistics", "write_text_file",
)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "near"),
    [
        ("slugfy", ("slugify",)),
        ("SLUGIFY", ("slugify",)),
        ("words_counter", ("count_words",)),
        ("query_csv", ("csv_query", "fetch_csv_and_query")),
        ("summarise_text", ("summarize_text", "text_statistics")),
        ("calc", ("calculate",)),
        ("unit_converter", ("convert_units",)),
        ("http_get", ("http_request",)),
        ("get_weather", ()),
        ("zzzzqqq", ()),
        ("send_email", ()),
        ("a", ()),
        ("_", ()),
        ("", ()),
    ],
)
def test_near_names_are_offered_and_far_ones_are_not(said: str, near: tuple[str, ...]) -> None:
    assert nearest_names(said, KNOWN) == near


@given(st.text(max_size=80))
def test_at_most_three_known_names_are_offered(said: str) -> None:
    offered = nearest_names(said, KNOWN)
    assert len(offered) <= 3
    assert set(offered) <= set(KNOWN)


@given(st.sampled_from(KNOWN))
def test_a_name_is_nearest_to_itself(name: str) -> None:
    assert nearest_names(name, KNOWN)[0] == name
