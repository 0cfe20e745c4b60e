"""Reference answers of the tasks, computed from the records and never from the files or pages."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from benchmarks.agent.materials import documents, pdfs, tables
from benchmarks.agent.site import records

MIB = 1 << 20
EARTH_KM = 6371


def _rounded(number: Fraction | Decimal | float, places: int) -> str:
    exact = (
        Decimal(number.numerator) / number.denominator if isinstance(number, Fraction) else Decimal(number)
    )
    return str(exact.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def _one(counts: Counter[str]) -> str:
    """The greatest; two that share the first place would make no task."""
    (first, most), (_, next_most) = counts.most_common(2)
    if most == next_most:
        raise ValueError(f"{first} shares the first place")
    return first


def _returned_north() -> str:
    return str(sum(each.status == "returned" and each.region == "North" for each in tables.orders()))


def _most_pieces() -> str:
    pieces: Counter[str] = Counter()
    for each in tables.orders():
        pieces[each.product] += each.quantity if each.status == "shipped" else 0
    return _one(pieces)


def _best_2017() -> str:
    return _one(Counter({name: years[2017] for name, years in pdfs.harvest().items()}))


def _flour() -> str:
    return _rounded(Fraction(13, 4) * 125 * Fraction(30, 12), 0)


def _council_days() -> str:
    return str((max(documents.MEETINGS) - min(documents.MEETINGS)).days)


def _part_time_hours() -> str:
    hours: Counter[str] = Counter()
    for each in tables.staff():
        hours[each.department] += each.hours if each.contract == "part-time" else 0
    return _one(hours)


def _largest_1950() -> str:
    return _one(Counter({each.name: each.people[1950] for each in records.islands()}))


def _kaster_kg() -> str:
    weights = (
        each.count * Decimal(each.tenths) / 10 * documents.KG[each.unit]
        for each in documents.items()
        if each.warehouse == "Kaster"
    )
    return _rounded(sum(weights, Decimal()), 2)


def _most_404() -> str:
    return _one(Counter(hit.address for hit in tables.hits() if hit.status == 404))


def _dollars_of_may() -> str:
    cents = sum(
        each.quantity * each.cents
        for each in tables.orders()
        if each.status == "shipped" and each.currency == "USD" and each.day.month == 5
    )
    return _rounded(Fraction(cents, 100) / Fraction(documents.rates()["05"]["USD"]), 2)


def celsius(tenths: int, unit: str) -> Fraction:
    """Degrees Celsius of a reading."""
    value = Fraction(tenths, 10)
    return {"C": value, "F": (value - 32) * 5 / 9, "K": value - Fraction("273.15")}[unit]


def _warmest_day() -> str:
    by_day: dict[date, list[Fraction]] = defaultdict(list)
    for each in tables.readings():
        if each.station == "Skarn" and each.tenths is not None:
            by_day[each.at.date()].append(celsius(each.tenths, "F"))
    return max(by_day, key=lambda day: sum(by_day[day]) / len(by_day[day])).isoformat()


def _best_paid() -> str:
    paid: dict[str, list[int]] = defaultdict(list)
    for each in tables.staff():
        if each.contract == "full-time":
            paid[each.department].append(each.cents)
    medians = {name: Fraction(statistics.median(cents)) / 100 for name, cents in paid.items()}
    best = max(medians, key=lambda name: medians[name])
    return f"{best}, {_rounded(medians[best], 0)}"


def _longest_flight() -> str:
    return _one(Counter({each.number: each.minutes for each in documents.flights()}))


def _growth() -> str:
    total = {year: sum(years[year] for years in pdfs.harvest().values()) for year in (2015, 2020)}
    return _rounded(Fraction(100 * (total[2020] - total[2015]), total[2015]), 1)


def _misprint() -> str:
    return _rounded(Fraction(pdfs.MISPRINT, 100), 2)


def _old_books() -> str:
    return str(sum(each.year < 1900 for each in records.books()))


def _builder() -> str:
    island = min(records.islands(), key=lambda each: each.people[1900])
    return f"{island.born_in}, {island.lit}"


def _bytes_sent() -> str:
    begin, end = datetime(2024, 2, 29, 8, tzinfo=UTC), datetime(2024, 2, 29, 10, tzinfo=UTC)
    size = sum(
        hit.size
        for hit in tables.hits()
        if begin <= hit.at < end and hit.method == "GET" and hit.status == 200
    )
    return _rounded(Fraction(size, MIB), 2)


def _minute(shown: str) -> int:
    return int(shown[:2]) * 60 + int(shown[3:])


def _earliest() -> str:
    return min(
        last
        for leaves, arrives in pdfs.TO_BRANT
        for onward, last in pdfs.TO_DUNMORE
        if _minute(leaves) > 9 * 60 + 40 and _minute(onward) - _minute(arrives) >= 10
    )


def _most_letters() -> str:
    begin, end = date(1887, 5, 1), date(1887, 10, 31)
    return _one(Counter(writer for writer, day in documents.letters() if begin <= day <= end))


def _discounted() -> str:
    total = Fraction()
    for each in tables.orders():
        if each.status == "shipped" and each.product == "sextant":
            rate = Fraction(documents.rates()[f"{each.day.month:02}"][each.currency])
            price = Fraction(each.quantity * each.cents, 100) / rate
            total += price * (100 - records.DISCOUNTS[each.region]) / 100
    return _rounded(total, 0)


def _most_a_head() -> str:
    kilos = {
        name: Fraction(years[2019] * 100_000, records.PEOPLE[name]) for name, years in pdfs.harvest().items()
    }
    best = max(kilos, key=lambda name: kilos[name])
    return f"{best}, {_rounded(kilos[best], 0)}"


def _high_stations() -> str:
    high = {name for name, feet in records.ELEVATIONS_FT.items() if Fraction(feet) * Fraction("0.3048") > 500}
    values = [
        celsius(each.tenths, tables.STATIONS[each.station])
        for each in tables.readings()
        if each.station in high and each.tenths is not None
    ]
    return _rounded(sum(values, Fraction()) / len(values), 2)


def _falk_pence() -> str:
    return str(sum(each.pence for each in records.books() if each.author == "T. Falk"))


def great_circle_km(start: str, end: str) -> float:
    """On a sphere, by the spherical law of cosines."""

    def radians(code: str) -> tuple[float, float]:
        _, north, minutes, half, east, more, side = records.AIRPORTS[code]
        return (
            math.radians((north + minutes / 60) * (1 if half == "N" else -1)),
            math.radians((east + more / 60) * (1 if side == "E" else -1)),
        )

    (a, b), (c, d) = radians(start), radians(end)
    return EARTH_KM * math.acos(math.sin(a) * math.sin(c) + math.cos(a) * math.cos(c) * math.cos(b - d))


def _distance_flown() -> str:
    flown = [each for each in documents.flights() if each.aircraft == "SE-KCL"]
    first = sorted(flown, key=lambda each: each.departs - timedelta(hours=each.departs_offset))[:3]
    return _rounded(sum(great_circle_km(each.start, each.end) for each in first), 0)


def _reports_of_chair() -> str:
    below: dict[int | None, list[int]] = defaultdict(list)
    for each in tables.staff():
        below[each.manager].append(each.number)
    found, open_ones = 0, [tables.staff()[documents.CHAIR].number]
    while open_ones:
        direct = below[open_ones.pop()]
        found += len(direct)
        open_ones += direct
    return str(found)


def _invoice_in_yen() -> str:
    return _rounded(Fraction(pdfs.invoice_total(), 100) * Fraction(documents.rates()["03"]["JPY"]), 0)


def _archive_sum() -> str:
    return str(sum(number for _, number in records.LEAVES))


ANSWERS: dict[str, Callable[[], str]] = {
    "returned-north": _returned_north, "most-pieces": _most_pieces, "best-2017": _best_2017, "flour": _flour,
    "council-days": _council_days, "part-time-hours": _part_time_hours, "largest-1950": _largest_1950,
    "members-2011": lambda: str(records.MEMBERS[2011]), "kaster-kg": _kaster_kg, "most-404": _most_404,
    "dollars-of-may": _dollars_of_may, "warmest-day": _warmest_day, "best-paid": _best_paid,
    "longest-flight": _longest_flight, "growth": _growth, "misprint": _misprint, "old-books": _old_books,
    "builder": _builder, "sunday-bridge": lambda: records.BRIDGE["Sunday"], "bytes-sent": _bytes_sent,
    "earliest-arrival": _earliest, "most-letters": _most_letters, "discounted": _discounted,
    "most-a-head": _most_a_head, "high-stations": _high_stations, "falk-pence": _falk_pence,
    "distance-flown": _distance_flown, "reports-of-chair": _reports_of_chair,
    "invoice-in-yen": _invoice_in_yen, "archive-sum": _archive_sum,
}  # fmt: skip
"""Id of a task → its answer."""
