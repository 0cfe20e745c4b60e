"""`alita list --usage`: cost of the models for each tool and for all that became none, and the calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alita_mcp.cli.opened import opened_library
from alita_mcp.cli.output import Output, columns
from alita_mcp.toolsmith.jobs.journal import Spending, spending_by_tool

if TYPE_CHECKING:
    from alita_mcp.library.rows import CatalogueEntry


async def list_usage(output: Output) -> int:
    """Prints one line a tool, one for what was asked of models in vain, and the sum."""
    async with opened_library() as library:
        rows = library.journal(1_000_000)
        journal = [row.model_dump(mode="json") for row in rows if row.event == "synthesis"]
        entries = list(library.tools.entries())
    spent = spending_by_tool(journal)
    known = {entry.name for entry in entries}
    in_vain = sum((spending for name, spending in spent.items() if name not in known), Spending())
    total = sum(spent.values(), Spending())
    value = {
        "tools": [
            {"name": entry.name, **_use(entry), **spent.get(entry.name, Spending()).as_json()}
            for entry in entries
        ],
        "without_a_tool": in_vain.as_json(),
        "total": total.as_json(),
    }
    lines = [
        (entry.name, f"{entry.calls} calls", *_cells(spent.get(entry.name, Spending()))) for entry in entries
    ]
    lines += [("(no tool)", "", *_cells(in_vain)), ("(total)", "", *_cells(total))]
    output.result(value, columns(lines))
    return 0


def _use(entry: CatalogueEntry) -> dict[str, Any]:
    return {"calls": entry.calls, "failures": entry.failures, "last_used": entry.last_used}


def _cells(spending: Spending) -> tuple[str, ...]:
    if not spending.syntheses:
        return ("", "", "")
    cost = "price unknown" if spending.cost_usd is None else f"{spending.cost_usd:.4f} USD"
    return f"{spending.model_calls} model calls", f"{spending.tokens} tokens", cost
