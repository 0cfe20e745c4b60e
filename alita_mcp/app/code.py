"""The flow of `run_code`: a request in, one run in the sandbox, recorded, out."""

from __future__ import annotations

import secrets

import anyio

from alita_mcp.app.learning import Asker
from alita_mcp.interpreter.code_run import CodeRequest, CodeRun
from alita_mcp.interpreter.running import run_once
from alita_mcp.library.files import now
from alita_mcp.library.recorded_run import RecordedRun
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


class CodeRunner:
    """Runs code once, with the rights of a tool without grants."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._environments: dict[tuple[str, tuple[str, ...]], Environment] = {}
        self._building = anyio.Lock()

    async def run(self, request: CodeRequest, asker: Asker, on_stage: OnStage) -> CodeAnswer:
        """Runs it and records what came of it.

        Raises:
            InvalidArguments: it cannot run as it is.
            PackagesRejected: a package does not exist, has no wheel, or conflicts.
            SandboxBusy: too many calls wait already.
            SandboxError: the sandbox failed, not the code.
        """
        request = request.checked()
        sandbox = await self._chosen()
        environment = await self._environment(request.packages, sandbox, on_stage)
        run = await run_once(request, sandbox, environment)
        return CodeAnswer(id=recorded(request, run, asker).id, run=run)

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
