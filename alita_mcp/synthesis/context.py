"""Context of a synthesis: the library, a sandbox, the gates, and advice from the web and recorded runs."""

from __future__ import annotations

from dataclasses import dataclass

from alita_mcp.library.library import Library
from alita_mcp.research.interface import WebAgent
from alita_mcp.runs.store import RunStore
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.synthesis.package_check import PackageCheck
from alita_mcp.synthesis.publishing import Publisher


@dataclass(frozen=True)
class Advice:
    """Knowledge from elsewhere: the web and a package index, recorded runs."""

    research: WebAgent | None = None
    """None: nothing is looked up, and the planner is not asked for open questions."""
    runs: RunStore | None = None


@dataclass(frozen=True)
class SynthesisContext:
    """Everything that one synthesis works with: library, sandbox, submission, advice and packages."""

    library: Library
    sandbox: Sandbox
    submission: Publisher
    advice: Advice
    packages: PackageCheck
