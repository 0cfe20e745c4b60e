"""Composition root: opens the parts of the application and the flows over them."""

from alita_mcp.app.app import App, open_app
from alita_mcp.app.calls import ToolRunResult

__all__ = ["App", "ToolRunResult", "open_app"]
