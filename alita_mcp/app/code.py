"""The flow of `run_code`: a request in, one run in the sandbox, recorded, out."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio

from alita_mcp.app.calls import MAX_EVENTS, Calls
from alita_mcp.app.code_rights import CodeRights, CodeWaits
from alita_mcp.app.learning import Asker
from alita_mcp.interpreter.code_run import CodeRequest, CodeRun
from alita_mcp.interpreter.running import run_once
from alita_mcp.interpreter.session import Place
from alita_mcp.interpreter.sessions import Sessions
from alita_mcp.interpreter.tool_broker import (
    MODULE,
    CleaningBroker,
    ToolBroker,
    named_tools,
    open_tool_broker,
)
from alita_mcp.library.files import now
from alita_mcp.library.library import Library
from alita_mcp.library.recorded_run import RecordedRun
from alita_mcp.library.search_answer import SearchHit
from alita_mcp.library.signature import signature_of
from alita_mcp.models.lending import Desk
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.seam import Environment, RunResult, Sandbox
from alita_mcp.synthesis.jobs import OnStage
from alita_mcp.values import Manifest, Value

CHAIN = ("run_code",)
"""What leads to a call that code makes; see `Calls.run`."""
Shown = Callable[[Manifest], Manifest]
MAX_ENVIRONMENTS = 100
"""For so many sets of packages it is known where they lie."""


class CodeAnswer(Value):
    """One run as its caller hears of it."""

    id: str
    """Names the run in `from_run` and in `alita://runs/{id}`."""
    run: CodeRun
    session: str = ""
    """The session that it was a step of."""


class ToolsInCode:
    """What one run may see and call of the library."""

    def __init__(self, library: Library, calls: Calls, client: str, shown: Shown) -> None:
        self._library = library
        self._calls = calls
        self._client = client
        self._shown = shown

    def manifest(self, name: str) -> Manifest:
        """A tool as the client may see it; raises as `Library.entry`."""
        return self._shown(self._library.entry(name).manifest)

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """Tools for a need, journalled as a search of the client; nothing is learned from what follows it."""
        found = await self._library.search(query, limit)
        self._library.calls.record_search(query, found, self._client)
        told = [(hit, self.manifest(hit.name)) for hit in found.results]
        return [
            hit.model_copy(update={"signature": signature_of(seen), "summary": seen.summary})
            for hit, seen in told
        ]

    async def call(self, name: str, arguments: dict[str, Any]) -> RunResult:
        """One call, journalled as a call of the client; raises as `Calls.run`."""
        return (await self._calls.run(name, arguments, chain=CHAIN, client=self._client)).result


class CodeRunner:
    """Runs code once, with the rights of a tool without grants."""

    def __init__(self, library: Library, calls: Calls, rights: CodeRights, sessions: Sessions) -> None:
        self._library = library
        self._calls = calls
        self._sandbox = calls.sandbox
        self._rights = rights
        self._sessions = sessions
        self._environments: dict[tuple[str, tuple[str, ...]], Environment] = {}
        self._building = anyio.Lock()

    async def run(
        self,
        request: CodeRequest,
        asker: Asker,
        on_stage: OnStage,
        person: Desk | None = None,
        shown: Shown = lambda manifest: manifest,
    ) -> CodeAnswer | CodeWaits:
        """Runs it and records what came of it, once a person at the client or at the command allows what it asks for.

        `shown` tells what the client may read of a tool that the code looks at.

        Raises:
            InvalidArguments: it cannot run as it is.
            ToolUnavailable: what it asks for cannot be granted here.
            PackagesRejected: a package does not exist, has no wheel, or conflicts.
            UsageError: its session has ended.
            SandboxBusy: too many calls wait already, or too many sessions work.
            SandboxError: the sandbox failed, not the code.
        """
        request = request.checked()
        waits = await self._rights.waits(request, asker, person, on_stage)
        if waits is not None:
            return waits
        broker = self._rights.broker(request)
        opened = partial(self._place, request, on_stage)
        async with self._tools_for(request, asker, shown, broker) as outer:
            if request.session:
                run = await self._sessions.step(request, asker.key, opened, outer)
            else:
                run = await run_once(request, *await opened(), outer)
            run = outer.told(run) if isinstance(outer, ToolBroker) else run
        record = recorded(request, run, asker)
        events = [event.model_dump(mode="json") for event in broker.events[:MAX_EVENTS]] if broker else []
        self._library.calls.record_code(record, events)
        return CodeAnswer(id=record.id, run=run, session=request.session)

    @asynccontextmanager
    async def _tools_for(
        self, request: CodeRequest, asker: Asker, shown: Shown, inner: GrantedBroker | None
    ) -> AsyncIterator[CleaningBroker | None]:
        """The broker of a run, with the library's tools where its code speaks of them."""
        if MODULE not in request.code and not request.session:
            yield inner
            return
        await self._calls.prepare(named_tools(request.code), CHAIN)
        async with open_tool_broker(
            ToolsInCode(self._library, self._calls, asker.client, shown), inner
        ) as outer:
            yield outer

    async def _place(self, request: CodeRequest, on_stage: OnStage) -> Place:
        sandbox = await self._chosen()
        return Place(sandbox, await self._environment(request.packages, sandbox, on_stage))

    async def _environment(
        self, packages: tuple[str, ...], sandbox: Sandbox, on_stage: OnStage
    ) -> Environment | None:
        """The packages, locked and built once while this process lives."""
        if not packages:
            return None

        async def progress(line: str) -> None:
            await on_stage(f"environment: {line}")

        key = (sandbox.kind, packages)
        async with self._building:
            if key not in self._environments:
                lock = await sandbox.resolve(packages, progress)
                self._environments[key] = await sandbox.prepare(lock, progress)
                if len(self._environments) > MAX_ENVIRONMENTS:
                    del self._environments[next(iter(self._environments))]
            return self._environments[key]

    async def _chosen(self) -> Sandbox:
        return await self._sandbox.chosen() if isinstance(self._sandbox, LazySandbox) else self._sandbox


def recorded(request: CodeRequest, run: CodeRun, asker: Asker) -> RecordedRun:
    """A run as it is kept."""
    return RecordedRun(
        id=secrets.token_hex(16),
        at=now(),
        client=asker.client,
        session=request.session,
        code=request.code,
        arguments=request.arguments,
        packages=request.packages,
        tools=run.tools,
        pure=request.grants.is_pure and not run.tools and not request.session,
        status=run.status,
        result=run.result,
        result_kind=run.result_kind,
        stdout=run.stdout,
        error_type=run.error_type,
        error=run.error,
        seconds=run.seconds,
        sandbox=run.sandbox,
    )
