"""Types of parameters that several commands share; cyclopts reads and checks the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, Token
from cyclopts.validators import Number

STDIN = "<stdin>"
"""What a lone `-` becomes before cyclopts sees it, which would take it for an option."""


def parse_whole(_type: type, tokens: Sequence[Token]) -> int:
    """Reads `30`; cyclopts by itself would round `1.5`."""
    digits = tokens[0].value
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 12:
        raise ValueError(f"expected a whole number, got {digits[:40]!r}.")
    return int(digits)


def parse_version(_type: type, tokens: Sequence[Token]) -> int:
    """Reads `3` or `v3`."""
    digits = tokens[0].value.removeprefix("v")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 9 or int(digits) < 1:
        raise ValueError(f"expected a version such as 3 or v3, got {tokens[0].value[:40]!r}.")
    return int(digits)


Version = Annotated[int, Parameter(converter=parse_version)]
Count = Annotated[int, Parameter(converter=parse_whole, validator=Number(gte=1, lt=1_000_000))]
Whole = Annotated[int, Parameter(converter=parse_whole)]
Amount = Annotated[float, Parameter(validator=Number(gte=0, lt=10**12))]
Several = Annotated[list[str] | None, Parameter(consume_multiple=(1, None))]
"""An option that takes one or more words: `--tools calculate csv_query`."""
