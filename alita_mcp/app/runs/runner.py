"""Flow of `run_code`: one run in the sandbox, recorded."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.calls import MAX_EVENTS, Calls
from alita_mcp.app.learning import ClientIdentity
from alita_mcp.app.runs.places import CodePlaces
from alita_mcp.app.runs.rights import CodeRights, CodeWaits
from alita_mcp.app.runs.tools import Shown, ToolsInCode
from alita_mcp.errors import LibraryError, SandboxBusy, SandboxError
from alita_mcp.library.clock import now
from alita_mcp.library.library import Library
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import CodeRequest, CodeRun
from alita_mcp.runs.noticing import Noticing
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.runs.running import run_once
from alita_mcp.runs.session import Place
from alita_mcp.runs.sessions import Sessions, open_sessions
from alita_mcp.runs.tool_broker import MODULE, CleaningBroker, ToolBroker
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.workers.pool import CALLS_PER_KEY, WAITING
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions
from alita_mcp.values import Grants, Value

FILES = Grants(workspace="read")
"""What code of a task may do beyond computing."""


class CodeRunResult(Value):
    """Result of one run of code, as its caller reads it."""

    id: str
    """Names the run in `from_run` and in `alita://runs/{id}`."""
    run: CodeRun
    session: str = ""
    """The session that it was a step of."""
    keep: str = ""
    """How to keep it as a tool, where like code ran several times."""


@dataclass(frozen=True)
class CodeParts:
    """Parts that runs of code need."""

    settings: Settings
    library: Library
    calls: Calls
    rights: CodeRights
    sessions: Sessions
    noticing: Noticing


@dataclass(frozen=True)
class _Asked:
    """One request, whose it is, and what its client may be told."""

    request: CodeRequest
    identity: ClientIdentity
    on_stage: ReportStage
    shown: Shown
    files: Path | None


class CodeRunner:
    """Runs code once, with the rights of a tool without grants."""

    def __init__(self, parts: CodeParts) -> None:
        self._parts = parts
        self._places = CodePlaces(parts.calls.sandbox)
        self._under_way = 0
        self._most = CALLS_PER_KEY + WAITING // 2
        """So many run or wait at once, so that calls of tools find a place in the queue too."""

    async def run(
        self,
        request: CodeRequest,
        identity: ClientIdentity,
        on_stage: ReportStage,
        person: PendingQuestions | None = None,
        shown: Shown = lambda manifest: manifest,
        files: Path | None = None,
    ) -> CodeRunResult | CodeWaits:
        """Runs it and records what came of it, once a person at the client or at the command allows what it asks for.

        `shown` tells what the client may read of a tool that the code looks at. `files` is the folder of a task, which
        its code may read without being asked for: who gave the files to the task did so by that.

        Raises:
            InvalidArguments: it cannot run as it is.
            ToolUnavailable: what it asks for cannot be granted here.
            PackagesRejected: a package does not exist, has no wheel, or conflicts.
            UsageError: its session has ended.
            SandboxBusy: too many runs or calls wait already, or too many sessions work.
            SandboxError: the sandbox failed, not the code.
        """
        request = request.checked()
        if files is None or request.grants != FILES:
            waits = await self._parts.rights.waits(request, identity, person, on_stage)
            if waits is not None:
                return waits
        asked = _Asked(request, identity, on_stage, shown, files)
        with self._counted():
            if request.session:
                return await self._step(asked)
            return await self._recorded(asked, *await self._run_alone(asked))

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._under_way >= self._most:
            raise SandboxBusy(f"{self._most} runs of code are under way or wait already.")
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _step(self, asked: _Asked) -> CodeRunResult:
        """A step of a session."""
        opened = partial(self._places.of, asked.request.packages, asked.on_stage)
        step = partial(self._parts.sessions.step, asked.request, asked.identity.key, opened)
        return await self._recorded(asked, *await self._brokered(asked, step))

    async def _run_alone(self, asked: _Asked) -> tuple[CodeRun, list[dict[str, Any]]]:
        """One run of a script, and what it asked for beyond computing."""
        place: Place = await self._places.of(asked.request.packages, asked.on_stage)

        async def once(outer: CleaningBroker | None) -> CodeRun:
            try:
                return await run_once(asked.request, *place, outer)
            except SandboxError:
                self._places.forget(place)
                raise

        return await self._brokered(asked, once)

    async def _brokered(
        self, asked: _Asked, work: Callable[[CleaningBroker | None], Awaitable[CodeRun]]
    ) -> tuple[CodeRun, list[dict[str, Any]]]:
        """A run with a broker for its rights and the library's tools, and what it asked for."""
        broker = self._parts.rights.broker(asked.request, asked.files)
        tools = ToolsInCode(self._parts.library, self._parts.calls, asked.identity.client, asked.shown)
        async with tools.broker(asked.request, broker) as outer:
            run = await work(outer)
            run = outer.told(run) if isinstance(outer, ToolBroker) else run
        return _without_secrets(run, broker), _events(broker)

    async def _recorded(self, asked: _Asked, run: CodeRun, events: list[dict[str, Any]]) -> CodeRunResult:
        """The result of a run that is journalled and whose files can be read."""
        record, library = recorded(asked.request, run), self._parts.library
        library.calls.record_code(
            record.id,
            at=record.at,
            status=run.status,
            seconds=run.seconds,
            sandbox=run.sandbox,
            client=asked.identity.client,
            error=run.error_type,
            tools=run.tools,
            events=events,
        )
        if run.files:
            files = {file.name: file.data for file in run.files}
            try:
                await anyio.to_thread.run_sync(library.runs.keep_files, record.id, files)
            except LibraryError as full:  # the result does not depend on the disk
                notes = (*run.notes, f"Its files are lost: {full.message}")
                run = run.model_copy(update={"files": (), "notes": notes})
        keep = await anyio.to_thread.run_sync(self._parts.noticing.notice, record, asked.identity.key)
        return CodeRunResult(id=record.id, run=run, session=asked.request.session, keep=keep)


