"""Composition root: opens the parts of the application and the flows over them."""

from alita_mcp.app.app import App, ManageAction, open_app
from alita_mcp.app.calls import ToolRunResult

__all__ = ["App", "ManageAction", "ToolRunResult", "open_app"]
