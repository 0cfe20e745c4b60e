"""`alita revoke` and `alita tool pin`, `enable`, `delete`, `rollback`, `forget`: changes of what may be called."""

from __future__ import annotations

import argparse

from alita_mcp.cli.commands import AsyncCommand, Family, tool_version
from alita_mcp.cli.library.code_approving import revoke_code
from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, printable
from alita_mcp.library.grants.effective_grants import how_to_grant, in_words
from alita_mcp.library.rows import CatalogueEntry

_ACTIONS = {  # methods of the library
    "pin": "list a tool before all others",
    "unpin": "rank the tool by usage again",
    "enable": "make a disabled, quarantined or deleted tool callable again",
    "disable": "keep a tool, but refuse to call it",
    "delete": "hide a tool; `alita tool enable` undoes it within 30 days",
}


def add_commands(manage: Family) -> None:
    """Declares `revoke`."""
    parser = manage.add("revoke", _command("revoke"), "take a tool's grants back")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--code", action="store_true", help="NAME is the number of code of run_code")


def add_actions(tool: Family) -> None:
    """Declares one action of `alita tool` for each change."""
    for action, help_line in _ACTIONS.items():
        tool.add(action, _command(action), help_line).add_argument("name", metavar="NAME")
    words = tool.add("forget", forget, "take back words that a tool learned to be found by")
    words.add_argument("name", metavar="NAME")
    words.add_argument("words", metavar="WORDS", nargs="*", help="as `alita show` lists them; default: all")
    parser = tool.add("rollback", rollback, "make an earlier version current")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "version", metavar="VERSION", type=tool_version, nargs="?", help="default: the one before"
    )


def _command(action: str) -> AsyncCommand:
    async def change(options: argparse.Namespace, output: Output) -> int:
        if getattr(options, "code", False):
            return await revoke_code(options.name, output)
        async with opened_library() as library:
            tell(await getattr(library, action)(options.name), output)
        return 0

    return change


async def forget(options: argparse.Namespace, output: Output) -> int:
    """Takes back what a tool learned from others; what its author wrote stays."""
    async with opened_library() as library:
        gone = await library.forget(options.name, " ".join(options.words) or None)
    output.result({"name": options.name, "forgotten": list(gone)}, "\n".join(map(printable, gone)))
    output.note(f"{options.name} is no longer found by {'them' if len(gone) != 1 else 'these words'}." if gone
                else f"{options.name} has learned no words.")  # fmt: skip
    return 0


async def rollback(options: argparse.Namespace, output: Output) -> int:
    """Moves the pointer; no version is lost."""
    async with opened_library() as library:
        tell(await library.rollback(options.name, options.version), output)
    return 0


def tell(entry: CatalogueEntry, output: Output) -> None:
    """Prints how a tool stands after a change."""
    grants = entry.manifest.grants
    now = {
        "name": entry.name,
        "version": entry.manifest.version,
        "state": entry.state,
        "pinned": entry.pinned,
        "grants": grants,
        "approved": entry.approved,
    }
    words: list[str] = [entry.state, *(["pinned"] if entry.pinned else [])]
    if not grants.is_pure:
        words.append(f"{'approved' if entry.approved else 'not approved'}: {', '.join(in_words(grants))}")
    if not entry.approved:
        output.note(how_to_grant(entry.manifest))
    output.result(now, f"{entry.name} v{entry.manifest.version}: {', '.join(words)}")
