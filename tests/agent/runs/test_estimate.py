"""What a task is likely to take, from runs that are kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.agent.runs.estimate import estimate
from alita_mcp.agent.values import RunSummary


def run(task: str = "sum the sales", **said: object) -> RunSummary:
    known = {
        "run": "0" * 32,
        "at": "",
        "status": "finished",
        "calls": 4,
        "tokens": 100,
        "cost": 0.1,
        "seconds": 10,
    }
    return RunSummary.model_validate({**known, "task": task, **said})


def test_below_three_runs_there_is_no_estimate() -> None:
    assert estimate("sum the sales", []) is None
    assert estimate("sum the sales", [run(), run()]) is None
    assert estimate("sum the sales", [run(), run(), run()]) is not None


def test_like_tasks_count_where_there_are_three_of_them_and_all_tasks_otherwise() -> None:
    like = [
        run("sum the sales of March", cost=cost, seconds=seconds)
        for cost, seconds in ((1, 5), (2, 50), (3, 500))
    ]
    other = [run("draw a cat", cost=100, seconds=9) for _ in range(4)]
    of_like = estimate("sum the sales of April", [*like, *other])
    assert of_like is not None
    assert (of_like.runs, of_like.usd, of_like.most_usd, of_like.most_seconds) == (3, 2, 3, 500)
    of_all = estimate("sum the sales of April", [*like[:2], *other])
    assert of_all is not None
    assert (of_all.runs, of_all.usd) == (6, 100)
    none_alike = estimate("paint a house", [*like, *other])
    assert none_alike is not None
    assert none_alike.runs == 7


@pytest.mark.parametrize(
    ("broken_off", "counts"),
    [
        ({"status": "running"}, False),
        ({"status": "died"}, False),
        ({"status": "stopped", "stopped": "cancelled"}, False),
        ({"status": "stopped", "stopped": "model"}, False),
        ({"status": "stopped", "stopped": "money"}, True),
    ],
)
def test_runs_that_were_broken_off_from_outside_do_not_count(
    broken_off: dict[str, str], counts: bool
) -> None:
    assert (estimate("sum the sales", [run(), run(), run(**broken_off)]) is not None) is counts


def test_where_one_price_is_not_known_none_is_told() -> None:
    found = estimate("sum the sales", [run(), run(), run(cost=None)])
    assert found is not None
    assert (found.usd, found.most_usd, found.tokens) == (None, None, 100)


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=3, max_size=50))
def test_an_estimate_lies_within_what_was_seen(seen: list[tuple[float, float]]) -> None:
    found = estimate("sum the sales", [run(cost=cost, seconds=seconds) for cost, seconds in seen])
    assert found is not None
    assert found.usd is not None
    assert found.most_usd is not None
    assert min(cost for cost, _ in seen) <= found.usd <= found.most_usd <= max(cost for cost, _ in seen)
    assert found.seconds <= found.most_seconds
