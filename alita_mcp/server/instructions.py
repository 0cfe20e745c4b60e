"""Instructions of the greeting: all that a host reads before any tool is loaded."""

from __future__ import annotations

from pathlib import Path

from alita_mcp.domains import read_domains, sentence

INSTRUCTIONS = (
    "A library of tools that grows. Search it first with search_capabilities. If a tool fits, call it by name, or "
    "through run_tool if your list does not show it. For many calls or much data, run_code has the tools in "
    "alita_tools. If nothing fits, use run_code once; for a recurring need, call synthesize_tool with name, "
    "description, code and tests. It publishes what passes in a sandbox; without code, its model writes it or you "
    "get a template. New tools can be called at once and stay for every client."
)
"""What a host may put before its model."""


def instructions(home: Path) -> str:
    """The same, with what the library of a home holds as far as it is known."""
    return f"{INSTRUCTIONS}{sentence(read_domains(home))}"
