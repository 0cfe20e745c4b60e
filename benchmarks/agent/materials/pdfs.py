"""PDF files of a made-up region, written with fpdf2 on demand: a yearbook, an invoice, a timetable."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from alita_mcp.errors import UsageError
from benchmarks.agent.materials.tables import SEED

DISTRICTS = ("Aldra", "Borgund", "Cleve", "Drang", "Egersund", "Folda", "Gimsoy", "Hitra")
YEARS = tuple(range(2013, 2023))
INVOICE_MONTH = "03"
MISPRINT = 1_350
"""Cents that the invoice asks for too much."""
TO_BRANT = (
    ("06:05", "07:20"),
    ("08:10", "09:25"),
    ("09:45", "11:02"),
    ("10:30", "11:40"),
    ("12:15", "13:30"),
)
TO_DUNMORE = (
    ("07:30", "08:50"),
    ("09:30", "10:45"),
    ("11:10", "12:31"),
    ("11:45", "12:58"),
    ("13:35", "14:50"),
)


@dataclass(frozen=True)
class Line:
    """One line of the invoice."""

    what: str
    quantity: int
    cents: int
    """Net price of one."""
    vat: int
    """Per cent."""


@cache
def harvest() -> dict[str, dict[int, int]]:
    """District → year → hundreds of tonnes."""
    draw = random.Random(f"{SEED} harvest")
    return {name: {year: draw.randint(85, 1_450) for year in YEARS} for name in DISTRICTS}


LINES = (
    Line("Mooring rope, 40 m", 6, 18_995, 19),
    Line("Tide tables, printed", 25, 740, 7),
    Line("Fender, large", 14, 6_350, 19),
    Line("Chart of the inner sound", 9, 2_295, 7),
    Line("Signal lamp", 3, 41_280, 19),
    Line("Log book", 40, 1_115, 7),
    Line("Service, hours", 11, 8_900, 19),
)


def invoice_total() -> int:
    """Cents; VAT is rounded once for each rate."""
    total = 0
    for rate in sorted({line.vat for line in LINES}):
        net = sum(line.quantity * line.cents for line in LINES if line.vat == rate)
        total += net + (net * rate + 50) // 100
    return total


def yearbook_pdf() -> bytes:
    """Three pages: words, then a table for each five years."""
    pdf = _begun()
    _words(pdf, "Yearbook of the Growers' Union", (
        "Harvest of all districts, in thousand tonnes. This book prints the revised figures of 2016.",
        "Aldra and Hitra joined the union in 1998.",
    ))  # fmt: skip
    for first in (2013, 2018):
        years = range(first, first + 5)
        pdf.add_page()
        _words(pdf, f"Harvest {first} to {first + 4} (thousand tonnes)", ())
        rows = [("District", *map(str, years))]
        rows += [(name, *(f"{harvest()[name][year] / 10:.1f}" for year in years)) for name in DISTRICTS]
        _table(pdf, rows)
    return bytes(pdf.output())


def invoice_pdf() -> bytes:
    """One page; its total is misprinted."""
    pdf = _begun()
    _words(pdf, "Invoice 2023-0417", (
        "Ship chandler Orm & Daughters to Harbour Council. Date: 14 March 2023. All prices net, in EUR.",
    ))  # fmt: skip
    rows: list[Sequence[str]] = [("Item", "Quantity", "Unit price", "VAT %")]
    rows += [(line.what, str(line.quantity), f"{line.cents / 100:.2f}", str(line.vat)) for line in LINES]
    _table(pdf, rows)
    total = (invoice_total() + MISPRINT) / 100
    _words(
        pdf, "", ("VAT is added for each rate and rounded to the cent.", f"Total with VAT: EUR {total:,.2f}")
    )
    return bytes(pdf.output())


def timetable_pdf() -> bytes:
    """Two tables on two pages."""
    pdf = _begun()
    for start, end, boats in (("Asker", "Brant", TO_BRANT), ("Brant", "Dunmore", TO_DUNMORE)):
        if start != "Asker":
            pdf.add_page()
        _words(pdf, f"Ferries {start} - {end}, daily", ())
        _table(pdf, [(f"Leaves {start}", f"Arrives {end}"), *boats])
    return bytes(pdf.output())


def _begun() -> Any:
    try:
        from fpdf import FPDF
    except ImportError as missing:
        raise UsageError(
            "The benchmark's PDF files are written with fpdf2, which is not installed.",
            hint="Install fpdf2, or run from a checkout with its development group.",
        ) from missing
    pdf = FPDF(format="A4")
    pdf.set_font("helvetica", size=11)
    pdf.add_page()
    return pdf


def _words(pdf: Any, title: str, paragraphs: Sequence[str]) -> None:
    pdf.multi_cell(0, 7, "\n\n".join(filter(None, (title, *paragraphs))), new_x="LMARGIN", new_y="NEXT")
    pdf.ln(3)


def _table(pdf: Any, rows: Sequence[Sequence[str]]) -> None:
    with pdf.table() as table:
        for row in rows:
            line = table.row()
            for cell in row:
                line.cell(cell)
