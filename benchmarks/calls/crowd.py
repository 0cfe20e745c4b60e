"""Many concurrent callers of one tool: throughput, fairness, lost calls and tail latency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Sandbox
from benchmarks.calls import baselines, latency, timing, work

CALLERS = 16
DOCKER_RUNS = (2, 4)
"""How many `docker run` at once; the better of them is the baseline."""
TURNS = 2
FAILURES = (SandboxError, timing.ContenderFailed)


@dataclass
class Crowd:
    """Results of a number of callers, over all windows so far."""

    callers: int
    seconds: float = 0.0
    latencies: list[list[float]] = field(default_factory=list)
    """One list for each caller."""
    lost: list[str] = field(default_factory=list)
    """Why calls were not answered, or wrongly."""

    @property
    def calls(self) -> int:
        """Number of completed calls."""
        return sum(map(len, self.latencies))

    @property
    def per_second(self) -> float:
        """Throughput of all callers together."""
        return self.calls / self.seconds if self.seconds else 0.0

    def figures(self) -> dict[str, Any]:
        """For the result."""
        shares = [len(latencies) for latencies in self.latencies] or [0]
        every = [seconds for latencies in self.latencies for seconds in latencies]
        found: dict[str, Any] = {
            "callers": self.callers,
            "calls": self.calls,
            "per_second": round(self.per_second, 1),
            "lost": len(self.lost),
            "fewest_per_caller": min(shares),
            "most_per_caller": max(shares),
            "fairness": round(min(shares) / max(shares), 3) if max(shares) else 0.0,
        }
        if every:
            found["p50_s"] = round(timing.quantile(every, 0.50), 6)
            found["p99_s"] = round(timing.quantile(every, 0.99), 6)
        if self.lost:
            found["first_lost"] = self.lost[0]
        return found


async def measure(
    sandboxes: Mapping[str, Sandbox], image: str, window_s: float, tell: timing.Tell
) -> dict[str, dict[str, Any]]:
    """For each kind its throughput with one caller and with sixteen; under `docker run --rm` the best of a few."""
    name = latency.DOCKER_RUN
    calls = {kind: work.at_the_seam(sandbox) for kind, sandbox in sandboxes.items()}
    crowds = {(kind, callers): Crowd(callers) for kind in calls for callers in (1, CALLERS)}
    if not baselines.missing_engine(image):
        calls[name] = baselines.program(name, baselines.docker_run(image), beside_others=True)
        crowds |= {(name, callers): Crowd(callers) for callers in DOCKER_RUNS}
    for kind in sandboxes:
        for _ in range(2):  # before anything is counted, so that as many workers run as will
            await window(Crowd(CALLERS), calls[kind], 0.0)
    for turn in range(TURNS):
        for (kind, callers), crowd in crowds.items():
            tell(f"{callers} at once, {kind}, turn {turn + 1} of {TURNS}")
            await anyio.sleep(timing.SETTLE_S)
            await window(crowd, calls[kind], window_s)
    rivals = [crowd for (kind, _), crowd in crowds.items() if kind == name]
    best = max((crowd.per_second for crowd in rivals), default=0.0)
    found: dict[str, dict[str, Any]] = {name: {str(crowd.callers): crowd.figures() for crowd in rivals}}
    for kind in sandboxes:
        one, many = crowds[kind, 1], crowds[kind, CALLERS]
        found[kind] = {
            "one": one.figures(),
            "many": many.figures(),
            "times_one_caller": _times(many, one.per_second),
            "times_docker_run": _times(many, best),
        }
    return found


async def window(crowd: Crowd, call: timing.Call, seconds: float) -> None:
    """Lets every caller call once, and again until the time is over; each call is waited for to its end."""
    latencies: list[list[float]] = [[] for _ in range(crowd.callers)]
    watch = timing.Stopwatch()

    async def caller(own: list[float]) -> None:
        while True:
            try:
                own.append(await call())
            except FAILURES as failed:
                crowd.lost.append(str(failed))
                await anyio.sleep(timing.SETTLE_S)
            if watch.seconds >= seconds:
                return

    async with anyio.create_task_group() as tasks:
        for own in latencies:
            tasks.start_soon(caller, own)
    crowd.seconds += watch.seconds
    before = crowd.latencies or [[] for _ in latencies]
    crowd.latencies = [old + new for old, new in zip(before, latencies, strict=True)]


def _times(ours: Crowd, per_second: float) -> float | None:
    return round(ours.per_second / per_second, 2) if per_second else None
