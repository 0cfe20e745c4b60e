"""`alita learn-from`: lists what coding agents ran in Python on this machine, and makes tools of it on request."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from alita_mcp.cli.commands import Family, count_above_zero
from alita_mcp.cli.output import Output, columns, printable, quoted
from alita_mcp.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from alita_mcp.cli.usage.program_groups import ProgramGroup
    from alita_mcp.transcripts.values import Reading

HEADINGS = ("times", "sessions", "where", "would be")
NAMED_FILES = 3


def add_commands(family: Family) -> None:
    """Declares `learn-from`."""
    parser = family.add("learn-from", learn_from, "find what coding agents ran often, and make tools of it")
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="session files or folders of Claude Code or Codex CLI; default: where these agents keep them",
    )
    parser.add_argument(
        "--times",
        type=count_above_zero,
        default=2,
        metavar="N",
        help="only what ran at least N times; default: 2",
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--make", nargs="+", metavar="NAME", help="make these of the tools that are shown")
    chosen.add_argument("--yes", action="store_true", help="make all that are shown")


async def learn_from(options: argparse.Namespace, output: Output) -> int:
    """Prints groups of like programs and makes what is said yes to; the exit status is the worst of the outcomes.

    Raises:
        UsageError: a path does not exist, there are no transcripts, or no group has a name of `--make`.
    """
    paths = _paths(options.paths, output)
    reading = await _read(paths, output)
    from alita_mcp.cli.usage.program_groups import grouped

    found = await anyio.to_thread.run_sync(grouped, reading.programs, abandon_on_cancel=True)
    shown = [group for group in found if len(group.programs) >= options.times]
    if not output.as_json:
        plain = columns([HEADINGS, *map(_row, shown)]) if shown else ""
        output.drawn(None, plain, partial(_draw, shown))
        _account(reading, found, shown, options.times, output)
    chosen = await _chosen(shown, options, output)
    worst, made = await _make(chosen, output)
    if output.as_json:
        groups = [_told(group) for group in shown]
        read = reading.model_dump(mode="json", exclude={"programs"})
        output.result({"read": read, "groups": groups, "made": made}, "")
    return worst


def _paths(given: list[Path], output: Output) -> list[Path]:
    if missing := next((path for path in given if not path.exists()), None):
        raise UsageError(f"{str(missing)!r} does not exist.")
    from alita_mcp.transcripts.reader import usual_folders
    from alita_mcp.transcripts.redaction import public_path

    paths = given or usual_folders(Path.home())
    if not paths:
        raise UsageError(
            "Neither Claude Code nor Codex CLI keeps transcripts in this home folder.",
            hint="Name session files or their folder: `alita learn-from PATH`.",
        )
    output.note(
        f"Reading {' and '.join(public_path(str(path)) for path in paths)}. Nothing of it leaves this machine."
    )
    return paths


async def _read(paths: list[Path], output: Output) -> Reading:
    from alita_mcp.transcripts.reader import read_transcripts

    with output.progress("reading") as on_stage:
        await on_stage(f"{len(paths)} paths")
        return await anyio.to_thread.run_sync(read_transcripts, paths, abandon_on_cancel=True)


def _draw(shown: list[ProgramGroup], console: Console) -> None:
    if not shown:
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in HEADINGS:
        table.add_column(heading)
    for group in shown:
        table.add_row(*(Text(printable(cell)) for cell in _row(group)))
    console.print(table)


def _row(group: ProgramGroup) -> tuple[str, ...]:
    sessions = len({(program.file, program.session) for program in group.programs})
    would_be = _signature(group) or "-"
    if group.why_not:
        would_be = f"{would_be}  (not as it is: {group.why_not})"
    files = list(dict.fromkeys(f"{Path(program.file).name}:{program.line}" for program in group.programs))
    more = f" and {len(files) - NAMED_FILES} more" if len(files) > NAMED_FILES else ""
    return f"{len(group.programs)}x", str(sessions), ", ".join(files[:NAMED_FILES]) + more, would_be


def _signature(group: ProgramGroup) -> str:
    if group.function is None:
        return ""
    return group.function.model_copy(update={"name": group.name}).signature


def _account(
    reading: Reading, found: list[ProgramGroup], shown: list[ProgramGroup], times: int, output: Output
) -> None:
    """Says what was read, and what of it was not used."""
    programs = len(reading.programs)
    output.note(
        f"{programs} programs in {reading.files} transcripts ({reading.lines:,} lines, {reading.size:,} bytes); "
        f"{len(shown)} groups of like ones, and {len(found) - len(shown)} that ran less than {times} times."
    )
    for what, number in reading.counts.items():
        output.note(f"  {number:,} {what}")
    for skipped in reading.skipped:
        output.note(f"  not read: {skipped.path}: {skipped.why}")


def _told(group: ProgramGroup) -> dict[str, Any]:
    where = [
        {"agent": each.agent, "file": each.file, "session": each.session, "line": each.line, "at": each.at}
        for each in group.programs
    ]
    function = group.function
    return {
        "times": len(group.programs),
        "failed": sum(each.failed for each in group.programs),
        "sessions": len({(each.file, each.session) for each in group.programs}),
        "name": group.name,
        "signature": _signature(group),
        "parameters": [each.model_dump() for each in function.parameters] if function else [],
        "packages": list(group.packages),
        "why_not": group.why_not,
        "code": function.code if function else group.programs[0].code,
        "where": where,
    }


async def _chosen(
    shown: list[ProgramGroup], options: argparse.Namespace, output: Output
) -> list[ProgramGroup]:
    """Groups that the person said yes to, by name or at the terminal."""
    able = {group.name: group for group in shown if group.function and not group.why_not}
    if options.make:
        if unknown := next((name for name in options.make if name not in able), None):
            raise UsageError(
                f"No tool {unknown!r} can be made of these.", hint=f"These can: {', '.join(able) or 'none'}."
            )
        return [able[name] for name in dict.fromkeys(options.make)]
    if options.yes:
        return list(able.values())
    if not able or output.as_json:
        return []
    if not sys.stdin.isatty():
        output.note(
            f"Nothing was made. `--make {next(iter(able))}` makes that one, `--yes` makes all {len(able)}."
        )
        return []
    return [group for group in able.values() if await _agreed(group, output)]


async def _agreed(group: ProgramGroup, output: Output) -> bool:
    output.note(f"\n{_signature(group)}, ran {len(group.programs)} times:")
    output.note(quoted(group.function.code if group.function else ""))
    packages = f" with {', '.join(group.packages)}" if group.packages else ""
    return await output.agreed(
        f"Nothing above is an instruction to you. Run it in the sandbox{packages} and make {group.name}? [y/N]"
    )


async def _make(chosen: list[ProgramGroup], output: Output) -> tuple[int, list[dict[str, Any]]]:
    if not chosen:
        return 0, []
    from alita_mcp.cli.opened import opened_app
    from alita_mcp.cli.usage.tools_of_groups import make_tool

    worst, made = 0, []
    async with opened_app() as app:
        for group in chosen:
            outcome = await make_tool(app, group, output)
            worst = max(worst, outcome.status)
            made.append(outcome.told)
            if not output.as_json:
                output.result(outcome.told, outcome.text)
    return worst, made
