"""The composition root: settings in, opened parts and the flows that clients and people use out."""

from alita_mcp.app.app import App, ManageAction, open_app
from alita_mcp.app.calls import ToolRunResult

__all__ = ["App", "ManageAction", "ToolRunResult", "open_app"]
