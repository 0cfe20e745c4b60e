"""Sequences of syntheses, and the trust that the track record of their models gives each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple, TypedDict

from alita_mcp.values import Trust
from alita_mcp.verification.agreement import accept, is_proven, nearest_agreements
from benchmarks.acceptance.stored import Drawn

ORDERS = 10
"""Orders in which the same syntheses are played."""


class Synthesis(NamedTuple):
    """One synthesis: its request, the candidate that was chosen, whether all agreed fully, and whether it is right."""

    task_id: str
    chosen: int | None
    agrees: bool
    right: bool


class Ended(NamedTuple):
    """Trust that a synthesis ends with, and whether only later ones gave it."""

    trust: Trust
    raised: bool = False


class Figures(TypedDict):
    """Shares of all syntheses but where another whole is named."""

    syntheses: int
    agree: float
    wrong_of_agreeing: float
    verified: float
    raised: float
    wrong_per_1000: float
    false_of_verified: float


def judged(task_id: str, drawn: Drawn) -> Synthesis:
    """Applies the acceptance rule to a draw."""
    decision = accept(drawn.candidates, drawn.suites)
    return Synthesis(task_id, decision.chosen, decision.agrees, drawn.is_right(decision.chosen))


def play(syntheses: Sequence[Synthesis]) -> list[Ended]:
    """The trust of each, one model having made them in this order."""
    return [_ended(syntheses, place) for place in range(len(syntheses))]


def _ended(syntheses: Sequence[Synthesis], place: int) -> Ended:
    own = syntheses[place]
    if own.chosen is None:
        return Ended("rejected")
    if not own.agrees:
        return Ended("provisional")
    before = (syntheses[number] for number in range(place - 1, -1, -1))
    if is_proven(_nearest(before, own.task_id)):
        return Ended("verified")
    after = (syntheses[number] for number in range(place + 1, len(syntheses)))
    raised = is_proven(_nearest(after, own.task_id))
    return Ended("verified" if raised else "provisional", raised)


def _nearest(others: Iterable[Synthesis], task_id: str) -> tuple[bool, ...]:
    return nearest_agreements(((each.task_id, each.agrees) for each in others), task_id, str.__eq__)


def figures_of(syntheses: Sequence[Synthesis], seed: int) -> Figures:
    """The figures, as the mean of several orders."""
    count, source = max(1, len(syntheses)), Random(seed)
    agreeing = [each for each in syntheses if each.agrees]
    verified = raised = wrong = 0
    for _ in range(ORDERS):
        order = source.sample(syntheses, len(syntheses))
        for each, ended in zip(order, play(order), strict=True):
            verified += ended.trust == "verified"
            raised += ended.raised
            wrong += ended.trust == "verified" and not each.right
    return {
        "syntheses": len(syntheses),
        "agree": round(len(agreeing) / count, 4),
        "wrong_of_agreeing": round(sum(not each.right for each in agreeing) / max(1, len(agreeing)), 4),
        "verified": round(verified / count / ORDERS, 4),
        "raised": round(raised / count / ORDERS, 4),
        "wrong_per_1000": round(1_000 * wrong / count / ORDERS, 2),
        "false_of_verified": round(wrong / max(1, verified), 4),
    }
