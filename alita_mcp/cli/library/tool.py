"""`alita tool ACTION`: changes of what may be called, and what is kept beside the tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from alita_mcp.cli.application import open_library
from alita_mcp.cli.library.approve import print_entry
from alita_mcp.cli.library.synthesize import import_tool
from alita_mcp.cli.output import Printer
from alita_mcp.cli.parameters import Version

CHANGES = {
    "pin": "List a tool before all others.",
    "unpin": "Rank a tool by usage again.",
    "enable": "Make a disabled, quarantined or deleted tool callable again.",
    "disable": "Keep a tool, but refuse to call it.",
    "delete": "Hide a tool; `alita tool enable` undoes it within 30 days.",
}
"""Actions that are methods of the library and take nothing but a name."""


def change_command(action: str) -> Callable[..., Any]:
    """The command for one of `CHANGES`."""

    async def change(name: str, /, *, output: Printer) -> None:
        async with open_library() as library:
            print_entry(await getattr(library, action)(name), output)

    change.__doc__ = (
        f"{CHANGES[action]}\n\nArgs:\n    name: The tool.\n\nExamples:\n    alita tool {action} csv_query\n"
    )
    return change


async def rollback(name: str, version: Version | None = None, /, *, output: Printer) -> None:
    """Make an earlier version current; no version is lost.

    Args:
        name: The tool.
        version: The version; the one before the current one by default.

    Examples:
        alita tool rollback calculate
        alita tool rollback calculate v1
    """
    async with open_library() as library:
        print_entry(await library.rollback(name, version), output)


async def export(name: str, /, *, version: Version | None = None, output: Printer) -> None:
    """Write a tool to a folder that runs without alita.

    Args:
        name: The tool.
        version: Another version than the current one.

    Examples:
        alita tool export calculate
    """
    async with open_library() as library:
        folder: Path = await library.export(name, version)
    output.print_result({"tool": name, "folder": str(folder)}, str(folder))
    output.note(f"Outside of alita it runs unconfined, with your rights: read {folder / 'README.md'} first.")


async def reindex(*, output: Printer) -> None:
    """Check every tool's files, and rebuild the search index.

    Examples:
        alita tool reindex
    """
    async with open_library() as library:
        with output.progress("reindex") as on_stage:
            await on_stage("index")
            count = await library.reindex()
    output.print_result({"indexed": count}, f"{count} tools indexed")


ACTIONS: dict[str, Callable[..., Any]] = {
    **{action: change_command(action) for action in CHANGES},
    "rollback": rollback,
    "export": export, "import": import_tool, "reindex": reindex,
}  # fmt: skip
"""The actions in the order of `alita tool --help`."""
