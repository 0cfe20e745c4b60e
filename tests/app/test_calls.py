"""Calls through the App: side by side, blamed on whom it may concern, brokered, and leaving no memory behind."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import anyio
import pytest

from alita_mcp.app import App
from alita_mcp.app.calls import MAX_EVENTS, Calls
from alita_mcp.errors import SandboxBusy, SandboxError, SandboxRefused, ToolUnavailable
from alita_mcp.sandbox.interface import (
    Broker,
    BrokerEvent,
    EgressPolicy,
    Environment,
    Job,
    Progress,
    RunResult,
)
from alita_mcp.values import Grants, Lock, StoredVersion
from tests.app.conftest import Open, adder, adding
from tests.scripted_sandbox import ScriptedSandbox

ASKS = Grants(tools=("sum_up",))


class Paused(ScriptedSandbox):
    """Holds calls of one tool until told to go on, as a sandbox does that is slow to start."""

    def __init__(self, held: str) -> None:
        super().__init__(adding)
        self.held = held
        self.arrived = anyio.Event()
        self.released = anyio.Event()

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if job.function == self.held:
            self.arrived.set()
            await self.released.wait()
        return await super().run(job, broker)


class Asked:
    """A broker that was asked for things."""

    def __init__(self, count: int) -> None:
        self.events = [BrokerEvent(door="secret", target=str(number), status="ok") for number in range(count)]

    @property
    def egress_policy(self) -> EgressPolicy | None:
        return None

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        raise PermissionError(door)

    def redact_result(self, result: RunResult) -> RunResult:
        return result.model_copy(update={"stdout": "[hidden]"})


async def rows(app: App) -> list[tuple[str, dict[str, Any]]]:
    await app.library.settle()
    return [(row.event, row.detail) for row in app.library.journal(5)]


async def test_a_sandbox_that_is_slow_to_start_holds_up_no_other_tool(open_with: Open) -> None:
    box = Paused("add")
    async with open_with(box, adder(), adder("sum_up")) as app:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as callers:
                callers.start_soon(app.run_tool, "add", {"a": 1, "b": 2})
                await box.arrived.wait()
                for number in range(20):
                    answer = await app.run_tool("sum_up", {"a": number, "b": 1})
                    assert answer.structured_content == {"result": number + 1}
                assert [job.function for job in box.jobs] == ["sum_up"] * 20
                box.released.set()
        assert box.jobs[-1].function == "add"


async def test_calls_of_one_tool_run_side_by_side(open_with: Open) -> None:
    met = anyio.Event()
    inside: list[Job] = []

    class Meeting(ScriptedSandbox):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            inside.append(job)
            if len(inside) == 5:
                met.set()
            await met.wait()
            return adding(job)

    async with open_with(Meeting(adding)) as app:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as callers:
                for number in range(5):
                    callers.start_soon(app.run_tool, "add", {"a": number, "b": 0})


@pytest.mark.parametrize("failure", [SandboxError, SandboxBusy, SandboxRefused])
async def test_a_failing_sandbox_is_journalled_as_that_and_never_counted_against_the_tool(
    open_with: Open, failure: type[SandboxError]
) -> None:
    def broken(_job: Job) -> RunResult:
        raise failure("the engine went away" * 100, hint="Start it.")

    async with open_with(ScriptedSandbox(broken)) as app:
        with pytest.raises(failure, match="went away"):
            await app.run_tool("add", {"a": 1, "b": 2})
        event, detail = (await rows(app))[0]
        assert (event, detail["error"], detail["sandbox"]) == ("sandbox failed", failure.__name__, "scripted")
        assert len(detail["message"]) == 500
        assert (app.library.entry("add").calls, app.library.entry("add").failures) == (0, 0)


async def test_a_call_that_its_caller_gave_up_is_journalled_and_no_failure(open_with: Open) -> None:
    box = Paused("add")
    async with open_with(box) as app:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as callers:
                callers.start_soon(app.run_tool, "add", {"a": 1, "b": 2})
                await box.arrived.wait()
                callers.cancel_scope.cancel()
        event, detail = (await rows(app))[0]
        assert (event, detail["status"]) == ("called", "cancelled")
        assert (app.library.entry("add").calls, app.library.entry("add").failures) == (1, 0)
        box.released.set()
        await app.run_tool("add", {"a": 1, "b": 2})


async def test_packages_that_vanished_are_asked_for_again_after_the_failure(open_with: Open) -> None:
    class Forgetful(ScriptedSandbox):
        prepared = 0

        async def prepare(self, lock: Lock, progress: Progress) -> Environment:
            self.prepared += 1
            await progress("installing")
            return Environment(digest="scripted", location=str(self.prepared))

    def answer(job: Job) -> RunResult:
        assert job.environment is not None
        if job.environment.location == "1" and len(box.jobs) > 1:
            raise SandboxError("the environment is gone")
        return adding(job)

    box = Forgetful(answer)
    lock = Lock(requirements=("attrs==25.1 --hash=sha256:" + "0" * 64,))
    async with open_with(box, adder(lock=lock, packages=("attrs",))) as app:
        await app.run_tool("add", {"a": 1, "b": 2})
        with pytest.raises(SandboxError, match="gone"):
            await app.run_tool("add", {"a": 2, "b": 2})
        assert (await app.run_tool("add", {"a": 2, "b": 2})).structured_content == {"result": 4}
        assert (await app.run_tool("add", {"a": 3, "b": 2})).structured_content == {"result": 5}
    assert box.prepared == 2


@pytest.mark.parametrize("end", ["result", "sandbox failure"])
async def test_what_a_broker_was_asked_for_stands_in_the_journal_and_its_secrets_nowhere(
    open_with: Open, end: str
) -> None:
    seen: list[tuple[str, tuple[str, ...], Broker | None]] = []
    brokers = [Asked(2), Asked(MAX_EVENTS + 7)]

    class Watching(ScriptedSandbox):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            assert job.grants == ASKS
            seen.append((job.function, (), broker))
            if end != "result":
                raise SandboxError("gone")
            return await super().run(job, broker)

    chains: list[tuple[str, ...]] = []

    def broker_for(stored: StoredVersion, chain: tuple[str, ...], _client: object) -> Asked:
        chains.append(chain)
        return brokers[len(chains) - 1]

    async with open_with(Watching(adding), adder(grants=ASKS)) as app:
        await app.library.approve("add")
        calls = Calls(app.library, app.sandbox, broker_for)
        for chain in ((), ("outer", "inner")):
            if end == "result":
                answer = await calls.run_tool("add", {"a": 1, "b": 2}, chain=chain)
                assert answer.result.stdout == "[hidden]"
            else:
                with pytest.raises(SandboxError):
                    await calls.run_tool("add", {"a": 1, "b": 2}, chain=chain)
        many, few = (detail for _, detail in (await rows(app))[:2])
    assert chains == [(), ("outer", "inner")]
    assert [broker for *_, broker in seen] == brokers
    assert few["events"][1]["target"] == "1"
    assert "more_events" not in {key for key, value in few.items() if value}
    assert (len(many["events"]), many["more_events"]) == (MAX_EVENTS, 7)


async def test_tools_without_grants_get_no_broker(open_with: Open) -> None:
    def broker_for(stored: StoredVersion, chain: tuple[str, ...], _client: object) -> Asked:
        raise AssertionError("nothing was asked for")

    async with open_with() as app:
        calls = Calls(app.library, app.sandbox, broker_for)
        assert (await calls.run_tool("add", {"a": 1, "b": 2})).structured_content == {"result": 3}


async def test_the_card_counts_the_calls_of_a_moment_ago(open_with: Open) -> None:
    async with open_with() as app:
        await app.run_tool("add", {"a": 1, "b": 2})
        assert (await app.inspect_tool("add"))["calls"] == 1


@pytest.mark.slow
async def test_hundreds_of_calls_leave_no_memory_behind(open_with: Open) -> None:
    class Instant(ScriptedSandbox):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            return adding(job)

    async with open_with(Instant(adding)) as app:

        async def call(first: int, count: int) -> tuple[int, int]:
            for number in range(first, first + count):
                await app.run_tool("add", {"a": number, "b": number})
            await app.library.settle()
            gc.collect()
            return tracemalloc.get_traced_memory()[0], len(gc.get_objects())

        await app.library.reindex()  # or the search index is loaded beside the calls that are measured
        tracemalloc.start()
        try:
            bytes_before, objects_before = await call(0, 200)
            bytes_after, objects_after = await call(200, 600)
        finally:
            tracemalloc.stop()
    assert bytes_after - bytes_before < 120_000  # 200 for each call; a buffer grows when it likes
    assert objects_after - objects_before < 600


@pytest.mark.parametrize(
    ("kind", "package"), [("wasm", "requests>=2"), ("wasm", "HTTPX"), ("docker", "requests")]
)
async def test_a_tool_with_packages_that_open_sockets_runs_in_docker_and_bubblewrap_only(
    open_with: Open, kind: str, package: str
) -> None:
    box = ScriptedSandbox(adding, kind=kind)
    async with open_with(box, adder(packages=(package,), sandbox=kind)) as app:
        reason = app.calls.verifier.why_not(app.library.entry("add").manifest)
        if kind == "docker":
            assert reason == ""
            return
        assert reason == f"needs Docker or bubblewrap for the sockets of {package.partition('>')[0]}"
        with pytest.raises(ToolUnavailable, match="add cannot run here: it needs Docker or bubblewrap"):
            await app.run_tool("add", {"a": 1, "b": 2})
        assert box.jobs == []
