"""`alita memory`: lists, shows, exports and, once a person agrees, forgets the memories of tasks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from alita_mcp.cli.commands import Family, count_above_zero
from alita_mcp.cli.output import Output, columns, compact, require_terminal
from alita_mcp.errors import Cancelled, UsageError
from alita_mcp.settings import read_settings

if TYPE_CHECKING:
    from alita_mcp.agent.memory.records import MemoryEntry
    from alita_mcp.agent.memory.store import StoredMemory

KINDS = ("episodic", "semantic", "procedural")
SHOWN = 10
"""So many of the memories that would be forgotten are shown."""


def add_commands(family: Family) -> None:
    """Declares `memory`."""
    add = family.add(
        "memory", memory, "list, show, export or forget what earlier tasks left for later ones"
    ).add_argument
    add(
        "action",
        choices=["list", "show", "forget", "export"],
        nargs="?",
        default="list",
        help="show: one memory, by its id; forget: those named, found or all; export: to a file",
    )
    add("names", metavar="ID", nargs="*", help="ids of memories; for export the file")
    add(
        "--kind",
        choices=KINDS,
        help="only runs (episodic), facts and lessons (semantic) or recipes (procedural)",
    )
    add("--limit", type=count_above_zero, default=50, metavar="N", help="list so many (50)")
    add("--query", default="", metavar="WORDS", help="list or forget what has all these words")
    add("--all", action="store_true", dest="everything", help="forget everything, or all of a kind")
    add("--yes", action="store_true", help="forget without being asked")


async def memory(options: argparse.Namespace, output: Output) -> int:
    """Does what was asked for with the memory of the home."""
    from alita_mcp.agent.memory.store import StoredMemory

    _check(options)
    stored = StoredMemory(read_settings().home)
    if options.action == "show":
        entry = await stored.show(options.names[0])
        output.result(entry, f"{_rows([entry])}\n{compact(entry.value)}")
    elif options.action == "export":
        count = await stored.export(Path(options.names[0]), options.kind)
        output.result({"exported": count}, f"{count} memories written to {options.names[0]}.")
    elif options.action == "forget":
        await _forget(stored, options, output)
    else:
        await _list(stored, options, output)
    return 0


def _check(options: argparse.Namespace) -> None:
    """Refuses words that do not fit the action."""
    count, action = len(options.names), options.action
    chosen = [bool(options.names), bool(options.query.strip()), options.everything]
    if action in ("show", "export") and count != 1:
        raise UsageError(f"alita memory {action} needs one {'id' if action == 'show' else 'file'}.")
    if action == "forget" and sum(chosen) != 1:
        raise UsageError("alita memory forget needs ids, --query WORDS or --all, one of the three.")
    if action == "list" and count:
        raise UsageError("alita memory list takes no ids.", hint="`alita memory show ID` shows one.")


async def _list(stored: StoredMemory, options: argparse.Namespace, output: Output) -> None:
    found = await stored.list(options.kind, options.query.strip())
    shown = found[: options.limit]
    output.result(shown, _rows(shown))
    if not output.as_json and len(found) > len(shown):
        output.note(f"{len(found) - len(shown)} more; --limit shows them.")
    elif not found:
        output.note("Nothing is remembered.")


async def _forget(stored: StoredMemory, options: argparse.Namespace, output: Output) -> None:
    if options.names:
        found = [await stored.show(name) for name in dict.fromkeys(options.names)]
    else:
        found = list(await stored.list(options.kind, options.query.strip()))
    if found and not options.yes:
        await _ask(found, output)
    wipes = options.everything and options.kind is None  # what was set aside as damaged goes too
    count = await stored.forget([entry.id for entry in found], everything=wipes)
    output.result({"forgotten": count}, f"{count} forgotten.")


async def _ask(found: Sequence[MemoryEntry], output: Output) -> None:
    """Goes on when a person says yes at the terminal; else raises Cancelled."""
    require_terminal(".", f"Add --yes to forget {len(found)} memories.")
    output.note(_rows(found[:SHOWN]))
    if len(found) > SHOWN:
        output.note(f"and {len(found) - SHOWN} more")
    if not await output.agreed(f"Forget {len(found)}? [y/N] "):
        raise Cancelled("Nothing was forgotten.")


def _rows(entries: Sequence[MemoryEntry]) -> str:
    return columns([(entry.id, entry.kind, entry.at[:10], entry.text) for entry in entries])
