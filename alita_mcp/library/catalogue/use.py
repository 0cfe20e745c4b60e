"""Records of calls in the catalogue: lines of its journal, and how often each tool was used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CALLS_KEPT = 10_000
"""How many rows of calls and searches the journal keeps; all other events are kept for good."""
FOUND_NOTHING = "found nothing"
"""The event of a search that nothing fits; such rows are kept as long as those of calls."""

RAN_CODE = "ran code"
"""The event of a run of `run_code`, kept as long too."""


@dataclass(frozen=True)
class Use:
    """How often a tool was called, how often it failed, and when it was called last."""

    calls: int = 0
    failures: int = 0
    last: str = ""
    code_bytes: int = 0
    """Of the code that each successful call by a client ran, added up; calls out of programs and tools add nothing."""

    def __add__(self, more: Use) -> Use:
        """Both together."""
        return Use(
            self.calls + more.calls,
            self.failures + more.failures,
            max(self.last, more.last),
            self.code_bytes + more.code_bytes,
        )


@dataclass(frozen=True)
class SearchCount:
    """Searches of clients, and what came of them."""

    searches: int = 0
    matched: int = 0
    """Those that found a tool that fits or may fit."""
    called: int = 0
    """Those after which the same client called a tool that they showed."""

    def __add__(self, more: SearchCount) -> SearchCount:
        """Both together."""
        return SearchCount(
            self.searches + more.searches, self.matched + more.matched, self.called + more.called
        )


@dataclass(frozen=True)
class CallRow:
    """One line of the journal about a call, or about a search that found nothing."""

    time: str
    event: str
    name: str | None
    version: int | None
    detail: Mapping[str, Any]
