"""What the median tool cost, from journalled syntheses."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.synthesis.jobs.spending import MedianTool, median_tool


def row(name: str | None, status: str, calls: int, tokens: int, **more: Any) -> dict[str, Any]:
    usage = {"calls": calls, "prompt_tokens": tokens, "completion_tokens": 1, **more}
    return {"name": name, "detail": {"status": status, "usage": usage}}


def test_the_median_is_that_of_tools_which_models_wrote_and_were_published() -> None:
    rows = [
        row("cheap", "created", 3, 999),
        row("dear", "created", 9, 19_999),
        row("waiting", "needs_approval", 4, 4_999),
        row("refused", "rejected", 90, 900_000),
        row(None, "failed", 50, 500_000),
        row("found", "exists", 1, 10),
        {"name": "handed_in", "detail": {"status": "created"}},
        {"name": "bare", "detail": None},
    ]
    assert median_tool(rows) == MedianTool(tools=3, model_calls=4, tokens=5_000)
    assert median_tool(iter(rows)) == median_tool(rows)


def test_what_failed_under_the_name_of_a_published_tool_is_part_of_its_price() -> None:
    rows = [row("tool", "rejected", 8, 7_999), row("tool", "created", 3, 1_999)]
    assert median_tool(rows) == MedianTool(tools=1, model_calls=11, tokens=10_000)


def test_of_an_even_number_of_tools_it_is_the_middle_between_two() -> None:
    rows = [row("one", "created", 3, 10), row("two", "created", 4, 20)]
    assert median_tool(rows) == MedianTool(tools=2, model_calls=3.5, tokens=16)


@pytest.mark.parametrize(
    "rows",
    [[], [row("kept", "created", 0, 0, cached=7)], [row("torn", "created", 3, 5, seconds="many")]],
    ids=["nothing", "kept answers", "unreadable"],
)
def test_without_a_paid_tool_there_is_no_median(rows: list[dict[str, Any]]) -> None:
    assert median_tool(rows).as_json() == {"tools": 0, "model_calls": None, "tokens": None}
