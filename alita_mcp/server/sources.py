"""Interfaces through which tools, resources and prompts reach clients, from the library or any other source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import mcp_types as types

from alita_mcp.progress import ReportStage
from alita_mcp.server.context import Context, ToolResult

if TYPE_CHECKING:
    from alita_mcp.app import App
    from alita_mcp.app.learning import ClientIdentity
    from alita_mcp.server.client.announce import Announcer
    from alita_mcp.server.client.observed import Observed
    from alita_mcp.server.tasks import Tasks


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One validated call, with all that a source may need to handle it."""

    name: str
    arguments: dict[str, Any]
    ctx: Context
    client: Observed
    identity: ClientIdentity
    params: types.CallToolRequestParams
    app: App
    tasks: Tasks
    announcer: Announcer
    on_stage: ReportStage
    """Tells the caller one short line about long work."""


class ToolSource(Protocol):
    """Source of tools.

    Implementers: `definitions` and `find` read memory only and never raise. `call` gets arguments that fit the
    input schema; what it raises becomes an error result (an `AlitaError` with its words, anything else without)
    or, for `MCPError`, a protocol error. A structured result is checked against the output schema afterwards.
    """

    def definitions(self) -> Sequence[types.Tool]:
        """The tools to list, in the order in which clients see them."""
        ...

    def find(self, name: str) -> types.Tool | None:
        """The tool of that name, listed or not."""
        ...

    async def call(self, call: ToolCall) -> ToolResult:
        """Handles a call of a tool that `find` found."""
        ...


class ResourceSource(Protocol):
    """Source of resources; `resources` and `templates` read memory only."""

    def resources(self) -> Sequence[types.Resource]:
        """The resources to list."""
        ...

    def templates(self) -> Sequence[types.ResourceTemplate]:
        """The templates to list."""
        ...

    async def read(
        self, ctx: Context, params: types.ReadResourceRequestParams, /
    ) -> types.ReadResourceResult | types.InputRequiredResult | None:
        """The resource, or None when the URI is not one of this source's; raises `AlitaError`."""
        ...


class PromptSource(Protocol):
    """Source of prompts."""

    def prompts(self) -> Sequence[types.Prompt]:
        """The prompts to list."""
        ...

    async def get(
        self, ctx: Context, params: types.GetPromptRequestParams, /
    ) -> types.GetPromptResult | types.InputRequiredResult | None:
        """The prompt, or None when the name is not one of this source's; raises `AlitaError`."""
        ...
