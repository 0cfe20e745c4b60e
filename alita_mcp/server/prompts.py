"""Prompts, and completion of the arguments of prompts and resource templates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError

from alita_mcp.server.resources import PARTS
from alita_mcp.server.results.building import listed, printable
from alita_mcp.server.results.listing import page_of
from alita_mcp.synthesis.requests.request import SynthesisRequest
from alita_mcp.synthesis.requests.template import ask_for_code, laid_out, told_abilities

if TYPE_CHECKING:
    from alita_mcp.server.context import Context
    from alita_mcp.server.opening import SharedApp
    from alita_mcp.server.sources import PromptSource

MAX_GOAL = 2_000
MAX_COMPLETIONS = 100
SANDBOX_WITHIN_S = 10.0
"""How long a prompt waits for the sandbox to be chosen; an engine may have to fetch its image first."""
_NEW_TOOL = types.Prompt(
    name="new_tool",
    title="New tool",
    description="How to bring a tool to the library: search first, then write code and tests in one go.",
    arguments=[types.PromptArgument(name="goal", description="What the tool should do", required=True)],
)


class LibraryPrompts:
    """The server's own prompt."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared

    def prompts(self) -> Sequence[types.Prompt]:
        """`new_tool`."""
        return (_NEW_TOOL,)

    async def get(self, _ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult | None:
        """The messages of `new_tool`."""
        if params.name != _NEW_TOOL.name:
            return None
        goal = printable((params.arguments or {}).get("goal", ""), MAX_GOAL).strip()
        if not goal:
            raise MCPError(types.INVALID_PARAMS, "The prompt 'new_tool' needs the argument 'goal'.")
        asked = ask_for_code(SynthesisRequest(description=goal), (), await self._abilities())
        text = (
            f"I need a tool for this: {goal}\n\n"
            "1. Call search_capabilities with the need in plain words. If a tool fits, use it and stop.\n"
            "2. Otherwise call synthesize_tool with arguments of this shape, filled in for the need:\n"
            f"{laid_out(asked.template)}\n"
            f"Rules:{listed(asked.rules)}\nThe sandbox here:{listed(asked.sandbox)}\n"
            "3. If the answer is rejected, mend what its fix says. Change a test only if the test itself is wrong.\n"
            "4. Call the new tool, through run_tool where it is not in your list, and give me its result."
        )
        message = types.PromptMessage(role="user", content=types.TextContent(text=text))
        return types.GetPromptResult(description=_NEW_TOOL.description, messages=[message])

    async def _abilities(self) -> tuple[str, ...]:
        with anyio.move_on_after(SANDBOX_WITHIN_S):
            return await told_abilities((await self._shared.get()).sandbox)
        return ("It is still starting; the first answer of synthesize_tool says what code can do in it.",)


class Prompts:
    """Serves the prompts of all sources."""

    def __init__(self, sources: Sequence[PromptSource], page_size: int) -> None:
        self._sources = tuple(sources)
        self._page_size = page_size

    async def list(
        self, _ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        """One page of prompts."""
        every = [prompt for source in self._sources for prompt in source.prompts()]
        cursor = params.cursor if params else None
        page, following = page_of(every, lambda prompt: prompt.name, cursor, self._page_size)
        return types.ListPromptsResult(prompts=page, next_cursor=following)

    async def get(
        self, ctx: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """One prompt."""
        for source in self._sources:
            found = await source.get(ctx, params)
            if found is not None:
                return found
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {printable(params.name)}")


class Completions:
    """Completes names, versions and parts of tools in resource templates; nothing else has suggestions."""

    def __init__(self, shared: SharedApp) -> None:
        self._shared = shared

    async def complete(self, _ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """At most 100 values that begin with what was typed."""
        values = [value for value in await self._values(params) if value.startswith(params.argument.value)]
        has_more = len(values) > MAX_COMPLETIONS
        completion = types.Completion(values=values[:MAX_COMPLETIONS], has_more=has_more)
        return types.CompleteResult(completion=completion)

    async def _values(self, params: types.CompleteRequestParams) -> list[str]:
        await self._shared.settled()
        app = self._shared.current
        if not isinstance(params.ref, types.ResourceTemplateReference) or app is None:
            return []
        if not params.ref.uri.startswith("alita://tools/"):
            return []  # the name of a kept result is told to its caller alone
        tools = app.library.tools
        if params.argument.name == "part":
            return list(PARTS)
        if params.argument.name == "name":
            return tools.names(params.argument.value, limit=MAX_COMPLETIONS + 1)
        known = (params.context.arguments or {}) if params.context else {}
        if params.argument.name == "version":
            entries = tools.some([known.get("name", "")]).values()
            return [str(v) for entry in entries if entry.state != "deleted" for v in entry.versions]
        return []
