"""`make bench NAME=retrieval`: quality of the search for tools on needs with known right tools.

With `--fit` the weights of its certainty are fitted to what was right, over all sets of a folder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.models.embedder_choice import search_embedder
from alita_mcp.settings import read_settings
from benchmarks.retrieval import asking, fitting

PER_TOOL = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    add = parser.add_argument
    add("--catalogue", metavar="FILE", type=Path, help="JSON lines, one tool each")
    add("--queries", metavar="FILE", type=Path, help="JSON lines, one need each with the tools that serve it")
    add("--outside", metavar="FILE", type=Path, help="JSON lines, needs that no tool serves")
    add("--examples", metavar="FILE", type=Path, help="JSON lines, example requests with their tools")
    add(
        "--per-tool",
        metavar="K",
        type=_at_least_one,
        help=f"example requests given to each tool (default: {PER_TOOL})",
    )
    add(
        "--duplicates",
        metavar="FILE",
        type=Path,
        help="instead of queries: tools about to be made, and those that they are or resemble",
    )
    add("--rankings", metavar="FILE", type=Path, help="where to write one JSON line for each query")
    add("--embedder", metavar="NAME", help="`none`: by words (default: ALITA_EMBEDDER)")
    add("--sets", metavar="FOLDER", type=Path, help="instead of single files: a folder of sets")
    add("--fit", action="store_true", help="fit the weights of the certainty to what was right")
    add("--weights", metavar="FILE", type=Path, help="where --fit writes (default: into the package)")


def run(options: argparse.Namespace) -> dict[str, object]:
    """The figures of each set and their means.

    Raises:
        UsageError: the options or a file do not fit.
        ModelError: the embedder gives no vectors.
    """
    _check(options)
    settings = read_settings()
    embedder = search_embedder(
        settings.model_copy(update={"embedder": options.embedder or settings.embedder})
    )
    asked = anyio.run(partial(asking.ask_all, _sets(options), embedder))
    if options.rankings:
        _write(options.rankings, asked)
    if options.fit:
        if embedder is not None:  # one certainty for searches of both kinds
            asked += anyio.run(partial(asking.ask_all, _sets(options), None))
        return {"fitted": fitting.fit_and_write(asked, options.weights or fitting.SHIPPED)}
    return asking.pairs_summary(asked[0]) if options.duplicates else asking.summary(asked)


def table(result: dict[str, Any]) -> str:
    """The figures as a reader wants them."""
    if "fitted" in result:
        return json.dumps(result["fitted"], indent=2)
    sets: dict[str, dict[str, Any]] = result["sets"]
    columns = list(dict.fromkeys(name for figures in sets.values() for name in figures))
    lines = [["set", *columns]] + [
        [name, *(_shown(figures.get(column)) for column in columns)]
        for name, figures in {**sets, **({"mean": result["mean"]} if result["mean"] else {})}.items()
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _shown(value: float | int | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _check(options: argparse.Namespace) -> None:
    """Before a minute's work, not after it."""
    if options.per_tool and not options.examples:
        raise UsageError("--per-tool goes with --examples.")
    if options.weights and not options.fit:
        raise UsageError("--weights goes with --fit.")
    if options.duplicates and (options.fit or options.sets or options.examples):
        raise UsageError("--duplicates goes with --catalogue alone.")
    if options.rankings and not options.rankings.resolve().parent.is_dir():
        raise UsageError(f"There is no folder for {options.rankings}.")


def _sets(options: argparse.Namespace) -> list[asking.Set]:
    per_tool = options.per_tool or PER_TOOL
    if options.sets:
        return asking.sets_in(options.sets, options.examples, per_tool)
    if options.duplicates and options.catalogue:
        return [asking.read_pairs(options.catalogue, options.duplicates)]
    given = _given(options)
    return [asking.read_set(given.catalogue, given.queries, given.outside, given.examples, per_tool)]


def _given(options: argparse.Namespace) -> argparse.Namespace:
    if options.catalogue is None or options.queries is None:
        raise UsageError("--catalogue and --queries are needed.", hint="Or --sets with a folder of sets.")
    return options


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1")
    return int(text)


def _write(path: Path, asked: Sequence[asking.AskedSet]) -> None:
    shown = {"id", "names", "scores", "probability", "band"}
    answers = [answered for each in asked for answered in (*each.answered, *each.outside)]
    lines = [json.dumps(answered.model_dump(include=shown), ensure_ascii=False) for answered in answers]
    try:
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except (OSError, UnicodeError) as failure:
        raise UsageError(f"The rankings cannot be written to {path}: {failure}.") from failure
