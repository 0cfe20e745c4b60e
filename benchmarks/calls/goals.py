"""Goals of the calls benchmark, compared with its measured figures, as rows and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

STDIO = 3.5
CROWD_TIMES_DOCKER_RUN = 30.0
FLAT = 0.05
"""How much the server's memory may grow over all calls and still count as flat."""
GET = 3.0
SHOWN_CHARACTERS = 100


class Promise(NamedTuple):
    """Goals that differ between sandboxes."""

    spaced: float = 1 / 60
    back_to_back: float = 1 / 40
    """Both as a share of `docker run`."""
    crowd: float = 1.5
    idle_worker_mb: float = 25.0
    warm_ms: float | None = None
    slow_import_ms: float | None = None
    """Of a tool whose import takes 20 ms, called with pauses."""
    first_call_ms: float | None = None
    """A worker's start, the import and the call."""
    is_private: bool = False
    """Whether the worker's memory is what it shares with no other process."""


PROMISES = {
    "wasm": Promise(
        spaced=1 / 40, crowd=1.3, idle_worker_mb=20.0, warm_ms=6.0, slow_import_ms=10.0, first_call_ms=300.0,
        is_private=True,
    ),
}  # fmt: skip


def promise(kind: str) -> Promise:
    """The goals of a sandbox."""
    return PROMISES.get(kind, Promise())


class Goal(NamedTuple):
    """One figure that was promised."""

    what: str
    measured: float | None
    """None: not measured."""
    goal: float
    at_most: bool
    shown: str
    """The measured value for people, with the raw medians."""
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
        found: dict[str, Any] = {
            "what": self.what,
            "measured": self.measured,
            "goal": round(self.goal, 5),
            "at_most": self.at_most,
            "met": self.met,
        }
        return found | ({"why_not": self.why_not} if self.why_not else {})


def goals(result: dict[str, Any]) -> list[Goal]:
    """Every promised figure of the parts that were asked for."""
    found: list[Goal] = []
    for kind in result["kinds"]:
        figures = result.get(kind, {})
        found += _calls(kind, figures, result.get("baselines", {}))
        found += _milliseconds(kind, figures)
        found += _crowd(kind, figures)
        found += _memory(kind, figures)
        found += _get(kind, figures)
    found += _peers(result)
    found += _stdio(result)
    return found


def table(result: dict[str, Any]) -> str:
    """All goals, then the reference figures."""
    rows = [("", "measured", "ratio", "goal", "")]
    for goal in goals(result):
        verdict = {True: "met", False: "NOT met", None: f"not measured: {_short(goal.why_not)}"}[goal.met]
        sign = "≤" if goal.at_most else "≥"
        rows.append((goal.what, goal.shown, _number(goal.measured), f"{sign} {_number(goal.goal)}", verdict))
    lines = _aligned(rows)
    lines += ["", *_reference(result), "", _ending(result)]
    return "\n".join(lines)


def _calls(kind: str, figures: dict[str, Any], baselines: dict[str, Any]) -> Iterator[Goal]:
    if "spaced" not in figures:
        return
    base, promised = baselines.get("docker run --rm", {}), promise(kind)
    for name, suffix, goal in (
        ("spaced", "", promised.spaced), ("back_to_back", "_back_to_back", promised.back_to_back),
    ):  # fmt: skip
        ours = figures[name]
        why_not = _why(ours, base)
        if fresh := figures.get(f"ratio_to_fresh_bubblewrap{suffix}"):
            why_not += f"; {fresh:.3f} of a fresh bubblewrap and interpreter"
        yield Goal(
            f"{kind}: warm call, {name.replace('_', ' ')}, against docker run",
            figures.get(f"ratio_to_docker_run{suffix}"),
            goal,
            at_most=True,
            shown=f"{_ms(ours)} / {_ms(base)}",
            why_not=why_not,
        )


def _milliseconds(kind: str, figures: dict[str, Any]) -> Iterator[Goal]:
    promised = promise(kind)
    for name, what, goal in (
        ("spaced", "warm call, ms", promised.warm_ms),
        ("back_to_back", "warm call, back to back, ms", promised.warm_ms),
        ("slow_import_spaced", "call of a tool with an import of 20 ms, ms", promised.slow_import_ms),
        ("first_call", "first call, its worker started for it, ms", promised.first_call_ms),
    ):
        ours = figures.get(name)
        if goal is not None and ours:
            measured = round(ours["median_s"] * 1e3, 2) if "median_s" in ours else None
            yield Goal(
                f"{kind}: {what}", measured, goal, at_most=True, shown=_spread(ours), why_not=_why(ours)
            )


def _crowd(kind: str, figures: dict[str, Any]) -> Iterator[Goal]:
    crowd = figures.get("crowd")
    if not crowd:
        return
    many, one = crowd["many"], crowd["one"]
    shown = f"{many['per_second']:g}/s, one {one['per_second']:g}/s"
    yield Goal(
        f"{kind}: {many['callers']} callers against one", crowd["times_one_caller"], promise(kind).crowd,
        at_most=False,
        shown=shown, why_not=one.get("first_lost", ""),
    )  # fmt: skip
    yield Goal(
        f"{kind}: {many['callers']} callers against docker run", crowd.get("times_docker_run"),
        CROWD_TIMES_DOCKER_RUN, at_most=False, shown=f"{many['per_second']:g}/s", why_not="no docker run here",
    )  # fmt: skip
    p99 = f", p99 {many['p99_s'] * 1e3:.1f} ms" if "p99_s" in many else ""
    shares = (
        f"{many['fewest_per_caller']}-{many['most_per_caller']} calls each, fairness {many['fairness']:g}"
    )
    yield Goal(f"{kind}: lost calls", many["lost"], 0, at_most=True, shown=shares + p99)


