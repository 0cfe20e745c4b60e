"""Flow of `run_code`: decide its rights, run it in the sandbox alone or as a step of a session, record it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from alita_mcp.app.broker_factory import BrokerFactory
from alita_mcp.app.calls import MAX_EVENTS, Calls
from alita_mcp.app.code_rights import CodeRights, CodeWaits
from alita_mcp.app.code_tools import ShowManifest, ToolsInCode
from alita_mcp.app.learning import ClientIdentity
from alita_mcp.errors import LibraryError, SandboxBusy, SandboxError
from alita_mcp.library.clock import now
from alita_mcp.library.library import Library
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import CodeRequest, CodeRun, RecordedRun
from alita_mcp.runs.execution import run_once
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.sessions.registry import Sessions, open_sessions
from alita_mcp.runs.sessions.session import Place
from alita_mcp.runs.tool_broker import MODULE, ToolBroker
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.interface import Environment
from alita_mcp.sandbox.workers.bounds import CALLS_PER_KEY, WAITING
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions
from alita_mcp.values import Grants, Value

FILES = Grants(workspace="read")
"""Rights of code that reads the files of its task."""
MAX_ENVIRONMENTS = 100
"""How many sets of packages are remembered with the environment built for them."""
MAX_AT_ONCE = CALLS_PER_KEY + WAITING // 2
"""Runs under way and waiting; fewer than calls may be, so that calls of tools find a place in the queue too."""


class CodeRunResult(Value):
    """Result of one run of code, as its caller reads it."""

    id: str
    """Names the run in `from_run` and in `alita://runs/{id}`."""
    run: CodeRun
    session: str = ""
    """The session that it was a step of."""
    keep: str = ""
    """How to keep it as a tool, where like code ran several times."""


class CodeRunner:
    """Runs code once, with the rights of a tool without grants."""

    def __init__(
        self, library: Library, calls: Calls, rights: CodeRights, sessions: Sessions, hints: RunHints
    ) -> None:
        """Made by `open_code_runner`."""
        self._library = library
        self._calls = calls
        self._rights = rights
        self._sessions = sessions
        self._hints = hints
        self._environments: dict[tuple[str, tuple[str, ...]], Environment] = {}
        self._building = anyio.Lock()
        self._under_way = 0

    async def run_code(
        self,
        request: CodeRequest,
        identity: ClientIdentity,
        on_stage: ReportStage,
        person: PendingQuestions | None = None,
        shown: ShowManifest = lambda manifest: manifest,
        files: Path | None = None,
    ) -> CodeRunResult | CodeWaits:
        """Runs code and records the result, once a person at the client or at the command allows what it asks for.

        `shown` reduces a tool's manifest to what the client may read. `files` is the folder of a task, which its code
        may read without asking: whoever gave the files to the task allowed that.

        Raises:
            InvalidArguments: it cannot run as it is.
            ToolUnavailable: what it asks for cannot be granted here.
            PackagesRejected: a package does not exist, has no wheel, or conflicts.
            UsageError: its session has ended.
            SandboxBusy: too many runs or calls wait already, or all sessions are busy.
            SandboxError: the sandbox failed, not the code.
        """
        request.check()
        if files is None or request.grants != FILES:
            waits = await self._rights.find_obstacle(request, identity, person, on_stage)
            if waits is not None:
                return waits
        if self._under_way >= MAX_AT_ONCE:
            raise SandboxBusy(f"{MAX_AT_ONCE} runs of code are under way or waiting already.")
        self._under_way += 1
        try:
            broker = self._rights.broker_for(request, files)
            tools = ToolsInCode(self._library, self._calls, identity.client, shown)
            async with tools.open_broker(request, broker) as outer:
                find_place = partial(self._find_place, request.packages, on_stage)
                if request.session:
                    run = await self._sessions.run_step(request, identity.key, find_place, outer)
                else:
                    place = await find_place()
                    try:
                        run = await run_once(request, *place, outer)
                    except SandboxError:
                        self._forget_environment(place)
                        raise
                if isinstance(outer, ToolBroker):
                    run = outer.add_calls(run)
            return await self._record(request, identity, _without_secrets(run, broker), broker)
        finally:
            self._under_way -= 1

    async def _find_place(self, packages: tuple[str, ...], on_stage: ReportStage) -> Place:
        """The sandbox, and the environment with these packages, locked and built once while this process lives.

        Raises as `Sandbox.resolve` and `LazySandbox.chosen`.
        """

        async def report_line(line: str) -> None:
            await on_stage(f"environment: {line}")

        sandbox = self._calls.sandbox
        sandbox = await sandbox.chosen() if isinstance(sandbox, LazySandbox) else sandbox
        if not packages:
            return Place(sandbox)
        key = (sandbox.kind, packages)
        async with self._building:
            if key not in self._environments:
                lock = await sandbox.resolve(packages, report_line)
                self._environments[key] = await sandbox.prepare(lock, report_line)
                if len(self._environments) > MAX_ENVIRONMENTS:
                    del self._environments[next(iter(self._environments))]
            return Place(sandbox, self._environments[key])

    def _forget_environment(self, place: Place) -> None:
        """Builds the packages again the next time: somebody may have removed them."""
        for key in [key for key, known in self._environments.items() if known == place.environment]:
            del self._environments[key]

    async def _record(
        self, request: CodeRequest, identity: ClientIdentity, run: CodeRun, broker: GrantedBroker | None
    ) -> CodeRunResult:
        """Journals a run, keeps its files so that they can be read, and remembers it for `from_run`."""
        record = record_of(request, run)
        events = [event.model_dump(mode="json") for event in broker.events[:MAX_EVENTS]] if broker else []
        self._library.calls.record_code(
            record.id,
            at=record.at,
            status=run.status,
            seconds=run.seconds,
            sandbox=run.sandbox,
            client=identity.client,
            error=run.error_type,
            tools=run.tools,
            events=events,
        )
        if run.files:
            files = {file.name: file.data for file in run.files}
            try:
                await anyio.to_thread.run_sync(self._library.runs.keep_files, record.id, files)
            except LibraryError as full:  # the result does not depend on the disk
                notes = (*run.notes, f"Its files could not be kept: {full.message}")
                run = run.model_copy(update={"files": (), "notes": notes})
        keep = await anyio.to_thread.run_sync(self._hints.add_run, record, identity.key)
        return CodeRunResult(id=record.id, run=run, session=request.session, keep=keep)


@asynccontextmanager
async def open_code_runner(
    settings: Settings, library: Library, calls: Calls, brokers: BrokerFactory, hints: RunHints
) -> AsyncIterator[CodeRunner]:
    """Opens the flow of `run_code` over the parts of an app; no sandbox starts before the first run."""
    rights = CodeRights(settings, library, brokers)
    async with open_sessions(settings) as sessions:
        yield CodeRunner(library, calls, rights, sessions, hints)


def _without_secrets(run: CodeRun, broker: GrantedBroker | None) -> CodeRun:
    """The run without the files and figures that contain a secret."""
    if broker is None:
        return run
    files = tuple(each for each in run.files if not broker.holds_secret(each.data))
    figures = tuple(each for each in run.figures if not broker.holds_secret(each.data.encode()))
    if len(files) + len(figures) == len(run.files) + len(run.figures):
        return run
    notes = (*run.notes, "Files or figures are left out because they contain a secret.")
    return run.model_copy(update={"files": files, "figures": figures, "notes": notes})


def record_of(request: CodeRequest, run: CodeRun) -> RecordedRun:
    """A run as it is kept."""
    shared = RecordedRun.model_fields.keys() & CodeRun.model_fields.keys()
    seen: dict[str, Any] = {field: getattr(run, field) for field in shared}
    return RecordedRun(
        id=secrets.token_hex(16),
        at=now(),
        session=request.session,
        code=request.code,
        arguments=request.arguments,
        packages=request.packages,
        pure=request.grants.is_pure and MODULE not in request.code and not request.session,
        **seen,
    )
