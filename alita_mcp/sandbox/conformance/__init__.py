"""Conformance suite that any sandbox back end can run on itself: named claims of the interface, a verdict on each."""

from alita_mcp.sandbox.conformance.report import ConformanceReport, Verdict
from alita_mcp.sandbox.conformance.suite import conform

__all__ = ["ConformanceReport", "Verdict", "conform"]
