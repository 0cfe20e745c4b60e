"""Declares `alita solve` and `alita runs` on the parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from alita_mcp.cli.commands import Family, count_above_zero, in_event_loop
from alita_mcp.cli.tasks.listing import show_runs
from alita_mcp.cli.tasks.solving import solve


def add_commands(family: Family) -> None:
    """Declares the two commands."""
    work = family.add("solve", in_event_loop(solve), "let the configured model work on a task")
    work.add_argument("task", nargs="?", metavar="TASK", help="in plain words")
    work.add_argument(
        "--file",
        action="append",
        type=Path,
        metavar="PATH",
        dest="files",
        help="a file or folder that it is about; repeatable",
    )
    work.add_argument(
        "--host", action="append", metavar="HOST", dest="hosts", help="a host that it may read; repeatable"
    )
    _budget_options(work)
    work.add_argument("--plans", type=whole, metavar="K", help="how many plans to choose from; 0: none")
    work.add_argument(
        "--no-memory", action="store_true", help="neither recall earlier tasks nor remember this one"
    )
    asks = work.add_mutually_exclusive_group()
    asks.add_argument("--yes", action="store_true", help="ask nothing, whatever it is likely to cost")
    asks.add_argument("--confirm", action="store_true", help="ask before work begins")
    runs = family.add("runs", in_event_loop(show_runs), "list the tasks that were worked on, or show one")
    runs.add_argument(
        "run", metavar="ID", nargs="?", help="of a run, or its beginning: show what happened in it"
    )
    runs.add_argument(
        "--limit", type=count_above_zero, default=20, metavar="N", help="list the newest N; default 20"
    )
    runs.add_argument("--follow", action="store_true", help="with an ID: go on until the run ends")


def _budget_options(work: argparse.ArgumentParser) -> None:
    work.add_argument("--max-steps", type=count_above_zero, metavar="N", help="stop after so many steps")
    work.add_argument(
        "--max-tokens", type=whole, metavar="N", help="stop after so many tokens; 0: any number"
    )
    work.add_argument(
        "--max-usd", type=amount, metavar="X", help="stop when models cost so much; 0: anything"
    )
    work.add_argument(
        "--max-seconds", type=amount, metavar="S", help="stop after so many seconds; 0: any number"
    )


def _number(read: Callable[[str], float], text: str) -> float:
    try:
        number = read(text)
    except ValueError:
        number = -1
    if not 0 <= number < 1e12:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return number


def whole(text: str) -> int:
    """Reads `0` or `500000`."""
    return int(_number(int, text))


def amount(text: str) -> float:
    """Reads `0` or `0.5`."""
    return _number(float, text)