def _memory(kind: str, figures: dict[str, Any]) -> Iterator[Goal]:
    memory = figures.get("memory")
    if not memory:
        return
    one, pool, promised = memory.get("idle_worker", memory), memory.get("pool", memory), promise(kind)
    size = one.get("private_bytes" if promised.is_private else "bytes")
    each = size / one["workers"] if size and one.get("workers") else None
    measured = None if each is None else round(each / 1e6, 2)
    shown = f"{_mb(each)}; pool of {pool['workers']}: {_mb(pool['bytes'])}" if "bytes" in pool else _mb(each)
    yield Goal(
        f"{kind}: idle warm worker, {'private ' if promised.is_private else ''}MB", measured,
        promised.idle_worker_mb, at_most=True, shown=shown, why_not=one.get("missing", ""),
    )  # fmt: skip


def _get(kind: str, figures: dict[str, Any]) -> Iterator[Goal]:
    get = figures.get("small_get")
    if not get:
        return
    brokered, direct = get.get("brokered", {}), get.get("direct", {})
    yield Goal(
        f"{kind}: small GET through the broker against direct", get.get("ratio_to_direct"), GET, at_most=True,
        shown=f"{_ms(brokered)} / {_ms(direct)}", why_not=_why(get, brokered, direct),
    )  # fmt: skip


def _peers(result: dict[str, Any]) -> Iterator[Goal]:
    for name, peer in result.get("peers", {}).items():
        ours = result.get(peer["compared_with"], {}).get("spaced", {})
        yield Goal(
            f"{peer['compared_with']} against {name}", peer.get("ratio"), 1.0, at_most=True,
            shown=f"{_ms(ours)} / {_ms(peer)}", why_not=_why(peer) or "ours was not measured",
        )  # fmt: skip


def _stdio(result: dict[str, Any]) -> Iterator[Goal]:
    stdio = result.get("stdio")
    if not stdio:
        return
    noop = stdio["noop"]["spaced"]
    for kind in result["kinds"]:
        figures = stdio[kind]
        yield Goal(
            f"{kind}: tools/call over stdio against a no-op", figures["ratio_to_noop"], STDIO, at_most=True,
            shown=f"{_ms(figures['spaced'])} / {_ms(noop)}", why_not=_why(figures["spaced"], noop),
        )  # fmt: skip
        if memory := figures.get("server_memory"):
            span = f"{_mb(memory.get('start_bytes'))} → {_mb(memory.get('end_bytes'))}"
            yield Goal(
                f"{kind}: growth of the server over {memory.get('calls', 0)} calls", memory.get("growth"), FLAT,
                at_most=True, shown=span, why_not=memory.get("missing", ""),
            )  # fmt: skip


def _reference(result: dict[str, Any]) -> Iterator[str]:
    rows = [("for reference", "median (p10 - p90)", "n")]
    for name, figures in _spreads(result):
        rows.append((name, _spread(figures), str(figures.get("n", ""))))
    if len(rows) > 1:
        yield from _aligned(rows)
    for kind, why in result.get("missing", {}).items():
        yield f"{kind}: not measured: {why}"


def _spreads(result: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that was timed, by name."""
    yield from result.get("baselines", {}).items()
    sources = {f"{kind}, ": result[kind] for kind in result["kinds"]}
    sources |= {
        f"stdio, {name}, ": result.get("stdio", {}).get(name, {}) for name in ("noop", *result["kinds"])
    }
    for title, figures in sources.items():
        for way in ("spaced", "back_to_back", "slow_import_spaced", "slow_import_back_to_back", "first_call"):
            if way in figures:
                yield title + way.replace("_", " "), figures[way]
        for load, found in figures.get("compute", {}).items():
            yield f"plain CPython, {load}", found["plain"]
            yield f"{title}{load}: {_number(found['ratio'])} times plain", found["inside"]
    yield from result.get("peers", {}).items()


def _ending(result: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    return f"{result['date']}, {result['rounds']} rounds, {result['seconds']:.0f} s: {versions}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if abs(value) < 0.1 and value else f"{value:,.2f}".rstrip("0").rstrip(".")


def _ms(figures: dict[str, Any]) -> str:
    return f"{figures['median_s'] * 1e3:.2f} ms" if "median_s" in figures else "-"


def _spread(figures: dict[str, Any]) -> str:
    if "median_s" not in figures:
        return f"not measured: {_short(figures.get('missing', ''))}"
    return f"{_ms(figures)} ({figures['p10_s'] * 1e3:.2f}-{figures['p90_s'] * 1e3:.2f})"


def _short(why: str) -> str:
    """As much of a reason as fits into a row; all of it stands in the JSON."""
    words = " ".join(why.split())
    return words if len(words) <= SHOWN_CHARACTERS else f"{words[:SHOWN_CHARACTERS]}…"


def _mb(size: float | None) -> str:
    return "-" if size is None else f"{size / 1e6:.1f} MB"


def _why(*figures: dict[str, Any]) -> str:
    return next((each["missing"] for each in figures if "missing" in each), "")
