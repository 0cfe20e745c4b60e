"""Files of the benchmark's tasks, drawn with one seed: a shop's orders, exchange rates, an invoice as PDF."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path

from alita_mcp.errors import UsageError

SEED = 20240229
REGIONS = ("North", "South", "East", "West", "Isles")
PRODUCTS = ("anchor", "buoy", "chart", "compass", "lantern", "oar", "rope", "sail", "sextant", "winch")
STATUSES = ("shipped", "shipped", "shipped", "shipped", "returned", "cancelled")
CURRENCIES = ("EUR", "USD", "GBP", "JPY")
MISPRINT = 1_350
"""Cents that the invoice asks for too much."""


@dataclass(frozen=True)
class Order:
    """One order."""

    number: int
    day: date
    region: str
    product: str
    quantity: int
    cents: int
    """Price of one piece, in hundredths of the currency."""
    currency: str
    status: str


@dataclass(frozen=True)
class Line:
    """One line of the invoice."""

    what: str
    quantity: int
    cents: int
    """Net price of one."""
    vat: int
    """Per cent."""


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


@cache
def orders() -> tuple[Order, ...]:
    """3,600 orders of 2023."""
    draw = random.Random(f"{SEED} orders")
    return tuple(
        Order(
            number=10_001 + place,
            day=date(2023, 1, 1) + timedelta(days=draw.randrange(365)),
            region=draw.choice(REGIONS),
            product=draw.choice(PRODUCTS),
            quantity=draw.randint(1, 40),
            cents=draw.randint(199, 49_999),
            currency=draw.choice(CURRENCIES),
            status=draw.choice(STATUSES),
        )
        for place in range(3_600)
    )


@cache
def rates() -> dict[str, dict[str, Decimal]]:
    """Month of 2023 → currency → so many for one euro."""
    draw = random.Random(f"{SEED} rates")
    return {
        f"{month:02}": {
            "EUR": Decimal("1.0000"),
            "USD": Decimal(draw.randint(10_500, 11_300)) / 10_000,
            "GBP": Decimal(draw.randint(8_500, 8_900)) / 10_000,
            "JPY": Decimal(draw.randint(13_900, 16_300)) / 100,
        }
        for month in range(1, 13)
    }


def orders_csv() -> str:
    """Orders as a shop exports them."""
    head = ("order", "date", "region", "product", "quantity", "unit_price", "currency", "status")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    for each in orders():
        price = f"{each.cents / 100:.2f}"
        writer.writerow(
            (
                each.number,
                each.day,
                each.region,
                each.product,
                each.quantity,
                price,
                each.currency,
                each.status,
            )
        )
    return text.getvalue()


def rates_json() -> str:
    """Units of a currency for one euro, by month."""
    months = {month: {name: float(rate) for name, rate in row.items()} for month, row in rates().items()}
    return json.dumps({"base": "EUR", "year": 2023, "units_per_euro": months}, indent=1)


def invoice_pdf() -> bytes:
    """One page; its total is misprinted."""
    try:
        from fpdf import FPDF
    except ImportError as missing:
        raise UsageError(
            "The benchmark's PDF file is written with fpdf2, which is not installed.",
            hint="Install fpdf2, or run from a checkout with its development group.",
        ) from missing
    pdf = FPDF(format="A4")
    pdf.set_font("helvetica", size=11)
    pdf.add_page()

    def write(*paragraphs: str) -> None:
        pdf.multi_cell(0, 7, "\n\n".join(paragraphs), new_x="LMARGIN", new_y="NEXT")
        pdf.ln(3)

    write(
        "Invoice 2023-0417",
        "Ship chandler Orm & Daughters to Harbour Council. Date: 14 March 2023. All prices net, in EUR.",
    )
    rows = [("Item", "Quantity", "Unit price", "VAT %")]
    rows += [(line.what, str(line.quantity), f"{line.cents / 100:.2f}", str(line.vat)) for line in LINES]
    with pdf.table() as table:
        for cells in rows:
            row = table.row()
            for cell in cells:
                row.cell(cell)
    total = (invoice_total() + MISPRINT) / 100
    write("VAT is added for each rate and rounded to the cent.", f"Total with VAT: EUR {total:,.2f}")
    return bytes(pdf.output())


def orders_gz() -> bytes:
    """The orders, packed."""
    return gzip.compress(orders_csv().encode(), mtime=0)


MADE: dict[str, Callable[[], str | bytes]] = {
    "orders.csv": orders_csv,
    "orders.csv.gz": orders_gz,
    "rates.json": rates_json,
    "invoice.pdf": invoice_pdf,
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
