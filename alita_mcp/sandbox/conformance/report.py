"""Report of a conformance run: a verdict on each claim, and whether the back end may be trusted."""

from __future__ import annotations

from typing import Literal

from alita_mcp.values import Value

VerdictKind = Literal["passed", "refused", "failed", "skipped"]


class Verdict(Value):
    """Verdict on one claim."""

    chapter: str
    claim: str
    outcome: VerdictKind
    """`refused`: the back end says that it does not offer this, which is fine; `skipped`: it could not be tried."""
    detail: str = ""
    seconds: float = 0.0


class ConformanceReport(Value):
    """Report with all verdicts, in the order of the suite."""

    kind: str
    verdicts: tuple[Verdict, ...]
    seconds: float = 0.0

    @property
    def conforms(self) -> bool:
        """True when claims were tried and none failed."""
        return bool(self.verdicts) and not self.failures

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """Claims that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "failed")

    def count(self, outcome: VerdictKind) -> int:
        """Number of claims with this verdict."""
        return sum(verdict.outcome == outcome for verdict in self.verdicts)
