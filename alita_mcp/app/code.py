"""The flow of `run_code`: a request in, one run in the sandbox, recorded, out."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from alita_mcp.app.calls import MAX_EVENTS
from alita_mcp.app.code_cache import CodeCache, request_key
from alita_mcp.app.code_compare import Compared, SecondSandbox, compare
from alita_mcp.app.code_rights import CodeRights, CodeWaits
from alita_mcp.app.learning import Asker
from alita_mcp.errors import SandboxError
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.interpreter.code_run import CodeRequest, CodeRun
from alita_mcp.interpreter.running import run_once
from alita_mcp.library.files import now
from alita_mcp.library.library import Library
from alita_mcp.library.recorded_run import RecordedRun
from alita_mcp.models.lending import Desk
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.seam import Environment, Sandbox
from alita_mcp.synthesis.jobs import OnStage
from alita_mcp.values import Value

MAX_ENVIRONMENTS = 100
"""For so many sets of packages it is known where they lie."""


class CodeAnswer(Value):
    """One run as its caller hears of it."""

    id: str
    """Names the run in `from_run` and in `alita://runs/{id}`."""
    run: CodeRun
    cached: bool = False
    """Whether it did not run: the same code gave this before."""
    compared: Compared | None = None


class CodeRunner:
    """Runs code once, with the rights of a tool without grants."""

    def __init__(
        self, library: Library, sandbox: Sandbox, rights: CodeRights, second: SecondSandbox, cache: CodeCache
    ) -> None:
        self._library = library
        self._sandbox = sandbox
        self._rights = rights
        self._second = second
        self._cache = cache
        self._environments: dict[tuple[str, tuple[str, ...]], Environment] = {}
        self._building = anyio.Lock()

    async def run(
        self, request: CodeRequest, asker: Asker, on_stage: OnStage, person: Desk | None = None
    ) -> CodeAnswer | CodeWaits:
        """Runs it and records what came of it, once a person at the client or at the command allows what it asks for.

        Raises:
            InvalidArguments: it cannot run as it is.
            ToolUnavailable: what it asks for cannot be granted here.
            PackagesRejected: a package does not exist, has no wheel, or conflicts.
            SandboxBusy: too many calls wait already.
            SandboxError: the sandbox failed, not the code.
        """
        request = request.checked()
        waits = await self._rights.waits(request, asker, person, on_stage)
        if waits is not None:
            return waits
        sandbox = await self._chosen()
        if request.compare:
            return await self._compared(request, asker, sandbox, on_stage)
        key_of = partial(request_key, request, sandbox.kind)
        key = await off_loop(key_of, large=is_large(request.arguments))
        kept = self._cache.find(key)
        if kept is not None:
            return await self._recorded(request, kept, asker, cached=True)
        run, events = await self._run_in(request, on_stage, sandbox)
        await self._cache.keep(key, request, run)
        return await self._recorded(request, run, asker, events)

    async def _run_in(
        self,
        request: CodeRequest,
        on_stage: OnStage,
        sandbox: Sandbox,
        elsewhere: Mapping[str, Any] | None = None,
    ) -> tuple[CodeRun, list[dict[str, Any]]]:
        """One run, and what it asked for beyond computing."""
        environment = await self._environment(request.packages, sandbox, on_stage)
        broker = self._rights.broker(request)
        run = await run_once(request, sandbox, environment, broker, elsewhere)
        events = [event.model_dump(mode="json") for event in broker.events[:MAX_EVENTS]] if broker else []
        return run, events

    async def _compared(
        self, request: CodeRequest, asker: Asker, sandbox: Sandbox, on_stage: OnStage
    ) -> CodeAnswer:
        """The answer of a run with how a second one differs."""
        run, events = await self._run_in(request, on_stage, sandbox)
        answer = await self._recorded(request, run, asker, events)

        async def run_in(where: Sandbox, elsewhere: Mapping[str, Any] | None = None) -> CodeRun:
            return (await self._run_in(request, on_stage, where, elsewhere))[0]

        try:
            second = await self._second.beside(sandbox, on_stage)
            told = await compare(run, sandbox, second, run_in)
        except SandboxError as failed:
            notes = (*run.notes, f"Not compared: {failed.message}")
            return answer.model_copy(update={"run": run.model_copy(update={"notes": notes})})
        return answer.model_copy(update={"compared": told})

    async def _recorded(
        self,
        request: CodeRequest,
        run: CodeRun,
        asker: Asker,
        events: list[dict[str, Any]] | None = None,
        *,
        cached: bool = False,
    ) -> CodeAnswer:
        """The answer of a run that is journalled and whose files can be read."""
        record = recorded(request, run, asker)
        self._library.calls.record_code(record, events or [], cached=cached)
        if run.files:
            files = {file.name: file.data for file in run.files}
            await anyio.to_thread.run_sync(self._library.runs.keep_files, record.id, files)
        return CodeAnswer(id=record.id, run=run, cached=cached)

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