@asynccontextmanager
async def open_code_runner(
    settings: Settings, library: Library, calls: Calls, brokers: BrokerFactory, noticing: Noticing
) -> AsyncIterator[CodeRunner]:
    """Opens the flow of `run_code` over the parts of an app; no sandbox starts before the first run."""
    rights = CodeRights(settings, library, brokers)
    async with open_sessions(settings) as sessions:
        yield CodeRunner(CodeParts(settings, library, calls, rights, sessions, noticing))


def _events(broker: GrantedBroker | None) -> list[dict[str, Any]]:
    return [event.model_dump(mode="json") for event in broker.events[:MAX_EVENTS]] if broker else []


def _without_secrets(run: CodeRun, broker: GrantedBroker | None) -> CodeRun:
    """The run without the files and figures that a secret stands in."""
    if broker is None:
        return run
    files = tuple(each for each in run.files if not broker.holds_secret(each.data))
    figures = tuple(each for each in run.figures if not broker.holds_secret(each.data.encode()))
    if len(files) + len(figures) == len(run.files) + len(run.figures):
        return run
    notes = (*run.notes, "Files or figures are left out: a secret stands in them.")
    return run.model_copy(update={"files": files, "figures": figures, "notes": notes})


def recorded(request: CodeRequest, run: CodeRun) -> RecordedRun:
    """A run as it is kept."""
    return RecordedRun(
        id=secrets.token_hex(16),
        at=now(),
        session=request.session,
        code=request.code,
        arguments=request.arguments,
        packages=request.packages,
        tools=run.tools,
        pure=request.grants.is_pure and MODULE not in request.code and not request.session,
        status=run.status,
        result=run.result,
        result_kind=run.result_kind,
        stdout=run.stdout,
        error_type=run.error_type,
        error=run.error,
    )
