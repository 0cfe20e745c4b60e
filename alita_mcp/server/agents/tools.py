"""Tool source of `solve_task` and `research_web`: listed by the settings, called whether listed or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import mcp_types as types

from alita_mcp.server.agents.definitions import AGENT_DEFINITIONS, agents_are_listed
from alita_mcp.server.agents.researching import answer_research
from alita_mcp.server.agents.solving import answer_solve

if TYPE_CHECKING:
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.settings import Settings

_TOOLS = {tool.name: tool for tool in AGENT_DEFINITIONS}


class AgentTools:
    """Tool source of `solve_task` and `research_web`."""

    def __init__(self, settings: Settings) -> None:
        self._listed = AGENT_DEFINITIONS if agents_are_listed(settings) else ()
        self._answers: dict[str, Callable[[ToolCall], Awaitable[ToolResult]]] = {
            "solve_task": answer_solve,
            "research_web": answer_research,
        }

    def definitions(self) -> Sequence[types.Tool]:
        """Both or none; no connection changes it."""
        return self._listed

    def find(self, name: str) -> types.Tool | None:
        """One of the two, listed or not."""
        return _TOOLS.get(name)

    async def call(self, call: ToolCall) -> ToolResult:
        """Answers a call of one of them."""
        return await self._answers[call.name](call)
