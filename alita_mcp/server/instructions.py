"""Instructions of the greeting: all that a host reads before any tool is loaded."""

from __future__ import annotations

INSTRUCTIONS = (
    "A library of tools that grows. First search_capabilities. One fits: call it by its name, or through run_tool "
    "when your list does not show it. Many calls, or much data: run_code, which has the tools in alita_tools. "
    "Nothing fits: run_code once; for a need that comes back synthesize_tool with name, description, code and tests, "
    "published only if proved in a sandbox (no code: its model writes it, or you get a template). A new tool is "
    "callable at once through run_tool and stays for every client."
)
"""What a host may put before its model."""
