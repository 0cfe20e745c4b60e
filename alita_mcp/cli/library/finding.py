"""`alita search`, `list`, `show`, `log` and `tool diff`: the contents of the library, and its journal."""

from __future__ import annotations

import argparse
from difflib import unified_diff
from functools import partial
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.commands import Family, count_above_zero, tool_version
from alita_mcp.cli.library.card_view import draw, plain
from alita_mcp.cli.library.cards import evidence_card, version_text
from alita_mcp.cli.library.costing import list_usage
from alita_mcp.cli.library.missing import list_gaps
from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, columns, compact
from alita_mcp.library.trust.evidence import evidence_of

if TYPE_CHECKING:
    from alita_mcp.library.rows import CatalogueEntry, JournalRow


def add_commands(use: Family, manage: Family) -> None:
    """Declares `search`, `list`, `show` and `log`."""
    seek = use.add("search", search, "find tools by what they should do")
    seek.add_argument("query", nargs="+", metavar="WORD")
    seek.add_argument("--limit", type=count_above_zero, default=5, metavar="N")
    every = manage.add("list", list_tools, "list all tools")
    every.add_argument(
        "--usage", action="store_true", help="what their writing cost, and how often they are called"
    )
    card = manage.add("show", show, "show what a tool takes, gives and was proved to do")
    card.add_argument("name", metavar="NAME")
    card.add_argument(
        "version", type=tool_version, metavar="VERSION", nargs="?", help="default: the current one"
    )
    card.add_argument("--source", action="store_true", help="with code and tests")
    journal = manage.add("log", log, "show the journal, newest last")
    journal.add_argument("name", metavar="NAME", nargs="?", help="only what happened to this tool")
    journal.add_argument("--limit", type=count_above_zero, default=30, metavar="N")
    journal.add_argument(
        "--gaps", action="store_true", help="what was searched for in vain, the most wanted first"
    )


def add_actions(tool: Family) -> None:
    """Declares `tool diff`."""
    compared = tool.add("diff", diff, "show what changed between two versions of a tool")
    compared.add_argument("name", metavar="NAME")
    compared.add_argument("old", type=tool_version, metavar="vA")
    compared.add_argument("new", type=tool_version, metavar="vB")


async def search(options: argparse.Namespace, output: Output) -> int:
    """Prints tools, best first, and whether any really fits."""
    async with opened_library() as library:
        query = " ".join(options.query)
        answer = await library.search(query, options.limit)
        library.calls.record_search(query, answer)
    rows = [(hit.name, f"{hit.score:.2f}", hit.trust, hit.summary) for hit in answer.results]
    output.result(answer, columns(rows))
    if not output.as_json:
        says = {"match": "A match.", "possible": "Possible; look closer.", "none": "Nothing that fits."}
        output.note(f"{says[answer.fit]} {answer.total} tools searched.")
    return 0


async def list_tools(options: argparse.Namespace, output: Output) -> int:
    """Prints one line a tool."""
    if options.usage:
        return await list_usage(output)
    async with opened_library() as library:
        entries = list(library.tools.entries())
    value = [
        {
            "name": entry.name, "version": entry.manifest.version, "state": entry.state, "pinned": entry.pinned,
            "trust": entry.manifest.trust, "calls": entry.calls, "summary": entry.manifest.summary,
        }
        for entry in entries
    ]  # fmt: skip
    output.result(value, columns([_line(entry) for entry in entries]))
    if not output.as_json:
        output.note(f"{len(entries)} tools")
    return 0


def _line(entry: CatalogueEntry) -> tuple[str, ...]:
    manifest = entry.manifest
    state = "" if entry.state == "enabled" else entry.state
    approved, pinned = "" if entry.approved else "not approved", "pinned" if entry.pinned else ""
    marks = ", ".join(filter(None, (manifest.trust, state, approved, pinned)))
    return entry.name, f"v{manifest.version}", marks, f"{entry.calls} calls", manifest.summary


async def show(options: argparse.Namespace, output: Output) -> int:
    """Prints the evidence card."""
    async with opened_library() as library:
        entry = library.entry(options.name)
        stored = await library.read(options.name, options.version)
        sandboxes = library.tools.proved_in(options.name, stored.manifest.version)
        granted = library.effective_grants.of(stored.manifest)
        wordings = library.tools.wordings(options.name)
    value: dict[str, Any] = {
        "manifest": stored.manifest,
        "state": entry.state,
        "pinned": entry.pinned,
        "versions": list(entry.versions),
        "sandboxes": sorted(sandboxes),
        "granted": granted,
        "calls": entry.calls,
        "failures": entry.failures,
        "last_used": entry.last_used,
        "found_by": {
            "author": list(stored.manifest.use_when),
            "others": [each.text for each in wordings if not each.learned],
            "learned": [each.text for each in wordings if each.learned],
        },
        "report": stored.report,
        "evidence": evidence_of(stored.report, sandboxes),
    }
    if options.source:
        value["source"] = stored.code
        value["tests"] = [example.as_json() for example in stored.examples]
    proved_in = tuple(sorted(sandboxes))
    card = evidence_card(entry, stored, proved_in, granted, wordings=wordings, source=options.source)
    output.drawn(value, plain(card), partial(draw, card))
    return 0


async def diff(options: argparse.Namespace, output: Output) -> int:
    """Prints a unified diff of manifest, examples and code; exit status 0 also when there is one."""
    async with opened_library() as library:
        old = await library.read(options.name, options.old)
        new = await library.read(options.name, options.new)
    before, after = (version_text(each).splitlines() for each in (old, new))
    name, other = (f"{options.name} v{version}" for version in (options.old, options.new))
    lines = list(unified_diff(before, after, name, other, lineterm=""))
    output.result({"old": options.old, "new": options.new, "diff": lines}, "\n".join(lines))
    if not lines:
        output.note("The two are alike.")
    return 0


async def log(options: argparse.Namespace, output: Output) -> int:
    """Prints the journal's last events."""
    if options.gaps:
        return await list_gaps(output, options.limit)
    async with opened_library() as library:
        rows = library.journal(options.limit if options.name is None else 100_000)
    if options.name is not None:
        rows = [row for row in rows if row.name == options.name][: options.limit]
    rows.reverse()
    output.result(rows, columns([_event(row) for row in rows]))
    return 0


def _event(row: JournalRow) -> tuple[str, ...]:
    subject = f"{row.name or ''}{f' v{row.version}' if row.version else ''}"
    shown = {key: value for key, value in row.detail.items() if value not in (None, "")}
    return row.time[:19].replace("T", " "), row.event, subject, compact(shown) if shown else ""
