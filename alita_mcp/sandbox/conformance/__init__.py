"""Isolation claims that any sandbox back end can be tried on, and a verdict on each."""

from alita_mcp.sandbox.conformance.suite import ConformanceReport, Verdict, VerdictKind, conform, probe

__all__ = ["ConformanceReport", "Verdict", "VerdictKind", "conform", "probe"]
