"""`alita bench extraction`: how much of saved pages we, trafilatura alone and readability keep.

The pages were written for this benchmark, in various layouts; their author marked what is main text, which tables hold
data and which links a reader may need. Each contender gets the page without the marks.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from alita_mcp.errors import UsageError
from benchmarks.extraction import contenders, measures

PAGES = Path(__file__).with_name("pages")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument("-n", "--rounds", type=int, default=5, help="timed readings of each page; default: 5")
    parser.add_argument("--only", metavar="PAGE", nargs="+", help="names of pages; default: all")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """The figures of each page and contender.

    Raises:
        UsageError: a page is not there.
    """
    pages = sorted(PAGES.glob("*.html"))
    if options.only:
        unknown = set(options.only) - {page.stem for page in pages}
        if unknown:
            raise UsageError(f"There is no page {min(unknown)!r}.")
        pages = [page for page in pages if page.stem in options.only]
    chosen = contenders.available()
    rows = [_page(page, chosen, max(1, options.rounds)) for page in pages]
    return {"pages": rows, "all": {name: _all(rows, name) for name in chosen}}


def _page(page: Path, chosen: dict[str, Callable[[str, str], Any]], rounds: int) -> dict[str, Any]:
    url = f"https://pages.example/{page.stem}/"
    source, truth = measures.page_and_truth(page.read_text(encoding="utf-8"), url)
    figures = {name: _figures(read, source, url, truth, rounds) for name, read in chosen.items()}
    cells = sum(map(len, truth.rows))
    return {
        "page": page.stem,
        "words": len(truth.words),
        "cells": cells,
        "links": len(truth.links),
        **figures,
    }


def _figures(
    read: Callable[[str, str], Any], source: str, url: str, truth: Any, rounds: int
) -> dict[str, float]:
    kept = read(source, url)
    seconds = []
    for _ in range(rounds):
        begun = time.perf_counter()
        read(source, url)
        seconds.append(time.perf_counter() - begun)
    return {
        "f1": measures.f1_of_words(measures.words_of(kept.text), truth.words),
        "cells": measures.cells_kept(kept.rows, truth.rows),
        "links": len(kept.links & truth.links),
        "ms": statistics.median(seconds) * 1_000,
    }


def _all(rows: Sequence[dict[str, Any]], name: str) -> dict[str, float]:
    cells, links = sum(row["cells"] for row in rows), sum(row["links"] for row in rows)
    return {
        "f1": statistics.mean(row[name]["f1"] for row in rows),
        "worst_f1": min(row[name]["f1"] for row in rows),
        "cells": sum(row[name]["cells"] for row in rows) / cells if cells else 1.0,
        "links": sum(row[name]["links"] for row in rows) / links if links else 1.0,
        "ms": statistics.median(row[name]["ms"] for row in rows),
    }


def table(result: dict[str, Any]) -> str:
    """The figures in lines."""
    names = list(result["all"])
    lines = [f"{'page':<24}" + "".join(f"{name:>14} F1" for name in names)]
    lines += [
        f"{row['page']:<24}" + "".join(f"{row[name]['f1']:>17.3f}" for name in names)
        for row in result["pages"]
    ]
    lines += ["", f"{'':<14}{'F1':>8}{'worst':>8}{'cells':>8}{'links':>8}{'ms':>8}"]
    for name, total in result["all"].items():
        shares = "".join(f"{total[key]:>8.3f}" for key in ("f1", "worst_f1", "cells", "links"))
        lines.append(f"{name:<14}{shares}{total['ms']:>8.1f}")
    return "\n".join(lines)
