"""alita_mcp: an MCP server that grows its own tools, each proved in a sandbox before anyone can call it."""

from __future__ import annotations

__version__ = "0.1.0"
