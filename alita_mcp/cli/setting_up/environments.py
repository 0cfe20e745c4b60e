"""`alita tool environments`: lists the packages that were built for tools, and drops those that no tool uses."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from alita_mcp.cli.commands import Family
from alita_mcp.cli.output import Output, columns
from alita_mcp.errors import SandboxError
from alita_mcp.settings import Settings, read_settings

if TYPE_CHECKING:
    from alita_mcp.sandbox.packages.uses import Use

_SHOWN_PACKAGES = 6


def add_actions(tool: Family) -> None:
    """Declares `tool environments`."""
    parser = tool.add("environments", environments, "list the packages that were built for tools")
    parser.add_argument(
        "--prune",
        action="store_true",
        help="drop all that nobody uses now; what is needed again is built again",
    )


async def environments(options: argparse.Namespace, output: Output) -> int:
    """Prints what is kept, or what was dropped; a store that cannot be reached is an exit status of 5."""
    from alita_mcp.sandbox.stored_environments import kept_environments

    settings = read_settings()
    shelf = kept_environments(settings)
    if options.prune:
        return await _prune(settings, tuple(shelf), output)
    found = [_card(kind, use) for kind, uses in shelf.items() for use in uses]
    _tell("environments", found, output)
    return 0


async def _prune(settings: Settings, kinds: tuple[str, ...], output: Output) -> int:
    from alita_mcp.sandbox.stored_environments import prune

    dropped: list[dict[str, Any]] = []
    status = 0
    for kind in kinds:
        try:
            dropped += [_card(kind, use) for use in (await prune(settings, kind)).dropped]
        except SandboxError as failed:
            output.note(f"alita: the environments of {kind} stay: {failed}")
            status = SandboxError.exit_status
    _tell("dropped", dropped, output)
    return status


def _tell(what: str, cards: list[dict[str, Any]], output: Output) -> None:
    output.result({what: cards}, columns([_row(card) for card in cards]))
    output.note(f"{len(cards)} {what}, {sum(card['megabytes'] for card in cards):.1f} MB.")


def _card(kind: str, use: Use) -> dict[str, Any]:
    return {
        "digest": use.digest,
        "sandbox": kind,
        "megabytes": round(use.size_bytes / (1 << 20), 1),
        "last_used": datetime.fromtimestamp(use.last_used, UTC).isoformat(timespec="seconds"),
        "in_use": use.in_use,
        "packages": list(use.record.packages) if use.record else [],
    }


def _row(card: dict[str, Any]) -> tuple[str, ...]:
    names = card["packages"]
    more = f" and {len(names) - _SHOWN_PACKAGES} more" if len(names) > _SHOWN_PACKAGES else ""
    return (
        card["digest"][:12],
        card["sandbox"],
        f"{card['megabytes']:.1f} MB",
        "in use" if card["in_use"] else card["last_used"][:10],
        ", ".join(names[:_SHOWN_PACKAGES]) + more,
    )
