"""The embedded sandbox: a Python interpreter without any authority of its own, in worker processes.

Works wherever pip does. Pure computation only: no packages, no files, no network, a part of the standard library.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.sandbox.abilities import Abilities
from alita_mcp.sandbox.monty_call import ANOTHER_SANDBOX, Ending, Output, World
from alita_mcp.sandbox.monty_dialect import LACKS, MODULES
from alita_mcp.sandbox.monty_guard import Guard
from alita_mcp.sandbox.monty_harness import ARGUMENTS, FIELDS, SHAPES, call_program
from alita_mcp.sandbox.monty_probes import probe_report
from alita_mcp.sandbox.monty_source import Broken, Source, read_source
from alita_mcp.sandbox.seam import Broker, Environment, Job, ProbeReport, Progress, RunResult
from alita_mcp.sandbox.strict_json import NotJson, encode_strict
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock

if TYPE_CHECKING:
    from pydantic_monty import AsyncMonty, AsyncMontySession, ResourceLimits

MAX_ARGUMENTS_BYTES = 64 << 20
_SHORT_CODE = 2_000
GRACE_SECONDS = 1.0
"""How long after its time the interpreter may take to notice, before its process is killed."""
CALLS_PER_WORKER = 200
"""Workers are renewed, so that nothing lasts that an error of the interpreter might leave behind."""
_NO_GRANTS = "The embedded interpreter (monty) offers pure computation: grants need Docker or bubblewrap."
_OFFERS = (
    "The code runs in an embedded interpreter (monty): a part of Python, pure computation, no files. "
    f"Modules: {', '.join(sorted(MODULES))}."
)
_NO_PACKAGES = "The embedded interpreter (monty) runs no packages: packages need Docker or bubblewrap."


class MontySandbox:
    """Runs each call in a fresh session of a pooled worker process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opening = anyio.Lock()
        self._pool: AsyncMonty | None = None
        self._closed = False
        self._guard = Guard()

    @property
    def kind(self) -> str:
        """`monty`."""
        return "monty"

    async def probe(self) -> ProbeReport:
        """Tries the network, files, the environment, memory and time from inside."""
        return await probe_report(self.kind, self.run)

    async def abilities(self) -> Abilities:
        """A part of the language and of the standard library, and nothing beside them."""
        return Abilities(offers=(_OFFERS,), lacks=LACKS, elsewhere=ANOTHER_SANDBOX)

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:  # noqa: ARG002
        """Refuses: there are no packages here."""
        raise SandboxRefused(_NO_PACKAGES, hint=ANOTHER_SANDBOX)

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:  # noqa: ARG002
        """Refuses: there are no packages here."""
        raise SandboxRefused(_NO_PACKAGES, hint=ANOTHER_SANDBOX)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:  # noqa: ARG002 - refuses grants
        """Runs one call; its hash seed has no meaning here: hashes are constant and sets keep their order."""
        if not job.grants.is_pure:
            raise SandboxRefused(_NO_GRANTS, hint=ANOTHER_SANDBOX)
        if job.environment is not None:
            raise SandboxRefused(_NO_PACKAGES, hint=ANOTHER_SANDBOX)
        checking = partial(_check_arguments, job.arguments)
        await off_loop(checking, large=is_large(job.arguments))
        source = await off_loop(partial(read_source, job.code), large=len(job.code) > _SHORT_CODE)
        if isinstance(source, Broken):
            return _broken(source)
        if "alita_tool" in source.modules:
            raise SandboxRefused(
                "The embedded interpreter (monty) offers pure computation: what `alita_tool` gives (a workspace, a "
                "model, other tools, secrets) needs a grant and Docker or bubblewrap.",
                hint=ANOTHER_SANDBOX,
            )
        output = Output(job.limits.output_bytes)
        async with self._session(job) as session:
            ending = Ending(job, output)
            return await _Call(job, source, session, output, ending).run()

    async def tend(self) -> None:
        """Nothing to look after: idle workers hold nothing of a tool."""

    async def aclose(self) -> None:
        """Ends all workers."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            async with self._opening:
                pool, self._pool = self._pool, None
                if pool is not None:
                    await pool.__aexit__(None, None, None)
            await self._guard.aclose()

    @asynccontextmanager
    async def _session(self, job: Job) -> AsyncIterator[AsyncMontySession]:
        from pydantic_monty import MontyError

        pool = await self._opened()
        checkout = pool.checkout(
            script_name="tool.py",
            limits=_resource_limits(job.limits),
            assert_message_annotations=False,
            os_policy={
                "datetime": "call_host" if job.clock_offset_s or job.moment is not None else "system",
                "sleep_system_max": float("inf"),  # sleeps are bounded in sum, by the limits
            },
            external_modules=_external_modules(),
        )
        async with AsyncExitStack() as stack:
            try:
                session = await stack.enter_async_context(checkout)
            except (OSError, RuntimeError, MontyError) as problem:
                raise SandboxError(f"The embedded interpreter did not start: {problem}.") from problem
            pid = session.worker_pid
            if pid is not None:
                stack.push_async_callback(self._guard.forget, pid)
                await self._guard.watch(pid)
            yield session

    async def _opened(self) -> AsyncMonty:
        async with self._opening:
            if self._closed:
                raise SandboxError("The embedded sandbox is closed.")
            if self._pool is None:
                self._pool = await _open_pool(self._settings.max_workers)
            return self._pool


class _Call:
    """One call in one session."""

    def __init__(
        self, job: Job, source: Source, session: AsyncMontySession, output: Output, ending: Ending
    ) -> None:
        self._job = job
        self._source = source
        self._session = session
        self._output = output
        self._ending = ending
        self._loading = True

    async def run(self) -> RunResult:
        """Loads the code and calls the function; whatever it does ends in a result."""
        with anyio.CancelScope() as scope:  # cancelling a feed kills its worker
            self._output.on_flood = partial(from_thread.run_sync, scope.cancel, token=current_token())
            return await self._in_time()
        return self._ending.flooded()

    async def _in_time(self) -> RunResult:
        from pydantic_monty import MontyCrashedError, MontyError

        try:
            # the interpreter's own clock stops while the code sleeps and starts anew with each feed
            with anyio.fail_after(self._job.limits.wall_seconds):
                return await self._load_and_call()
        except TimeoutError:
            return self._ending.timeout(loading=self._loading, computing=False)
        except MontyCrashedError as crash:
            if crash.timed_out:
                return self._ending.timeout(loading=self._loading, computing=True)
            return self._ending.crashed(str(crash))
        except MontyError as error:
            frames = error.traceback() if hasattr(error, "traceback") else []
            return self._ending.of_error(error.exception(), frames, loading=self._loading)

    async def _load_and_call(self) -> RunResult:
        await self._feed(self._source.runnable, {})
        self._loading = False
        inputs = {
            ARGUMENTS: self._job.arguments,
            SHAPES: self._source.parameters.get(self._job.function, {}),
            FIELDS: self._source.dataclasses,
        }
        program = call_program(
            self._job.function,
            self._source.dataclasses,
            self._job.limits.result_bytes,
            is_async=self._job.function in self._source.coroutines,
        )
        answer = await self._feed(program, inputs)
        return await off_loop(partial(self._ending.of_value, answer), large=is_large(answer))

    async def _feed(self, code: str, inputs: dict[str, Any]) -> Any:
        from pydantic_monty import NOT_HANDLED

        world: Any = World(self._job, NOT_HANDLED)
        return await self._session.feed_run(code, inputs=inputs, print_callback=self._output, os=world)


async def _open_pool(workers: int) -> AsyncMonty:
    from pydantic_monty import AsyncMonty

    pool = AsyncMonty(
        min_processes=0,
        max_processes=workers,
        max_checkouts_per_worker=CALLS_PER_WORKER,
        feed_duration_limit_grace=GRACE_SECONDS,
    )
    try:
        return await pool.__aenter__()
    except (OSError, RuntimeError) as problem:
        raise SandboxError(f"The embedded interpreter cannot be started: {problem}.") from problem


def _resource_limits(limits: Limits) -> ResourceLimits:
    return {
        "max_feed_duration_secs": min(limits.wall_seconds, limits.cpu_seconds),
        "max_total_sleep_secs": limits.wall_seconds,
        "max_memory": limits.memory_bytes,
        "max_suspensions": 1 << 30,  # reading the clock is one, and time bounds them all
    }


def _external_modules() -> dict[str, Any]:
    """`string`, which the interpreter lacks: constants only, so no call ever comes to this process."""
    import string

    from pydantic_monty import ExternalModule

    constants = {name: value for name in string.__all__ if isinstance(value := getattr(string, name), str)}
    return {"string": ExternalModule(constants)}


def _check_arguments(arguments: dict[str, Any]) -> None:
    try:
        encode_strict(arguments, MAX_ARGUMENTS_BYTES)
    except NotJson as problem:
        reason = str(problem).replace("the result is", "they are", 1)
        raise SandboxRefused(f"The arguments cannot enter the sandbox: {reason}.") from problem


def _broken(source: Broken) -> RunResult:
    trace = (f"tool.py:{source.line}",) if source.line else ()
    return RunResult(status="load_failed", error_type=source.error_type, message=source.message, trace=trace)
