"""Timing of contenders in turns, so that a noisy machine affects all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from alita_mcp.errors import SandboxError

SPACE_S = 0.025
"""Pause before a spaced call: longer than a worker needs to tidy up after the one before."""
SETTLE_S = 0.05
"""Pause between two contenders: what one leaves to be done in the background is not charged to the next."""
WITHIN_S = 60.0
"""How long one part's rounds may take on a machine that is too busy for all of them."""
FEWEST_ROUNDS = 3
SPACED_CALLS = 3
BURST_CALLS = 5

Call = Callable[[], Awaitable[float]]
"""Makes one call, checks its answer and says how many seconds it took."""
Turn = Callable[[], Awaitable[Sequence[float]]]
"""What a contender does in one round: one or more calls."""
Tell = Callable[[str], None]
"""Told one short line at a time about what is being measured."""


class ContenderFailed(Exception):
    """A contender that cannot be started, or gave a wrong answer or none."""


@dataclass
class Measured:
    """The seconds of each contender, and why some have none."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def figures(self, name: str) -> dict[str, object]:
        """The spread of one contender, or `missing` with the reason."""
        if name in self.failures:
            return {"missing": self.failures[name]}
        return spread(self.seconds.get(name, ()))

    def ratio(self, ours: str, baseline: str) -> float | None:
        """Our median as a share of the baseline's; None unless both were measured."""
        if {ours, baseline} & self.failures.keys():
            return None
        return ratio(self.seconds.get(ours, ()), self.seconds.get(baseline, ()))


async def interleaved(
    contenders: Mapping[str, Turn], rounds: int, tell: Tell, within_s: float = WITHIN_S
) -> Measured:
    """Each contender once in each round, always in the same order; a round before the first warms and is not counted.

    One that fails is left out of later rounds and all its seconds are dropped. When the time is over the rounds end
    early, but not before `FEWEST_ROUNDS`; what was measured says how many there were.
    """
    watch = Stopwatch()
    measured = Measured({name: [] for name in contenders})
    for number in range(rounds + 1):
        if number > FEWEST_ROUNDS and watch.seconds > within_s:
            tell(f"{within_s:g} s are over: {number - 1} rounds instead of {rounds}")
            break
        tell(f"round {number} of {rounds}" if number else "warming")
        for name, turn in contenders.items():
            if name in measured.failures:
                continue
            await anyio.sleep(SETTLE_S)
            try:
                seconds = await turn()
            except (ContenderFailed, SandboxError) as failed:
                measured.failures[name] = str(failed)
                tell(f"{name} failed: {failed}")
                continue
            if number:
                measured.seconds[name] += seconds
    return measured


def spaced(call: Call, calls: int = SPACED_CALLS, space_s: float = SPACE_S) -> Turn:
    """A few calls with a pause before each."""

    async def turn() -> list[float]:
        seconds = []
        for _ in range(calls):
            await anyio.sleep(space_s)
            seconds.append(await call())
        return seconds

    return turn


def back_to_back(call: Call, calls: int = BURST_CALLS) -> Turn:
    """A few calls, each as soon as the one before has answered; one more goes first, which had time to prepare."""

    async def turn() -> list[float]:
        await call()
        return [await call() for _ in range(calls)]

    return turn


def once(call: Call) -> Turn:
    """One call; for baselines that start from nothing each time."""

    async def turn() -> list[float]:
        return [await call()]

    return turn


def spread(seconds: Sequence[float]) -> dict[str, object]:
    """Median, p10 and p90 in seconds, and how many there were."""
    if not seconds:
        return {"missing": "nothing was measured"}
    return {
        "n": len(seconds),
        "median_s": round(statistics.median(seconds), 6),
        "p10_s": round(quantile(seconds, 0.10), 6),
        "p90_s": round(quantile(seconds, 0.90), 6),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which that share of the values lies, interpolated."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def ratio(ours: Sequence[float], baseline: Sequence[float]) -> float | None:
    """Our median as a share of the baseline's."""
    if not ours or not baseline:
        return None
    return round(statistics.median(ours) / statistics.median(baseline), 5)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started
