"""JSON and text files of a made-up region: stores, flights, rates, minutes, letters, a recipe."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache

from benchmarks.agent.materials import tables

KG = {"kg": Decimal(1), "g": Decimal("0.001"), "lb": Decimal("0.45359237")}
CHAIR = 17
"""Which employee the minutes elect, counted from 0."""
AIRPORTS = ("ASK", "BRA", "DUN", "ELV", "FAR", "GRO")
WRITERS = ("Sunniva", "Halvard", "Brynhild", "Torkel", "Gunnvor")


@dataclass(frozen=True)
class Item:
    """Something in a store."""

    warehouse: str
    shelf: str
    sku: str
    count: int
    tenths: int
    """Of the unit, the weight of one."""
    unit: str


@dataclass(frozen=True)
class Flight:
    """One flight; times are local."""

    number: str
    aircraft: str
    start: str
    end: str
    departs: datetime
    departs_offset: int
    """Hours east of UTC."""
    arrives: datetime
    arrives_offset: int

    @property
    def minutes(self) -> int:
        """In the air."""
        ahead = timedelta(hours=self.arrives_offset - self.departs_offset)
        return int((self.arrives - self.departs - ahead).total_seconds()) // 60


def _drawn(name: str) -> random.Random:
    return random.Random(f"{tables.SEED} {name}")


@cache
def rates() -> dict[str, dict[str, Decimal]]:
    """Month of 2023 → currency → so many for one euro."""
    draw = _drawn("rates")
    return {
        f"{month:02}": {
            "EUR": Decimal("1.0000"),
            "USD": Decimal(draw.randint(10_500, 11_300)) / 10_000,
            "GBP": Decimal(draw.randint(8_500, 8_900)) / 10_000,
            "JPY": Decimal(draw.randint(13_900, 16_300)) / 100,
        }
        for month in range(1, 13)
    }


@cache
def items() -> tuple[Item, ...]:
    """Stock items of three warehouses, 180 in all."""
    draw = _drawn("items")
    return tuple(
        Item(
            warehouse=("Kaster", "Brennholm", "Ytre Sund")[place // 60],
            shelf=f"{'ABCDEF'[place // 10 % 6]}{place // 60 + 1}",
            sku=f"S-{draw.randint(1000, 9999)}-{place:03}",
            count=draw.randint(1, 90),
            tenths=draw.randint(3, 950),
            unit=draw.choice(tuple(KG)),
        )
        for place in range(180)
    )


@cache
def flights() -> tuple[Flight, ...]:
    """60 flights of three days between six airports in different zones."""
    draw = _drawn("flights")
    offsets = dict(zip(AIRPORTS, (0, 1, -3, 2, 9, -5), strict=True))
    found = []
    for place in range(60):
        start, end = draw.sample(AIRPORTS, 2)
        departs = datetime(2024, 5, 3) + timedelta(minutes=5 * draw.randrange(3 * 288))  # noqa: DTZ001 - local
        air = timedelta(minutes=draw.randint(55, 640) * 1 + place % 3)
        arrives = departs + air + timedelta(hours=offsets[end] - offsets[start])
        found.append(
            Flight(f"VX{200 + place}", f"SE-K{'ABCDEFGHIJ'[place % 10]}L", start, end, departs, offsets[start],
                   arrives, offsets[end])
        )  # fmt: skip
    return tuple(found)


@cache
def letters() -> tuple[tuple[str, date], ...]:
    """Writers and dates of 90 letters of 1887."""
    draw = _drawn("letters")
    days = sorted(draw.sample(range(365), 90))
    return tuple((draw.choice(WRITERS), date(1887, 1, 1) + timedelta(days=day)) for day in days)


MEETINGS = (date(2021, 9, 14), date(2021, 11, 30), date(2022, 2, 8), date(2022, 6, 21), date(2023, 1, 17))


def rates_json() -> str:
    """Units of a currency for one euro, by month."""
    months = {month: {name: float(rate) for name, rate in row.items()} for month, row in rates().items()}
    return json.dumps({"base": "EUR", "year": 2023, "units_per_euro": months}, indent=1)


def inventory_json() -> str:
    """Warehouses, their shelves, their items."""
    warehouses: dict[str, dict[str, list[object]]] = {}
    for item in items():
        weight = {"value": item.tenths / 10, "unit": item.unit}
        shelf = warehouses.setdefault(item.warehouse, {}).setdefault(item.shelf, [])
        shelf.append({"sku": item.sku, "count": item.count, "weight_each": weight})
    return json.dumps(
        {
            "warehouses": [
                {"name": name, "shelves": [{"id": shelf, "items": held} for shelf, held in shelves.items()]}
                for name, shelves in warehouses.items()
            ]
        },
        indent=1,
    )


def flights_json() -> str:
    """Local times, each with its offset."""
    return json.dumps(
        [
            {
                "flight": each.number, "aircraft": each.aircraft, "from": each.start, "to": each.end,
                "departs": f"{each.departs:%Y-%m-%dT%H:%M}{each.departs_offset:+03}:00",
                "arrives": f"{each.arrives:%Y-%m-%dT%H:%M}{each.arrives_offset:+03}:00",
            }
            for each in flights()
        ],
        indent=1,
    )  # fmt: skip


def minutes_txt() -> str:
    """Five meetings, their dates in prose."""
    chair = tables.staff()[CHAIR].name
    shown = [f"{day.day} {day:%B %Y}" for day in MEETINGS]
    return (
        "MINUTES OF THE HARBOUR COUNCIL\n\n"
        f"The council met for the first time on {shown[0]} in the old customs house. Eleven members were present.\n\n"
        f"Second meeting, {shown[1]}. The dredging of the inner basin was put off. The members who had met on "
        f"{shown[0]} confirmed the minutes.\n\n"
        f"Third meeting, {shown[2]}. After two ballots {chair} was elected chair, with seven votes against four for "
        f"{tables.staff()[CHAIR + 1].name}.\n\n"
        f"Fourth meeting, {shown[3]}. The chair reported on the new pilots.\n\n"
        f"The council met for the last time on {shown[4]}, and dissolved itself.\n"
    )


def recipe_txt() -> str:
    """Makes 12 rolls; weights and cups."""
    return (
        "HARBOUR ROLLS (makes 12 rolls)\n\n"
        "3 1/4 cups flour (1 cup = 125 g)\n1 1/2 cups milk (1 cup = 240 ml)\n"
        "2 tablespoons sugar (1 tablespoon = 12.5 g)\n"
        "6 oz butter (1 oz = 28.35 g)\n1 sachet yeast (7 g)\n\nBake 20 minutes at 400 F.\n"
    )


def letters_txt() -> str:
    """Headings of letters, their dates in three ways."""
    ways = ("{0.day} {0:%B} {0.year}", "{0:%B} {0.day}, {0.year}", "{0:%Y-%m-%d}")
    lines = []
    for place, (writer, day) in enumerate(letters()):
        shown = ways[place % 3].format(day)
        lines.append(f"No. {place + 1}. {writer} to the Harbour Master, {shown}. (One sheet.)")
    return "LETTERS OF THE YEAR 1887\n\n" + "\n".join(lines) + "\n"
