"""`alita bench grow`: whether repeated programs are noticed and become a tool that behaves like them.

Each group's scripts run through the flow of `run_code`. A tool is asked for from these runs. Then it is called with the
values of new scripts of the group, which run beside it: any other result is a wrong tool. The goal is none.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.app import open_app
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import read_settings
from benchmarks.grow import groups, trial

Trials = list[dict[str, Any]]
COUNTS = (
    "groups", "noticed", "made", "provisional", "verified", "verified_once_confirmed", "compared", "refused",
    "wrong_tools",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument(
        "--programs", type=Path, nargs="+", required=True, metavar="FILE", help="JSON lines with code, input"
    )
    parser.add_argument("--groups", type=int, default=100, metavar="N", help="so many; default: 100")
    parser.add_argument(
        "--seen", type=int, default=4, metavar="N", help="scripts a tool is made of; default: 4"
    )
    parser.add_argument(
        "--new", type=int, default=6, metavar="N", help="scripts it is compared on; default: 6"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the values; default: 1")
    parser.add_argument("--sandbox", metavar="KIND", help="default: as ALITA_SANDBOX says")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Runs all groups, and returns the result of each.

    Raises:
        UsageError: a file is not what it should be.
    """
    wanted = list(groups.groups_of(options.programs, options.groups, options.seen, options.new, options.seed))
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ours: dict[str, Any] = {"home": home, "policy": "ask", "learn": False}
        ours |= {"sandbox": options.sandbox} if options.sandbox else {}
        settings = read_settings().model_copy(update=ours)
        trials: Trials = anyio.run(_tried, settings, wanted)
    return {
        "sandbox": settings.sandbox,
        "groups": trials,
        "all": _counted(trials),
        "by_shape": _by_shape(trials),
    }


async def _tried(settings: Any, wanted: Sequence[Any]) -> Trials:
    async with open_app(settings, admit=admit) as app:
        return [await trial.tried(app, group, number) for number, group in enumerate(wanted, 1)]


def _by_shape(trials: Trials) -> dict[str, Any]:
    return {
        shape: _counted([each for each in trials if each["shape"] == shape])
        for shape in dict.fromkeys(each["shape"] for each in trials)
    }


def _counted(trials: Trials) -> dict[str, Any]:
    made = [each for each in trials if each["tool"]]
    return {
        "groups": len(trials),
        "noticed": sum(each["noticed"] for each in trials),
        "made": len(made),
        "provisional": sum(each["trust"] == "provisional" for each in made),
        "verified": sum(each["trust"] == "verified" for each in made),
        "verified_once_confirmed": sum(each["confirmed"] == "verified" for each in made),
        "compared": sum(each["compared"] for each in made),
        "refused": sum(each["refused"] for each in made),
        "wrong_tools": sum(bool(each["differs"]) for each in made),
        "why_not": dict(Counter(each["why"] for each in trials if each["why"]).most_common(8)),
    }


def table(result: dict[str, Any]) -> str:
    """The counts as a reader wants them."""
    columns = {"all": result["all"], **result["by_shape"]}
    lines = [f"{'':26}" + "".join(f"{name:>12}" for name in columns)]
    lines += [
        f"{field.replace('_', ' '):26}" + "".join(f"{each[field]:>12}" for each in columns.values())
        for field in COUNTS
    ]
    lines += [f"not made, {count}: {why}" for why, count in result["all"]["why_not"].items()]
    lines += [f"WRONG {each['tool']}: {each['differs'][0]}" for each in result["groups"] if each["differs"]]
    goal = "met" if not result["all"]["wrong_tools"] else "NOT met"
    return "\n".join([*lines, f"Goal: no tool gives another result than the programs it came from: {goal}."])
