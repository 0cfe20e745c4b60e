from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import SandboxError
from benchmarks.calls import timing

SECONDS = st.lists(st.floats(min_value=1e-6, max_value=100), min_size=1, max_size=50)


def silent(_line: str) -> None:
    pass


async def test_contenders_take_turns_in_one_order_and_the_warming_round_is_not_counted() -> None:
    turns: list[str] = []

    def contender(name: str, seconds: float) -> timing.Turn:
        async def turn() -> Sequence[float]:
            turns.append(name)
            return [seconds, seconds]

        return turn

    contenders = {"ours": contender("ours", 1.0), "baseline": contender("baseline", 4.0)}
    with anyio.fail_after(60):
        measured = await timing.interleaved(contenders, 3, silent)
    assert turns == ["ours", "baseline"] * 4
    assert measured.seconds == {"ours": [1.0] * 6, "baseline": [4.0] * 6}
    assert measured.ratio("ours", "baseline") == 0.25
    assert measured.figures("ours") == {"n": 6, "median_s": 1.0, "p10_s": 1.0, "p90_s": 1.0}


@pytest.mark.parametrize("failure", [timing.ContenderFailed("wrong sum"), SandboxError("it broke")])
async def test_a_contender_that_fails_is_left_out_and_reported_and_the_others_go_on(
    failure: Exception,
) -> None:
    calls = 0

    async def breaks() -> Sequence[float]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise failure
        return [1.0]

    async def works() -> Sequence[float]:
        return [2.0]

    told: list[str] = []
    with anyio.fail_after(60):
        measured = await timing.interleaved({"ours": breaks, "baseline": works}, 4, told.append)
    assert calls == 3
    assert measured.figures("ours") == {"missing": str(failure)}
    assert measured.ratio("ours", "baseline") is None
    assert measured.figures("baseline")["n"] == 4
    assert any(str(failure) in line for line in told)


async def test_rounds_end_early_when_the_time_is_over_but_not_before_there_are_a_few() -> None:
    async def turn() -> Sequence[float]:
        return [1.0]

    told: list[str] = []
    with anyio.fail_after(60):
        measured = await timing.interleaved({"ours": turn}, 50, told.append, within_s=0.0)
    assert measured.figures("ours")["n"] == timing.FEWEST_ROUNDS
    assert told[-1] == f"0 s are over: {timing.FEWEST_ROUNDS} rounds instead of 50"


async def test_a_turn_of_spaced_calls_counts_all_and_one_back_to_back_leaves_the_first_out() -> None:
    made = iter(range(1, 100))

    async def call() -> float:
        return float(next(made))

    with anyio.fail_after(60):
        assert await timing.spaced(call, 2)() == [1.0, 2.0]
        assert await timing.back_to_back(call, 3)() == [4.0, 5.0, 6.0]
        assert await timing.once(call)() == [7.0]


def test_a_contender_without_any_seconds_is_said_to_be_missing() -> None:
    measured = timing.Measured()
    assert measured.figures("nobody") == {"missing": "nothing was measured"}
    assert measured.ratio("nobody", "else") is None


@given(SECONDS)
def test_the_spread_is_ordered_and_lies_within_what_was_measured(seconds: list[float]) -> None:
    spread = timing.spread(seconds)
    low, middle, high = (float(str(spread[name])) for name in ("p10_s", "median_s", "p90_s"))
    assert spread["n"] == len(seconds)
    assert min(seconds) - 1e-6 <= low <= middle + 1e-6
    assert middle - 1e-6 <= high <= max(seconds) + 1e-6


@given(SECONDS, st.floats(min_value=0, max_value=1))
def test_a_quantile_never_leaves_the_values_and_its_ends_are_the_least_and_the_most(
    seconds: list[float], share: float
) -> None:
    assert timing.quantile(seconds, 0.0) == min(seconds)
    assert timing.quantile(seconds, 1.0) == max(seconds)
    assert min(seconds) - 1e-9 <= timing.quantile(seconds, share) <= max(seconds) + 1e-9


def test_quantiles_are_interpolated() -> None:
    assert timing.quantile([4.0, 1.0, 2.0, 3.0, 5.0], 0.5) == 3.0
    assert timing.quantile([1.0, 2.0], 0.25) == 1.25
