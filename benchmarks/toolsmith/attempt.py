"""What one contender made of one request: how it ended, and the module that it would publish."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.toolsmith.truth import Module
else:  # the folder is `benchmarks` in a checkout, `alita_mcp.benchmarks` in an installation
    Module = importlib.import_module(f"{__package__}.truth").Module


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
