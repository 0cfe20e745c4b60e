"""Records of models that write tools: counts from calibration and practice, read by the acceptance rule."""

from __future__ import annotations

from pydantic import Field

from alita_mcp.values import Value


class Tally(Value):
    """Counts of successes and failures."""

    right: float = Field(default=0.0, ge=0)
    wrong: float = Field(default=0.0, ge=0)

    @property
    def total(self) -> float:
        """Number of observations."""
        return self.right + self.wrong

    def __add__(self, other: Tally) -> Tally:
        return Tally(right=self.right + other.right, wrong=self.wrong + other.wrong)


class ModelRecord(Value):
    """Record of one model, by its name."""

    model: str
    tasks: int = 0
    """Calibration tasks that it did, of which the truth is known."""
    candidates: Tally = Tally()
    """Its modules for these tasks: right by all hidden examples, or not."""
    tests: Tally = Tally()
    """Its blind tests for these tasks: those that hold on the reference solution, or not."""
    misread: Tally = Tally()
    """Tasks in which its module and its own suites agreed: right, or wrong together."""
    practised: Tally = Tally()
    """Blind tests of syntheses since: kept by the chosen candidate, or contradicting it."""
    first_time: Tally = Tally()
    """Syntheses since: published without a repair, or not."""
    later: Tally = Tally()
    """Versions that it wrote: still held, or found wrong later (reported, quarantined, replaced after a complaint)."""


class Record(Value):
    """Records of the models that wrote the candidates and the suites of one matrix."""

    candidates: Tally = Tally()
    tests: Tally = Tally()
    misread: Tally = Tally()


def record_of(coder: ModelRecord | None, tester: ModelRecord | None) -> Record | None:
    """The record of a coder and a tester; None where one of them was never calibrated.

    Practice counts for tests as calibration does. A version found wrong later counts as a shared misreading; one that
    nobody complained of counts half, for that may only mean that nobody looked.
    """
    if coder is None or tester is None or not coder.tasks or not tester.tasks:
        return None
    shared = max(coder.misread, tester.misread, key=lambda each: (each.wrong + 1) / (each.total + 2))
    later = coder.later if coder.model == tester.model else coder.later + tester.later
    return Record(
        candidates=coder.candidates,
        tests=tester.tests + tester.practised,
        misread=shared + Tally(right=later.right / 2, wrong=later.wrong),
    )
