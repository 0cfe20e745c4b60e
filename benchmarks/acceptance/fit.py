"""Cross-validation by task of the acceptance rule's constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from alita_mcp.verification.agreement.agreement import accept
from alita_mcp.verification.agreement.posterior import CONSTANTS, Constants
from alita_mcp.verification.agreement.record import Record
from benchmarks.acceptance.stored import Drawn, Row, counted

GRID = tuple(
    CONSTANTS._replace(variety=variety, unnoticed=unnoticed, likeness=likeness)
    for variety, unnoticed, likeness in product((7.0, 10.0), (0.4, 0.6, 0.8, 1.2), (1.5, 2.0, 2.5))
)
"""Constants that are tried."""
COST = 10.0
"""A wrong tool that is accepted weighs as much as so many right ones that are not."""
THINNED = 5
"""Constants are chosen on every so many-th draw."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Fold of the cross-validation: the held-out tasks, and the counts and constants from the others."""

    tasks: frozenset[str]
    record: Record
    constants: Constants


def folds_of(
    rows: Sequence[Row], draws: Mapping[str, Sequence[Drawn]], folds: int, seed: int
) -> Iterator[Fold]:
    """Splits the tasks at random; for each part the record of all others and the constants that are best on them."""
    names = sorted(row.task_id for row in rows)
    Random(seed).shuffle(names)
    for number in range(min(folds, len(names))):
        aside = frozenset(names[number::folds])
        others = [row for row in rows if row.task_id not in aside]
        record = counted((row, draws[row.task_id]) for row in others)
        played = [drawn for row in others for drawn in draws[row.task_id][::THINNED]]
        best = max(GRID, key=lambda constants: _worth(played, record, constants))
        yield Fold(aside, record, best)


def _worth(draws: Sequence[Drawn], record: Record, constants: Constants) -> float:
    worth = 0.0
    for drawn in draws:
        decision = accept(drawn.matrix, record, constants)
        if decision.trust == "verified":
            worth += 1.0 if drawn.is_right(decision.chosen) else -COST
    return worth
