"""Tables of a made-up region: orders, readings, staff, requests of a web server."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from functools import cache

SEED = 20240229
REGIONS = ("North", "South", "East", "West", "Isles")
PRODUCTS = ("anchor", "buoy", "chart", "compass", "lantern", "oar", "rope", "sail", "sextant", "winch")
STATUSES = ("shipped", "shipped", "shipped", "shipped", "returned", "cancelled")
CURRENCIES = ("EUR", "USD", "GBP", "JPY")
STATIONS = {"Holm": "C", "Skarn": "F", "Vaag": "C", "Ulfsund": "K", "Brekke": "F", "Torsvik": "C"}
"""Each with the unit that it reports in."""
DEPARTMENTS = ("Harbour", "Pilots", "Dredging", "Customs", "Archive", "Kitchen")
_FIRST = [
    "Ada",
    "Arne",
    "Bodil",
    "Carl",
    "Dagny",
    "Eirik",
    "Freja",
    "Gorm",
    "Hedda",
    "Ivar",
    "Jorunn",
    "Knut",
    "Liv",
    "Magnus",
    "Nora",
    "Odd",
    "Petra",
    "Ragnar",
    "Siv",
    "Tor",
    "Unni",
    "Vidar",
    "Ylva",
    "Aksel",
    "Birgit",
    "Dag",
    "Embla",
    "Finn",
    "Gro",
    "Hakon",
    "Inga",
    "Jarl",
    "Kari",
    "Leif",
    "Maren",
    "Njal",
    "Oda",
    "Pal",
    "Runa",
    "Sten",
]
_LAST = [
    "Aas",
    "Berg",
    "Dahl",
    "Eide",
    "Foss",
    "Grimstad",
    "Haug",
    "Iversen",
    "Jensvoll",
    "Kvam",
    "Lund",
    "Moen",
    "Nes",
    "Oppegaard",
    "Prestrud",
    "Rud",
    "Solheim",
    "Tveit",
    "Ulven",
    "Vang",
    "Wiik",
    "Ytrehus",
    "Aker",
    "Bakken",
    "Camper",
    "Dale",
    "Elvestad",
    "Flaten",
    "Gran",
    "Hagen",
]


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
class Reading:
    """One reading of a thermometer, in the station's own unit."""

    at: datetime
    station: str
    tenths: int | None
    """None: the thermometer said nothing."""


@dataclass(frozen=True)
class Employee:
    """One employee; the first has no manager."""

    number: int
    name: str
    department: str
    contract: str
    hired: date
    hours: int
    """A week."""
    cents: int
    """Salary of a month."""
    manager: int | None


@dataclass(frozen=True)
class Hit:
    """One request of a web server's log."""

    address: str
    at: datetime
    """With the offset that the server logged."""
    method: str
    path: str
    status: int
    size: int


def _drawn(name: str) -> random.Random:
    return random.Random(f"{SEED} {name}")


@cache
def orders() -> tuple[Order, ...]:
    """3,600 orders of 2023."""
    draw = _drawn("orders")
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
def readings() -> tuple[Reading, ...]:
    """35 days of hourly readings at six stations."""
    draw = _drawn("readings")
    begin = datetime(2024, 2, 20, tzinfo=UTC)
    rows = []
    for hour in range(35 * 24):
        for station, unit in STATIONS.items():
            kelvin_tenths = 2732 + draw.randint(-80, 60) + hour // 24 * 7 % 23 * 6 + draw.randint(-30, 30)
            tenths = {
                "C": kelvin_tenths - 2732,
                "F": round((kelvin_tenths - 2732) * 1.8) + 320,
                "K": kelvin_tenths,
            }
            said = None if draw.random() < 0.03 else tenths[unit]
            rows.append(Reading(begin + timedelta(hours=hour), station, said))
    return tuple(rows)


@cache
def staff() -> tuple[Employee, ...]:
    """1,200 employees with one tree of managers."""
    draw = _drawn("staff")
    names = [f"{first} {last}" for first in _FIRST for last in _LAST]
    draw.shuffle(names)
    return tuple(
        Employee(
            number=100 + place,
            name=names[place],
            department=draw.choice(DEPARTMENTS),
            contract=draw.choice(("full-time", "full-time", "part-time")),
            hired=date(2001, 1, 1) + timedelta(days=draw.randrange(8_000)),
            hours=draw.randint(12, 40),
            cents=draw.randint(180_000, 720_000),
            manager=None if place == 0 else 100 + draw.randrange(max(0, place // 6 - 3), place // 6 + 1),
        )
        for place in range(1_200)
    )


@cache
def hits() -> tuple[Hit, ...]:
    """3,000 requests of 28 February to 1 March 2024, logged with two offsets."""
    draw = _drawn("hits")
    begin = datetime(2024, 2, 28, tzinfo=UTC)
    found = []
    for second in sorted(draw.sample(range(3 * 86_400), 3_000)):
        offset = timezone(timedelta(hours=draw.choice((0, 1))))
        found.append(
            Hit(
                address=f"10.4.{draw.randint(0, 3)}.{draw.randint(1, 7)}",
                at=(begin + timedelta(seconds=second)).astimezone(offset),
                method=draw.choice(("GET", "GET", "GET", "POST")),
                path=draw.choice(("/", "/tides", "/charts/7", "/login", "/favicon.ico", "/berths?page=2")),
                status=draw.choice((200, 200, 200, 200, 304, 404, 500)),
                size=draw.randint(120, 90_000),
            )
        )
    return tuple(found)


def orders_csv() -> str:
    """Orders as a shop exports them."""
    head = ("order", "date", "region", "product", "quantity", "unit_price", "currency", "status")
    return _csv(
        head,
        (
            (each.number, each.day, each.region, each.product, each.quantity, f"{each.cents / 100:.2f}",
             each.currency, each.status)
            for each in orders()
        ),
    )  # fmt: skip


def readings_csv() -> str:
    """With `-999` or nothing where a thermometer said nothing."""
    rows = []
    for each in readings():
        missing = "-999" if each.at.hour % 2 else ""
        said = missing if each.tenths is None else f"{each.tenths / 10:.1f}"
        rows.append((f"{each.at:%Y-%m-%dT%H:%MZ}", each.station, said, STATIONS[each.station]))
    return _csv(("time", "station", "temperature", "unit"), rows)


def staff_csv() -> str:
    """Staff as an office in a country of decimal commas exports it."""
    head = ("id", "name", "department", "contract", "hired", "hours", "salary", "manager")
    rows = (
        (each.number, each.name, each.department, each.contract, f"{each.hired:%d.%m.%Y}", each.hours,
         f"{each.cents // 100},{each.cents % 100:02}", each.manager or "")
        for each in staff()
    )  # fmt: skip
    return _csv(head, rows, delimiter=";")


def access_log() -> str:
    """In the common log format."""
    return "".join(
        f"{hit.address} - - [{hit.at:%d/%b/%Y:%H:%M:%S %z}] "
        f'"{hit.method} {hit.path} HTTP/1.1" {hit.status} {hit.size}\n'
        for hit in hits()
    )


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
