"""What came of a conformance run: one verdict for each claim, and whether the back end may be trusted."""

from __future__ import annotations

from typing import Literal

from alita_mcp.values import Value

VerdictKind = Literal["passed", "refused", "failed", "skipped"]


class Verdict(Value):
    """What one claim came to."""

    chapter: str
    claim: str
    outcome: VerdictKind
    """`refused`: the back end says that it does not offer this, which is fine; `skipped`: it could not be tried."""
    detail: str = ""
    seconds: float = 0.0


class ConformanceReport(Value):
    """All verdicts, in the order of the suite."""

    kind: str
    verdicts: tuple[Verdict, ...]
    seconds: float = 0.0

    @property
    def conforms(self) -> bool:
        """True when claims were tried and none failed."""
        return bool(self.verdicts) and not self.failures

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """The claims that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "failed")

    def count(self, outcome: VerdictKind) -> int:
        """How many claims came to this."""
        return sum(verdict.outcome == outcome for verdict in self.verdicts)
