"""`alita suggest`: lists what ran often, failed often or was searched for in vain, and the command for the tool."""

from __future__ import annotations

import argparse
import json
import shlex
from typing import TYPE_CHECKING, Any

import anyio

from alita_mcp.cli.commands import Family
from alita_mcp.cli.opened import opened_app, opened_library
from alita_mcp.cli.output import Output, columns
from alita_mcp.errors import AlitaError, UsageError
from alita_mcp.settings import read_settings

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.app.runs.recurring import Mended, Recurring
    from alita_mcp.library.journal.gaps import Gap
    from alita_mcp.library.runs.code_runs import CodeRuns
    from alita_mcp.settings import Settings
    from alita_mcp.synthesis.requests.outcomes import Outcome

    Found = tuple[list[Recurring], list[Mended]]

SUFFICE = 3
"""So many different calls of a pure function are enough for a tool that nobody looks at before."""
NO_VALUES = (
    "Only the shapes of runs are kept, so no tool can be made of them here. Set ALITA_KEEP_VALUES=true for the server "
    "to have code, arguments and results of later runs kept on the disk."
)


def add_commands(family: Family) -> None:
    """Declares `suggest`."""
    add = family.add(
        "suggest", suggest, "what ran often, failed often or was missed, and the command for a tool"
    ).add_argument
    add("--limit", type=_count, default=10, metavar="N", help="so many of each kind (10)")
    add("--auto", action="store_true", help="make those tools whose examples suffice")
    add("--max-tools", type=_count, default=5, metavar="N", help="with --auto: at most (5)")
    add("--max-seconds", type=_count, default=300, metavar="S", help="with --auto: stop after (300)")
    add("--forget", action="store_true", help="remove all runs that are kept")


async def suggest(options: argparse.Namespace, output: Output) -> int:
    """Shows what could become a tool, makes it, or forgets it."""
    from alita_mcp.library.runs.code_runs import open_code_runs

    if options.auto and options.forget:
        raise UsageError("--auto and --forget exclude one another.")
    settings = read_settings()
    async with open_code_runs(settings) as runs:
        if options.forget:
            count = await runs.drop_all()
            output.result({"forgotten": count}, f"{count} runs forgotten.")
        elif options.auto:
            await _make_tools(await _recurring(runs, settings), options, output)
        else:
            await _show(await _recurring(runs, settings), settings, options.limit, output)
    return 0


async def _recurring(runs: CodeRuns, settings: Settings) -> Found:
    from alita_mcp.app.runs.recurring import find_recurring

    return await anyio.to_thread.run_sync(find_recurring, runs, settings.suggest_after)


async def _show(found: Found, settings: Settings, limit: int, output: Output) -> None:
    from alita_mcp.cli.library.missing import gaps_in

    often, mended = found[0][:limit], found[1][:limit]
    async with opened_library(settings) as library:
        gaps = [gap for gap in await gaps_in(library, limit) if not gap.now]
    value = {
        "often": [_with_command(each, _from_runs(each)) for each in often],
        "mended": [_with_command(each, _mending_run(each)) for each in mended],
        "missing": [_with_command(gap, _command("--description", gap.need)) for gap in gaps],
    }
    output.result(value, _in_words(often, mended, gaps))
    if not (often or mended or gaps):
        output.note("Nothing came back yet, and no search found nothing.")
    _note_missing_values(often, output)


async def _make_tools(found: Found, options: argparse.Namespace, output: Output) -> None:
    """Makes the tools whose examples suffice, one after the other, within the budget."""
    often, _ = found
    enough = [each for each in often if each.pure and each.examples >= SUFFICE and not each.tool]
    outcomes: list[Any] = []
    if enough:
        async with opened_app() as app:
            with anyio.move_on_after(options.max_seconds) as budget:
                for each in enough[: options.max_tools]:
                    outcomes += [await _made(app, each, output)]
        if budget.cancelled_caught:
            output.note(f"Stopped after {options.max_seconds} seconds (--max-seconds).")
    if output.as_json:
        output.result(outcomes, "")
    few = (
        f"{len(often) - len(enough)} others do not show enough ({SUFFICE} different calls of a pure function)"
    )
    output.note(f"{len(outcomes)} of {len(enough)} tried; {few} or are made.")
    _note_missing_values(often, output)


async def _made(app: App, each: Recurring, output: Output) -> Outcome | dict[str, str]:
    """The outcome of one synthesis, printed at once."""
    from alita_mcp.cli.library.making import in_words, make

    try:
        outcome = await make(app, {"from_run": list(each.runs)}, output)
    except AlitaError as failed:
        output.note(f"{each.signature}: {failed}")
        return {"status": "failed", "reason": str(failed)}
    if not output.as_json:
        output.result(outcome, f"{each.signature}\n  {in_words(outcome)}")
    return outcome


def _note_missing_values(often: list[Recurring], output: Output) -> None:
    if any(not each.runs and not each.tool for each in often):
        output.note(NO_VALUES)


def _in_words(often: list[Recurring], mended: list[Mended], gaps: list[Gap]) -> str:
    parts = [
        ("Ran often:", [_recurring_lines(each) for each in often]),
        ("Failed and was mended:", [_mended_lines(each) for each in mended]),
        ("Searched for in vain:", [_gap_lines(gap) for gap in gaps]),
    ]
    return "\n\n".join("\n".join([title, *lines]) for title, lines in parts if lines)


def _recurring_lines(each: Recurring) -> str:
    said = each.signature or f"({each.why_not})"
    head = columns([(f"{each.times}x", each.last[:10], f"{each.inputs} different inputs", said)])
    if each.tool:
        return f"  {head}\n    made: {each.tool}"
    return f"  {head}\n    {_from_runs(each)}" if each.runs else f"  {head}"


def _mended_lines(each: Mended) -> str:
    change = f"mended by {each.change}" if each.change else "mended by another run"
    head = columns([(f"{each.times}x", each.error_type, change)])
    return f"  {head}\n    {_mending_run(each)}" if each.change else f"  {head}"


def _gap_lines(gap: Gap) -> str:
    return f"  {gap.times}x  {gap.last[:10]}  {gap.need}\n    {_command('--description', gap.need)}"


def _from_runs(each: Recurring) -> str:
    if each.tool or not each.runs:
        return ""
    return _command(*(word for run in each.runs for word in ("--from-run", run)))


def _mending_run(each: Mended) -> str:
    return _command("--from-run", each.run) if each.change else ""


def _command(*words: str) -> str:
    return shlex.join(["alita", "synthesize", *words])


def _with_command(each: Recurring | Mended | Gap, command: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(each.model_dump_json())
    return value | {"command": command}


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:7]) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to 100000")
    return int(text)
