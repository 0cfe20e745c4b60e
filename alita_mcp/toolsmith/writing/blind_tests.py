"""Findings of a suite written without sight of the code, run on a revision's old and new code."""

from __future__ import annotations

from dataclasses import dataclass

from alita_mcp.library.versions.files import mark_of
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.toolsmith.writing.candidate_sampler import CandidateCode
from alita_mcp.toolsmith.writing.judging import SHOWN_DROPPED
from alita_mcp.values import Agreement, Check, DroppedTest, Example
from alita_mcp.verification.agreement.matrix import Row

HELD_SHARE = 0.8
"""Of the blind tests; where fewer hold, not the tests are in doubt: both codes agree, but one was made of the other."""
RAISE = "Give examples of your own, three at least, one an edge or an error."


@dataclass(frozen=True)
class BlindTests:
    """Blind tests with the rows of the old and the new code; no row for code that cannot run."""

    tests: tuple[Example, ...]
    old: Row | None
    new: Row

    @property
    def kept(self) -> tuple[Example, ...]:
        """The tests that the new code passes."""
        return tuple(test for test, held in zip(self.tests, self.new.passes, strict=True) if held)

    @property
    def shows_the_change(self) -> bool:
        """Whether all tests hold, and one at least did not before."""
        return all(self.new.passes) and self.old is not None and not all(self.old.passes)

    def failure(self, *, insists: bool) -> Rejected | None:
        """The first failure that its writer is to hear of.

        Once it `insists`, a test that the old code fails as well is taken for wrong, if nearly all of the tests hold.
        """
        failed = [number for number, held in enumerate(self.new.passes) if not held]
        if insists and len(self.kept) >= HELD_SHARE * len(self.tests):
            failed = [number for number in failed if self.old is not None and self.old.passes[number]]
        checks = [check for number in failed if (check := self.new.checks[number]) is not None]
        if not checks:
            return None
        passed = f"{len(self.kept)} of {len(self.tests)} tests that were written blind to the code hold"
        found = rejection(checks[0])
        fix = f"{found.fix} If the new code is right, send this case with its result in tests.".strip()
        return found.model_copy(update={"reason": f"{passed}; {found.reason}", "fix": fix})

    def agreement(self, candidate: CandidateCode, blind_before: tuple[str, ...]) -> Agreement:
        """For the report: one suite and one writer, who saw the old code and its examples."""
        numbers = range(len(self.tests))
        kept = tuple(number for number in numbers if self.new.passes[number])
        dropped = tuple(number for number in numbers if not self.new.passes[number])
        return Agreement(
            candidates=1,
            suites=1,
            share=1.0,
            passed=round(len(kept) / len(self.tests), 3) if self.tests else 0.0,
            kept=kept,
            dropped=dropped,
            contradicting=tuple(self._contradicting(number) for number in dropped[:SHOWN_DROPPED]),
            repairs=candidate.repairs,
            blind=tuple(dict.fromkeys((*blind_before, *map(mark_of, self.kept)))),
        )

    def finding(self, version: str, *, proved: bool) -> Check:
        """Check for the report: how many blind tests hold."""
        message = f"revised from {version}: {len(self.kept)} of {len(self.tests)} blind tests hold"
        if self.old is not None:
            message += f", {sum(self.old.passes)} of them with the old code"
        fix = "" if proved else RAISE
        return Check(stage="agreement", passed=proved, hard=False, message=message, fix=fix)

    def _contradicting(self, number: int) -> DroppedTest:
        check = self.new.checks[number]
        got = check.got if check is not None else "it was not run"
        return DroppedTest(test=self.tests[number].as_json(), got=got)
