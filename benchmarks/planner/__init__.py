"""`alita bench planner`: failures and costs of searched plans, against plain ReAct and the best of k plans.

Each agent lives in the same scripted worlds, with the same noisy model and the same outcomes. Tools fail, lie (they
report success with a wrong result, which only the check finds out), cost money and time, and change while the world
lasts. Constants were chosen in the worlds of seeds 1 to 100; the default seeds begin at 1,000.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alita_mcp.agent.planning.search import SearchConfig
from benchmarks.planner.agents import BUDGET, Agent, Attempt, best_of_k, react, searching
from benchmarks.planner.worlds import PLANS, TASKS, World

PLANNER = "planner"
RESAMPLED = 2_000
MEASURES = ("solved", "failed_steps", "usd", "seconds", "steps")


def compared_agents() -> dict[str, Agent]:
    """The compared agents, ours first."""
    return {
        PLANNER: searching(SearchConfig(budget=BUDGET)),
        "react": react,
        "react, no retries": lambda world: react(world, 0),
        "best of k": best_of_k,
        "values off": searching(SearchConfig(budget=BUDGET, learned=False)),
        "search off": searching(SearchConfig(budget=BUDGET, simulations=0)),
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument("--worlds", type=int, default=240, metavar="N", help="how many; default: 240")
    parser.add_argument("--seed", type=int, default=1_000, metavar="S", help="of the first; default: 1000")
    parser.add_argument(
        "--noise", type=float, default=0.2, metavar="X",
        help="standard deviation of the model's mistakes about chances; default: 0.2",
    )  # fmt: skip


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All agents in all worlds, the differences to ours with their intervals."""
    worlds = [World(options.seed + at, options.noise) for at in range(max(2, options.worlds))]
    lived: dict[str, list[list[Attempt]]] = {}
    took: dict[str, float] = {}
    for name, agent in compared_agents().items():
        begun = time.perf_counter()
        lived[name] = [agent(world) for world in worlds]
        took[name] = time.perf_counter() - begun
    parts = {
        "all tasks": [list(range(TASKS)) for _ in worlds],
        "first half of each world": [list(range(TASKS // 2)) for _ in worlds],
        "second half of each world": [list(range(TASKS // 2, TASKS)) for _ in worlds],
        "first plan right": [[at for at in range(TASKS) if world.first_is_right(at)] for world in worlds],
        "first plan not right": [
            [at for at in range(TASKS) if not world.first_is_right(at)] for world in worlds
        ],
    }
    return {
        "worlds": len(worlds), "seed": options.seed, "noise": options.noise, "tasks": TASKS, "plans": PLANS,
        "parts": {name: compared(lived, chosen) for name, chosen in parts.items()}, "took_s": took,
    }  # fmt: skip


def compared(
    lived: Mapping[str, Sequence[Sequence[Attempt]]], chosen: Sequence[Sequence[int]]
) -> dict[str, Any]:
    """Means of some tasks of each world by agent, and ours minus each other's with 95 % bootstrap intervals.

    Worlds are drawn with replacement, 2,000 times; a world weighs as many tasks as were chosen of it.
    """
    sums = {
        name: np.array(
            [[_sum(world, at, each) for each in MEASURES] for world, at in zip(worlds, chosen, strict=True)]
        )
        for name, worlds in lived.items()
    }
    counts = np.array([len(tasks) for tasks in chosen], dtype=float)
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, len(counts), (RESAMPLED, len(counts)))
    weights = np.maximum(1, counts[drawn].sum(axis=1))
    found: dict[str, Any] = {"tasks": int(counts.sum()), "agents": {}}
    for name, own in sums.items():
        means = dict(zip(MEASURES, map(float, own.sum(axis=0) / max(1, counts.sum())), strict=True))
        difference = sums[PLANNER] - own
        resampled = difference[drawn].sum(axis=1) / weights[:, None]
        low, high = np.percentile(resampled, [2.5, 97.5], axis=0)
        mean = difference.sum(axis=0) / max(1, counts.sum())
        found["agents"][name] = {
            "mean": means,
            "planner_minus": {
                each: [float(mean[at]), float(low[at]), float(high[at])] for at, each in enumerate(MEASURES)
            },
        }
    return found


def _sum(world: Sequence[Attempt], tasks: Sequence[int], measure: str) -> float:
    return float(sum(getattr(world[task], measure) for task in tasks))


def table(result: dict[str, Any]) -> str:
    """The figures as a reader wants them."""
    shape = f"{result['tasks']} tasks each, {result['plans']} plans, noise {result['noise']}"
    lines = [
        f"{result['worlds']} worlds from seed {result['seed']}, {shape}; ours minus each other's, 95 % intervals"
    ]
    for part, found in result["parts"].items():
        lines += ["", f"{part}: {found['tasks']} tasks"]
        lines.append(f"{'':18}" + "".join(f"{each:>40}" for each in MEASURES))
        for name, agent in found["agents"].items():
            cells = []
            for each in MEASURES:
                mean, low, high = agent["planner_minus"][each]
                beside = "" if name == PLANNER else f" ({mean:+.3f} {low:+.3f} … {high:+.3f})"
                cells.append(f"{agent['mean'][each]:.3f}{beside}")
            lines.append(f"{name:18}" + "".join(f"{cell:>40}" for cell in cells))
    return "\n".join(lines)
