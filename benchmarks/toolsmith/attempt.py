"""Attempt of one contender at one request: its end, and the module that it would publish."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.toolsmith.truth import Module


@dataclass(frozen=True)
class Attempt:
    """The end of one attempt."""

    status: str
    """As `synthesize_tool` says it: `created`, `rejected`, `exists`, …; `failed` where a model or sandbox gave up."""
    trust: str = ""
    stage: str = ""
    reason: str = ""
    module: Module | None = None
    """What would run for a caller; None where nothing was published."""
