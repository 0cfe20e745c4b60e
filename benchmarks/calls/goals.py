"""Goals of the calls benchmark, compared with its measured figures, as rows and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

SHOWN_CHARACTERS = 100
GOALS: dict[str, tuple[tuple[str, str, float], ...]] = {
    "each": (
        ("16 callers against docker run", "crowd.times_docker_run", -30.0),
        ("lost calls", "crowd.many.lost", 0.0),
        ("small GET through the broker against direct", "small_get.ratio_to_direct", 3.0),
        ("tools/call over stdio against a no-op", "stdio.ratio_to_noop", 2.2),
        ("growth of the server's memory", "stdio.server_memory.growth", 0.05),
    ),
    "container": (
        ("warm call, spaced, against docker run", "ratio_to_docker_run", 1 / 60),
        ("warm call, back to back, against docker run", "ratio_to_docker_run_back_to_back", 1 / 40),
        ("16 callers against one", "crowd.times_one_caller", -1.5),
        ("idle warm worker, MB", "memory.idle_worker.mb_each", 25.0),
    ),
    "wasm": (
        ("warm call, spaced, against docker run", "ratio_to_docker_run", 1 / 40),
        ("warm call, back to back, against docker run", "ratio_to_docker_run_back_to_back", 1 / 40),
        ("warm call, s", "spaced.median_s", 0.006),
        ("warm call, back to back, s", "back_to_back.median_s", 0.006),
        ("call of a tool with an import of 20 ms, s", "slow_import_spaced.median_s", 0.010),
        ("first call, its worker started for it, s", "first_call.median_s", 0.300),
        ("16 callers against one", "crowd.times_one_caller", -1.3),
        ("idle warm worker, private MB", "memory.idle_worker.private_mb_each", 20.0),
    ),
}
"""What was promised, where it stands in a back end's figures, and at most how much; negative: at least."""


class Goal(NamedTuple):
    """One figure that was promised."""

    what: str
    measured: float | None
    """None: not measured."""
    goal: float
    at_most: bool
    why_not: str = ""
    """Why it was not measured."""

    @property
    def met(self) -> bool | None:
        """None when it was not measured."""
        if self.measured is None:
            return None
        return self.measured <= self.goal if self.at_most else self.measured >= self.goal

    def as_json(self) -> dict[str, Any]:
        """For the result."""
        return self._asdict() | {"goal": round(self.goal, 5), "met": self.met}


def goals(result: dict[str, Any]) -> list[Goal]:
    """Every promised figure of the parts that were asked for."""
    found: list[Goal] = []
    for kind in result["kinds"]:
        figures = result[kind] | {"stdio": result.get("stdio", {}).get(kind, {})}
        for what, path, limit in (*GOALS["wasm" if kind == "wasm" else "container"], *GOALS["each"]):
            value, why_not = _at(figures, path)
            if value is not None or why_not:
                found.append(Goal(f"{kind}: {what}", value, abs(limit), limit >= 0, why_not))
    return found


def _at(figures: dict[str, Any], path: str) -> tuple[float | None, str]:
    """The value at a path, and why it is missing; neither where its part was not asked for."""
    place: Any = figures
    for step in path.split("."):
        if not isinstance(place, dict) or step not in place:
            return None, place.get("missing", "") if isinstance(place, dict) else ""
        place = place[step]
    return place, "" if place is not None else "there is nothing to compare with"


def table(result: dict[str, Any]) -> str:
    """All goals, then everything that was timed."""
    rows = [("", "measured", "goal", "")]
    for goal in goals(result):
        verdict = {True: "met", False: "NOT met", None: f"not measured: {_short(goal.why_not)}"}[goal.met]
        sign = "≤" if goal.at_most else "≥"
        rows.append((goal.what, _number(goal.measured), f"{sign} {_number(goal.goal)}", verdict))
    timed = [(name, _spread(figures), str(figures.get("n", ""))) for name, figures in _timed(result)]
    lines = [*_aligned(rows), "", *_aligned([("for reference", "median (p10 - p90)", "n"), *timed])]
    lines += [f"{kind}: not measured: {why}" for kind, why in result["missing"].items()]
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return "\n".join(
        [*lines, f"{result['date']}, {result['rounds']} rounds, {result['seconds']:.0f} s: {versions}"]
    )


def _timed(place: Any, name: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every spread of the result with its path, and why one is missing."""
    if isinstance(place, dict) and ("median_s" in place or (name and "missing" in place)):
        yield name, place
    elif isinstance(place, dict):
        for key, value in place.items():
            if key not in ("missing", "memory", "server_memory", "versions"):
                yield from _timed(value, f"{name}, {key}" if name else key)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if 0 < abs(value) < 0.1 else f"{value:,.2f}".rstrip("0").rstrip(".")


def _spread(figures: dict[str, Any]) -> str:
    if "median_s" not in figures:
        return f"not measured: {_short(figures['missing'])}"
    median, low, high = (figures[key] * 1e3 for key in ("median_s", "p10_s", "p90_s"))
    return f"{median:.2f} ms ({low:.2f}-{high:.2f})"


def _short(why: str) -> str:
    """As much of a reason as fits into a row; all of it stands in the JSON."""
    words = " ".join(why.split())
    return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"
