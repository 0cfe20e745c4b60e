"""Flow of `run_code`: decide its rights, run it in the sandbox alone or as a step of a session, record it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from alita_mcp.app.activity import ActivityFeed
from alita_mcp.app.calls import MAX_EVENTS, Calls
from alita_mcp.app.code_advice import add_advice
from alita_mcp.app.code_rights import CHAIN, CodeRights, CodeWaits
from alita_mcp.errors import InvalidArguments, LibraryError, PackagesRejected, SandboxBusy, SandboxError
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.clock import now
from alita_mcp.library.library import Library
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ReportStage
from alita_mcp.runs.code_run import CodeRequest, CodeRun, CodeRunResult, RecordedRun, RunOutcome
from alita_mcp.runs.execution import run_once
from alita_mcp.runs.history.hints import RunHints
from alita_mcp.runs.sessions.registry import Sessions
from alita_mcp.runs.sessions.session import Place
from alita_mcp.runs.tool_broker import (
    MODULE,
    RedactingBroker,
    ToolBroker,
    tools_imported_by,
)
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.interface import Environment, RunResult
from alita_mcp.sandbox.workers.pool import CALLS_PER_KEY, WAITING
from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions
from alita_mcp.toolsmith.package_check import find_module, find_slip
from alita_mcp.values import Grants, Manifest
from alita_mcp.verification.json_schema import validate_arguments
from alita_mcp.verification.static.imports import package_checks

ShowManifest = Callable[[Manifest], Manifest]
"""Reduces a manifest to what the client may read of it; returns the same object where it may read all."""
MAX_PLAIN_TEXT = 200
FILES = Grants(workspace="read")
"""Rights of code that reads the files of its task."""
MAX_ENVIRONMENTS = 100
"""How many sets of packages are remembered with the environment built for them."""
MAX_AT_ONCE = CALLS_PER_KEY + WAITING // 2
"""Runs under way and waiting; fewer than calls may be, so that calls of tools find a place in the queue too."""


class CodeRunner:
    """Runs code once, with the rights of a tool without grants."""

    def __init__(
        self,
        library: Library,
        calls: Calls,
        rights: CodeRights,
        sessions: Sessions,
        hints: RunHints,
        feed: ActivityFeed,
    ) -> None:
        """No sandbox starts before the first run; runs are published to the feed."""
        self._feed = feed
        self._library = library
        self._calls = calls
        self._rights = rights
        self._sessions = sessions
        self.hints = hints
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
            PackagesRejected: a package is mistyped, does not exist, has no wheel, or conflicts.
            UsageError: its session has ended.
            SandboxBusy: too many runs or calls wait already, or all sessions are busy.
            SandboxError: the sandbox failed, not the code.
        """
        text = f"a step of session {request.session}" if request.session else ""
        with self._feed.follow("code", identity, text=text, on_stage=on_stage) as work:
            request.check()
            slip = find_module(request.packages) or find_slip(request.packages, pinned_are_meant=True)
            for unfit in (*package_checks(request.packages), *([slip] if slip else [])):
                raise PackagesRejected(f"{unfit.message}.", hint=unfit.fix)
            if files is None or request.grants != FILES:
                waits = await self._rights.find_obstacle(request, identity, person, work)
                if waits is not None:
                    work.end(waits.status, text=", ".join(waits.grants))
                    return waits
            if self._under_way >= MAX_AT_ONCE:
                raise SandboxBusy(f"{MAX_AT_ONCE} runs of code are under way or waiting already.")
            self._under_way += 1
            try:
                broker = self._rights.broker_for(request, identity, files)
                tools = ToolsInCode(self._library, self._calls, identity, shown)
                async with tools.open_broker(request, broker, work) as outer:
                    find_place = partial(self._find_place, request.packages, work)
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
                    run = add_advice(run, request)
                run = _without_secrets(run, broker)
                result = await self._record(request, identity, run, broker, activity=work.id)
                fields = {"sandbox": run.sandbox, "tools": run.tools, "run": result.id}
                work.end(run.status, text=run.error_type, detail=fields)
                return result
            finally:
                self._under_way -= 1

    async def _find_place(self, packages: tuple[str, ...], on_stage: ReportStage) -> Place:
        """The sandbox, and the environment with these packages, locked and built once while this process lives.

        Raises as `Sandbox.resolve` and `LazySandbox.chosen`.
        """

        async def report_line(line: str) -> None:
            await on_stage(f"environment: {line}")

        sandbox = await self._calls.verifier.choose_sandbox()
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
        self,
        request: CodeRequest,
        identity: ClientIdentity,
        run: CodeRun,
        broker: GrantedBroker | None,
        activity: str,
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
            **identity.journal_detail,
            error=run.error_type,
            tools=run.tools,
            events=events,
            activity=activity,
        )
        if run.files:
            files = {file.name: file.data for file in run.files}
            try:
                runs = self._library.runs_of(identity.owner)
                await anyio.to_thread.run_sync(runs.keep_files, record.id, files)
            except LibraryError as full:  # the result does not depend on the disk
                notes = (*run.notes, f"Its files could not be kept: {full.message}")
                run = run.model_copy(update={"files": (), "notes": notes})
        keep = await anyio.to_thread.run_sync(self.hints.add_run, record, identity.owner)
        return CodeRunResult(id=record.id, run=run, session=request.session, keep=keep)


class ToolsInCode:
    """The library as a client's code sees it."""

    def __init__(self, library: Library, calls: Calls, identity: ClientIdentity, shown: ShowManifest) -> None:
        self._library = library.seen_by(identity.owner)
        self._calls = calls
        self._identity = identity
        self._shown = shown

    def manifest(self, name: str) -> Manifest:
        """A tool as the client may see it; raises as `Library.entry`."""
        return self._shown(self._library.entry(name).manifest)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> RunResult:
        """One call, journalled as a call of the client; raises as `Calls.run_tool`.

        A tool that may show little of itself shows no more when it refuses or fails.
        """
        manifest = self._library.entry(name).manifest
        seen = self._shown(manifest)
        try:
            result = (
                await self._calls.run_tool(name, arguments, chain=CHAIN, identity=self._identity)
            ).result
        except InvalidArguments:
            if seen is not manifest:
                plainly = partial(validate_arguments, seen.input_schema, arguments)
                await off_loop(plainly, large=is_large(arguments))
                raise InvalidArguments("an argument is none of the choices.") from None
            raise
        if result.ok or seen is manifest:
            return result
        return result.model_copy(update={"message": " ".join(result.message.split())[:MAX_PLAIN_TEXT]})

    @asynccontextmanager
    async def open_broker(
        self, request: CodeRequest, inner: RedactingBroker | None, on_stage: ReportStage
    ) -> AsyncIterator[RedactingBroker | None]:
        """Opens the broker of a run: the inner one, and these tools in front of it where the code may use them."""
        if MODULE not in request.code and not request.session:
            yield inner
            return
        await self._calls.prepare_tools(tools_imported_by(request.code), CHAIN, self._identity, on_stage)
        yield ToolBroker(self, inner)


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
    seen: dict[str, Any] = {field: getattr(run, field) for field in RunOutcome.model_fields}
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
