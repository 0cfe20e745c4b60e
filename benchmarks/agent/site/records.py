"""Records behind the pages: books, islands, districts, stations, airports, discounts, leaves of an archive."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

SEED = 20240229
PAGES = 40
A_PAGE = 10
AUTHORS = (
    "H. Amdahl",
    "K. Brun",
    "S. Cappelen",
    "O. Dybwad",
    "R. Erlandsen",
    "T. Falk",
    "E. Grieg",
    "M. Holst",
)
_THINGS = ("Tides", "Ropes", "Lanterns", "Herring", "Fog", "Pilots", "Ice", "Sails", "Gulls", "Anchors")
_SHAPES = ("A History of {}", "On {}", "{} and Men", "The Book of {}", "Notes about {}", "{}: a Study")
DISCOUNTS = {"North": 12, "South": 5, "East": 8, "West": 15, "Isles": 20}
"""Per cent by region."""
ELEVATIONS_FT = {"Holm": 85, "Skarn": 2_430, "Vaag": 1_790, "Ulfsund": 1_655, "Brekke": 940, "Torsvik": 1_610}
PEOPLE = {"Aldra": 41_820, "Borgund": 12_460, "Cleve": 88_310, "Drang": 9_275, "Egersund": 30_190, "Folda": 17_045,
          "Gimsoy": 56_700, "Hitra": 23_915}  # fmt: skip
"""Inhabitants of the districts in 2019."""
AIRPORTS = {
    "ASK": ("Asker", 57, 42, "N", 11, 57, "E"),
    "BRA": ("Brant", 60, 12, "N", 5, 13, "E"),
    "DUN": ("Dunmore", 53, 21, "N", 6, 16, "W"),
    "ELV": ("Elvestad", 69, 41, "N", 18, 55, "E"),
    "FAR": ("Farrow", 35, 33, "N", 139, 47, "E"),
    "GRO": ("Groton", 41, 58, "N", 87, 54, "W"),
}
"""Name, then degrees, minutes and half of latitude and of longitude."""
MEMBERS = {2010: 1_204, 2011: 1_377, 2012: 1_291}
"""Of the union, at the end of the year."""
BRIDGE = {"Monday to Friday": "06:30", "Saturday": "08:15", "Sunday": "09:40"}


@dataclass(frozen=True)
class Book:
    """One book of the catalogue."""

    title: str
    author: str
    year: int
    pence: int
    """240 make a pound, 12 a shilling."""


@dataclass(frozen=True)
class Island:
    """One island, its lighthouse and who built that."""

    name: str
    people: dict[int, int]
    lighthouse: str
    lit: int
    architect: str
    born_in: str


@cache
def books() -> tuple[Book, ...]:
    """The whole catalogue, in the order of its pages."""
    draw = random.Random(f"{SEED} books")
    return tuple(
        Book(
            title=draw.choice(_SHAPES).format(draw.choice(_THINGS)) + f", volume {place % 9 + 1}",
            author=draw.choice(AUTHORS),
            year=draw.randint(1840, 1960),
            pence=draw.randint(40, 900),
        )
        for place in range(PAGES * A_PAGE)
    )


@cache
def islands() -> tuple[Island, ...]:
    """Ten islands."""
    draw = random.Random(f"{SEED} islands")
    names = ("Arno", "Bjork", "Cala", "Dovre", "Eska", "Fenja", "Gull", "Hamn", "Ilsa", "Juno")
    towns = ("Tarn", "Ullev", "Vik", "Moss", "Ravn", "Lier", "Horten", "Skien", "Bergum", "Oslund")
    builders = ("P. Steen", "A. Rolf", "C. Meyer", "J. Hagen", "L. Brandt", "F. Sand", "N. Krag", "E. Vold",
                "W. Bull", "G. Tank")  # fmt: skip
    return tuple(
        Island(
            name=name,
            people={year: draw.randint(90, 9_000) for year in (1900, 1950, 2000)},
            lighthouse=f"{name} {draw.choice(('Light', 'Beacon', 'Lantern'))}",
            lit=draw.randint(1822, 1911),
            architect=builders[place],
            born_in=towns[place],
        )
        for place, name in enumerate(names)
    )


LEAVES = (("i", 1887), ("iv", 44), ("ix", 1492), ("ii", 909), ("vii", 68), ("v", 1666))
"""The leaves of the archive in the order in which each names the next, with the number on each."""


def roman(number: int) -> str:
    """In Roman numerals, 1 to 3999."""
    signs = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
             (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip
    text = ""
    for worth, sign in signs:
        text += sign * (number // worth)
        number %= worth
    return text


def money(pence: int) -> str:
    """In pounds, shillings and pence."""
    pounds, rest = divmod(pence, 240)
    shillings, left = divmod(rest, 12)
    return f"£{pounds} {shillings}s {left}d" if pounds else f"{shillings}s {left}d"
