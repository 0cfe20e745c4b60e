"""Files of the benchmark's tasks, drawn with one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from alita_mcp.errors import UsageError
from benchmarks.agent.materials import documents, pdfs, tables

MADE: dict[str, Callable[[], str | bytes]] = {
    "orders.csv": tables.orders_csv,
    "readings.csv": tables.readings_csv,
    "staff.csv": tables.staff_csv,
    "access.log": tables.access_log,
    "rates.json": documents.rates_json,
    "inventory.json": documents.inventory_json,
    "flights.json": documents.flights_json,
    "minutes.txt": documents.minutes_txt,
    "recipe.txt": documents.recipe_txt,
    "letters.txt": documents.letters_txt,
    "yearbook.pdf": pdfs.yearbook_pdf,
    "invoice.pdf": pdfs.invoice_pdf,
    "timetable.pdf": pdfs.timetable_pdf,
}
"""Files that the tasks name, each with who writes it."""


def write(folder: Path, names: Iterable[str], beside: Path) -> list[Path]:
    """Writes the named files into a folder; one that is not drawn here is taken from `beside`, the tasks' own folder.

    Raises:
        UsageError: a file is neither drawn nor there.
    """
    written = []
    for name in names:
        if name in MADE:
            made = MADE[name]()
            target = folder / name
            target.write_bytes(made.encode() if isinstance(made, str) else made)
        else:
            target = (beside / name).resolve()
            if not target.is_relative_to(beside.resolve()) or not target.exists():
                raise UsageError(f"The tasks name a file {name!r} that is not beside them.")
        written.append(target)
    return written
