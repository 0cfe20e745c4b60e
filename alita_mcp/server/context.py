"""The SDK's request context and the results of a tool call, as types for the whole server."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext

Context = ServerRequestContext[Any, Any]
ToolResult = types.CallToolResult | types.InputRequiredResult | dict[str, Any]
"""A dict is an extension's own result, such as a task."""
