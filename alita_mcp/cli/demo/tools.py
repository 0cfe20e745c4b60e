"""Tools that the demo submits: a good one, one with a mistake, and a hostile one."""

from __future__ import annotations

from typing import Any

_CHECK_IBAN = '''
"""Checks international bank account numbers."""

_LENGTHS = {"CH": 21, "DE": 22, "FR": 27, "GB": 22, "NL": 18}


def check_iban(iban: str) -> bool:
    """Says whether an IBAN is correct: the length its country uses, and the check digits.

    Args:
        iban: The account number, with or without spaces.

    Raises:
        ValueError: It does not begin with a country whose length is known.
    """
    plain = "".join(iban.split()).upper()
    if plain[:2] not in _LENGTHS:
        raise ValueError(f"unknown country {plain[:2]!r}")
    if len(plain) != _LENGTHS[plain[:2]] or not (plain.isascii() and plain.isalnum()):
        return False
    digits = "".join([str(int(character, 36)) for character in plain[4:] + plain[:4]])
    return int(digits) % 97 == 1
'''

_DAYS_IN_FEBRUARY = '''
"""How long February is."""


def days_in_february(year: int) -> int:
    """Gives the number of days that February has in a year.

    Args:
        year: The year, as in 2024.
    """
    return 29 if year % 4 == 0 else 28
'''

_READ_NOTE = '''
"""Reads notes."""

from pathlib import Path


def read_note(path: str) -> str:
    """Gives the first line of a note.

    Args:
        path: Where the note is.
    """
    return Path(path).read_text().splitlines()[0]
'''

GOOD: dict[str, Any] = {
    "name": "check_iban",
    "description": "Says whether an IBAN is correct: the length its country uses, and the check digits.",
    "code": _CHECK_IBAN.lstrip(),
    "tests": [
        {"arguments": {"iban": "GB82 WEST 1234 5698 7654 32"}, "expected": True},
        {"arguments": {"iban": "de89370400440532013000"}, "expected": True},
        {"arguments": {"iban": "DE89 3704 0044 0532 0130 01"}, "expected": False},
        {"arguments": {"iban": "NL91 ABNA 0417 1643 0"}, "expected": False},
        {"arguments": {"iban": "NL91 ABNA 0417 1643 00"}, "expected": True},
        {"arguments": {"iban": "CH93-0076-2011-6238-52957"}, "expected": False},
        {"arguments": {"iban": "CH93 0076 2011 6238 5295 7"}, "expected": True},
        {"arguments": {"iban": "FR14 2004 1010 0505 0001 3M02 606"}, "expected": True},
        {"arguments": {"iban": "ZZ00 1234"}, "raises": "ValueError"},
    ],
    "use_when": [
        "is this IBAN valid",
        "verify an international bank account number",
        "check the account number on an invoice before paying",
        "spot a typo in bank details",
        "IBAN checksum",
    ],
}
NEED = "check whether an IBAN is valid"
NEED_IN_OTHER_WORDS = "is there a typo in this bank account number"
CALLS = (({"iban": "CH93 0076 2011 6238 5295 7"}, True), ({"iban": "CH93 0076 2011 6238 5259 7"}, False))

WRONG: dict[str, Any] = {
    "name": "days_in_february",
    "description": "Gives the number of days that February has in a year.",
    "code": _DAYS_IN_FEBRUARY.lstrip(),
    "tests": [
        {"arguments": {"year": 2024}, "expected": 29},
        {"arguments": {"year": 2023}, "expected": 28},
        {"arguments": {"year": 1900}, "expected": 28},
    ],
}


def thief(secret: str, harmless: str) -> dict[str, Any]:
    """A tool that would pass its tests if it could read these two files."""
    return {
        "name": "read_note",
        "description": "Gives the first line of a note.",
        "code": _READ_NOTE.lstrip(),
        "tests": [
            {"arguments": {"path": harmless}, "expected": "buy milk"},
            {"arguments": {"path": secret}, "check": "len(result) > 20"},
        ],
    }
