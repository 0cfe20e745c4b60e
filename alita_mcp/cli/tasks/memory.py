"""`alita memory`: lists, shows and, once a person agrees, forgets the memories of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from alita_mcp.cli.output import Printer, columns, compact_json, require_terminal
from alita_mcp.errors import Cancelled, UsageError

if TYPE_CHECKING:
    from alita_mcp.agent.memory.store import MemoryEntry


async def memory(
    action: Literal["list", "show", "forget"] = "list",
    names: Annotated[list[str] | None, Parameter(name="ID")] = None,
    /,
    *,
    everything: Annotated[bool, Parameter(name="--all")] = False,
    yes: bool = False,
    output: Printer,
) -> None:
    """List, show or forget what earlier tasks left for later ones.

    Args:
        action: show prints one memory, forget drops those named, or all.
        names: Ids of memories.
        everything: Forget everything.
        yes: Forget without being asked.

    Examples:
        alita memory
        alita memory show program-0123456789ab
        alita memory forget --all
    """
    from alita_mcp.agent.memory.store import StoredMemory
    from alita_mcp.library.storage import open_storage
    from alita_mcp.settings import read_settings

    names = names or []
    if action == "show" and len(names) != 1:
        raise UsageError("`alita memory show` needs one id.")
    if action == "forget" and bool(names) == everything:
        raise UsageError("`alita memory forget` needs ids, or --all.")
    if action == "list" and names:
        raise UsageError(
            "`alita memory list` takes no ids.", hint=f"`alita memory show {names[0]}` shows one."
        )
    with open_storage(read_settings()) as storage:
        stored = StoredMemory(storage)
        if action == "show":
            entry = await stored.show(names[0])
            output.print_result(entry, f"{format_entries([entry])}\n{compact_json(entry.value)}")
        elif action == "forget":
            found = [await stored.show(name) for name in dict.fromkeys(names)] or await stored.list()
            if found and not yes:
                require_terminal(f"Add --yes to forget {len(found)} memories.")
                output.note(format_entries(found))
                if not await output.confirm(f"Forget {len(found)}?"):
                    raise Cancelled("Nothing was forgotten.")
            # With --all, what cannot be read goes too.
            count = await stored.forget([entry.id for entry in found], everything=everything)
            output.print_result({"forgotten": count}, f"{count} forgotten.")
        else:
            found = await stored.list()
            output.print_result(found, format_entries(found))
            if not found:
                output.note("Nothing is remembered.")


def format_entries(entries: Sequence[MemoryEntry]) -> str:
    """Memories as columns: id, kind, day, text."""
    return columns([(entry.id, entry.kind, entry.at[:10], entry.text) for entry in entries])
