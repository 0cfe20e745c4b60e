"""Opens the parts that runs of code need, and closes them with the app."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.calls import Calls
from alita_mcp.app.runs.cache import MAX_BYTES, CodeCache
from alita_mcp.app.runs.comparison import open_second_sandbox
from alita_mcp.app.runs.noticing import Noticing
from alita_mcp.app.runs.rights import CodeRights
from alita_mcp.app.runs.runner import CodeParts, CodeRunner
from alita_mcp.interpreter.sessions import open_sessions
from alita_mcp.library.library import Library
from alita_mcp.settings import Settings


@asynccontextmanager
async def open_code_runner(
    settings: Settings, library: Library, calls: Calls, brokers: BrokerFactory, noticing: Noticing
) -> AsyncIterator[CodeRunner]:
    """The flow of `run_code` over the opened parts of an app; no sandbox starts before the first run."""
    async with AsyncExitStack() as stack:
        yield CodeRunner(
            CodeParts(
                settings,
                library,
                calls,
                CodeRights(settings, library, brokers),
                await stack.enter_async_context(open_sessions(settings)),
                await stack.enter_async_context(open_second_sandbox(settings)),
                CodeCache(MAX_BYTES if settings.result_cache_mb else 0),
                noticing,
            )
        )
