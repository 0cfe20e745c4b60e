"""The words of the greeting: all that a host is told before any tool is loaded."""

from __future__ import annotations

INSTRUCTIONS = (
    "A library of tools that grows. First search_capabilities. Fits: call the tool by its name, or through "
    "run_tool when your list does not show it. Nothing fits: synthesize_tool with name, description, code and "
    "tests; it is proved in a sandbox and published only if it passes (no code: its model writes it, or you get a "
    "template). A new tool is callable at once through run_tool and stays for every client."
)
"""What a host may put before its model."""
