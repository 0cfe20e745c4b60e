"""Sessions against a scripted inside: whose they are, their order, their bounds and how they end."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import (
    AlitaError,
    InvalidArguments,
    PackagesRejected,
    SandboxBusy,
    SandboxError,
    UsageError,
)
from alita_mcp.runs.code_run import CodeRequest, CodeRun
from alita_mcp.runs.sessions.registry import (
    MAX_OWN,
    MAX_SESSIONS,
    Sessions,
    open_sessions,
)
from alita_mcp.runs.sessions.session import MAX_QUEUED, Patience, Place
from alita_mcp.runs.sessions.step_broker import NEXT_STEP, StepBroker
from alita_mcp.runs.tool_broker import RedactingBroker
from alita_mcp.sandbox.interface import EgressPolicy, RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.runs.scripted_inside import (
    NEXT,
    READY,
    Ask,
    Program,
    ScriptedInside,
    echo,
    ending,
    failing,
    hang,
    once_then,
    outcome,
)

WAIT_SECONDS = 60
PATIENCE = Patience(60.0, 60.0)
AT_ONCE = 0.001
"""A limit that is hit before anything else happens."""
GONE = "This step did not run, and its variables are gone. Calling again with this name starts a fresh one."


class Client:
    """Sessions over a scripted inside."""

    def __init__(self, sessions: Sessions, inside: ScriptedInside) -> None:
        self.sessions = sessions
        self.inside = inside

    async def opened(self) -> Place:
        return Place(self.inside)

    async def step(
        self,
        code: str = "1",
        name: str = "one",
        owner: str = "me",
        broker: RedactingBroker | None = None,
        **request: Any,
    ) -> CodeRun:
        asked = CodeRequest(code=code, session=name, **request)
        return await self.sessions.run_step(asked, owner, self.opened, broker)

    async def refused(self, kind: type[AlitaError], **words: Any) -> str:
        with pytest.raises(kind) as raised:
            await self.step(**words)
        return str(raised.value)


@asynccontextmanager
async def client(
    *programs: Program, most: int | None = None, patience: Patience = PATIENCE
) -> AsyncIterator[Client]:
    with anyio.fail_after(WAIT_SECONDS):
        async with open_sessions(Settings(), patience) as sessions:
            if most is not None:
                sessions._most = most
            yield Client(sessions, ScriptedInside(*programs or (echo,)))


@pytest.mark.parametrize("name", [" ", "a b", "../x", "-x", "x" * 65, "é", "a\n"])
def test_names_of_sessions_are_plain(name: str) -> None:
    with pytest.raises(InvalidArguments, match="Invalid session name"):
        CodeRequest(code="1", session=name).check()


def test_a_session_changes_no_workspace() -> None:
    asked = CodeRequest(code="1", session="a", grants=Grants(workspace="write"))
    with pytest.raises(InvalidArguments, match="cannot write"):
        asked.check()
    CodeRequest(code="1", session="a", grants=Grants(workspace="read")).check()


async def test_the_first_step_fixes_packages_and_rights() -> None:
    async with client() as one:
        await one.step(packages=("numpy",))
        assert (await one.step()).ok
        assert (await one.step(packages=("numpy",))).ok
        told = await one.refused(InvalidArguments, packages=("numpy", "pandas", "rich"))
        assert "began without pandas, rich" in told
        told = await one.refused(InvalidArguments, grants=Grants(network=("example.org",)))
        assert "began with other rights" in told
        assert (await one.step()).step == 4


async def test_steps_run_in_the_order_of_their_coming_and_few_of_them_wait() -> None:
    asked, go, order = anyio.Event(), anyio.Event(), []

    async def slow(ask: Ask) -> None:
        given = await ask(NEXT, READY)
        asked.set()
        await go.wait()
        while True:
            given = await ask(NEXT, outcome(given["code"]))

    async with client(slow) as one:

        async def step(code: str) -> None:
            order.append((await one.step(code)).result)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(step, "0")
            await asked.wait()
            for number in range(1, MAX_QUEUED + 1):
                tasks.start_soon(step, str(number))
            await anyio.wait_all_tasks_blocked()
            assert f"{MAX_QUEUED} steps of the session 'one' are waiting" in await one.refused(SandboxBusy)
            go.set()
        assert order == [str(number) for number in range(MAX_QUEUED + 1)]


async def test_a_client_that_opens_too_many_loses_its_own_oldest_one() -> None:
    async with client() as one:
        await one.step(owner="you")
        for name in "abc"[: MAX_OWN + 1]:
            await one.step(name=name)
        await anyio.wait_all_tasks_blocked()
        assert one.inside.running == MAX_OWN + 1
        assert "it made room for another session. " + GONE in await one.refused(UsageError, name="a")
        assert (await one.step(name="c")).step == 2
        assert (await one.step(owner="you")).step == 2


async def test_when_all_are_taken_a_newcomer_is_refused_and_only_a_clients_own_session_makes_room() -> None:
    async with client() as one:
        for number in range(MAX_SESSIONS):
            await one.step(owner=str(number))
        assert "No session is free" in await one.refused(SandboxBusy, owner="new")
        for number in range(MAX_SESSIONS):
            assert (await one.step(owner=str(number))).step == 2
        await one.step(owner="1", name="another")
        assert "made room" in await one.refused(UsageError, owner="1")
        assert (await one.step(owner="0")).step == 3


async def test_a_session_without_steps_for_long_ends_and_its_next_step_says_so() -> None:
    async with client(patience=Patience(AT_ONCE, 60.0)) as one:
        await one.step()
        await one.inside.ended()
        told = await one.refused(UsageError)
        assert f"The session 'one' has ended: no step came for {AT_ONCE:g} s. {GONE}" == told
        assert (await one.step()).step == 1


async def test_a_step_that_takes_too_long_is_the_last_one_and_says_so() -> None:
    async with client(once_then(hang), patience=Patience(60.0, 0.05)) as one:
        await one.step()
        run = await one.step()
        assert (run.status, run.step) == ("timeout", 2)
        assert run.error == (
            "took more than 0.05 s (wall_seconds). The session 'one' ended with this step, and its variables are gone. "
            "Calling again with this name starts a fresh one."
        )
        assert (await one.step()).step == 1


async def test_cancelling_a_step_ends_the_session() -> None:
    async with client(once_then(hang), echo) as one:
        await one.step()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.step)
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert one.inside.running == 0
        assert "a step of it was cancelled" in await one.refused(UsageError)
        assert (await one.step()).step == 1


@pytest.mark.parametrize(
    ("result", "status", "words"),
    [
        (
            RunResult(status="crashed", message="ended with exit code 0 and no result"),
            "crashed",
            "exit code 0",
        ),
        (RunResult(status="memory", message="used more"), "memory", "used more. The session"),
        (
            RunResult(status="error", error_type="RuntimeError", message="no"),
            "error",
            "RuntimeError: no. The",
        ),
        (RunResult(status="ok"), "crashed", "its program ended. The session 'one' ended with this step"),
    ],
)
async def test_a_worker_that_dies_in_a_step_is_told_by_that_step(
    result: RunResult, status: str, words: str
) -> None:
    async with client(ending(result), echo) as one:
        await one.step()
        run = await one.step()
        assert (run.status, run.step) == (status, 2)
        assert words in run.error
        assert (await one.step()).step == 1


async def test_a_worker_that_dies_between_steps_is_told_by_the_next_one() -> None:
    die = anyio.Event()

    async def dies(ask: Ask) -> RunResult:
        order = await ask(NEXT, READY)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, NEXT, outcome(order["code"]))
            await die.wait()
            tasks.cancel_scope.cancel()
        return RunResult(status="memory", message="used more than 1 byte")

    async with client(dies, echo) as one:
        await one.step()
        die.set()
        await anyio.wait_all_tasks_blocked()
        assert "has ended: used more than 1 byte. This step did not run" in await one.refused(UsageError)
        assert (await one.step()).step == 1


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (SandboxError("The engine is gone."), "The engine is gone. The session 'one' ended with this step"),
        (
            ZeroDivisionError("/home/somebody"),
            "The host failed with ZeroDivisionError. The session 'one' ended",
        ),
    ],
)
async def test_a_sandbox_that_fails_is_no_failure_of_the_code(problem: Exception, words: str) -> None:
    async with client(failing(problem), echo) as one:
        await one.step()
        assert words in await one.refused(SandboxError)
        assert (await one.step()).step == 1


async def test_a_session_that_could_not_begin_has_lost_nothing() -> None:
    async def no_packages() -> Place:
        raise PackagesRejected("There is no such package.")

    async with client() as one:
        with pytest.raises(PackagesRejected):
            await one.sessions.run_step(CodeRequest(code="1", session="one"), "me", no_packages)
        assert (await one.step()).step == 1

    async def cannot_start(_ask: Ask) -> None:
        raise SandboxError("It did not start.")

    async with client(cannot_start, echo) as one:
        assert "It did not start." in await one.refused(SandboxError)
        assert (await one.step()).step == 1


def asking(*questions: dict[str, Any]) -> Callable[[Ask], Awaitable[None]]:
    """Asks at the session's door, whatever comes of it."""

    async def program(ask: Ask) -> None:
        for words in questions:
            await ask(NEXT, words)
        await anyio.sleep_forever()

    return program


@pytest.mark.parametrize(
    "words",
    [{}, {"piece": 1, "more": False}, {"piece": "", "more": 0}, {"piece": "", "more": False, "x": 1},
     {"piece": json.dumps({"value": 1, "stdout": "", "stderr": ""}), "more": False},
     {"piece": json.dumps({"value": {}}), "more": False},
     {"piece": "[]", "more": False}],
)  # fmt: skip
async def test_a_program_that_breaks_the_protocol_ends_its_own_session(words: dict[str, Any]) -> None:
    async with client(once_then(asking(words)), echo) as one:
        await one.step(owner="you")
        await one.step()
        run = await one.step(owner="you")
        assert run.status == "crashed"
        assert "a step broke the program that runs it. The session 'one' ended" in run.error
        assert (await one.step()).step == 2


async def test_output_is_bounded_whatever_the_program_inside_says() -> None:
    async with client(once_then(asking(outcome(1, stdout="x" * 1_000_000)))) as one:
        await one.step()
        assert len((await one.step()).stdout) < 66_000


class Doors:
    """A step's own broker."""

    def __init__(self, name: str, policy: EgressPolicy | None = None) -> None:
        self.name = name
        self.egress_policy = policy

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        return [self.name, door, words]

    def redact_result(self, result: RunResult) -> RunResult:
        return RunResult.model_validate_json(result.model_dump_json().replace("hunter2", "[secret]"))


async def test_other_doors_are_answered_by_the_broker_of_the_step_that_runs() -> None:
    async def asks(ask: Ask) -> None:
        await ask(NEXT, READY)
        while True:
            try:
                told = await ask("complete", {"prompt": "?"})
            except PermissionError as refused:
                told = str(refused)
            await ask(NEXT, outcome(told))

    async with client(asks) as one:
        assert (await one.step(broker=Doors("first"))).result == ["first", "complete", {"prompt": "?"}]
        assert (await one.step(broker=Doors("second"))).result[0] == "second"
        assert "needs the grant 'model'" in (await one.step()).result


async def test_between_steps_no_door_is_open() -> None:
    later = anyio.Event()

    async def asks_late(ask: Ask) -> RunResult:
        await ask(NEXT, READY)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, NEXT, outcome("first"))
            await later.wait()
            with pytest.raises(PermissionError) as refused:
                await ask("complete", {"prompt": "?"})
            tasks.cancel_scope.cancel()
        return RunResult(status="crashed", message=str(refused.value))

    async with client(asks_late) as one:
        await one.step(broker=Doors("first"))
        later.set()
        await one.inside.ended()
        assert "needs the grant 'model'" in await one.refused(UsageError)


async def test_secrets_of_a_step_are_in_nothing_that_it_or_its_end_says() -> None:
    told = RunResult(status="error", error_type="ValueError", message="hunter2")
    async with client(ending(told)) as one:
        assert (await one.step("hunter2", broker=Doors("one"))).result == "[secret]"
        died = await one.step("x", broker=Doors("one"))
        assert "ValueError: [secret]. The session" in died.error


async def test_closing_ends_every_session_and_answers_the_step_that_runs() -> None:
    told: list[CodeRun] = []
    inside = ScriptedInside(once_then(hang))

    async def step(sessions: Sessions) -> None:
        told.append(await Client(sessions, inside).step())

    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks, open_sessions(Settings()) as sessions:
            await step(sessions)
            tasks.start_soon(step, sessions)
            await anyio.wait_all_tasks_blocked()
    assert inside.running == 0
    assert "the server ended. The session 'one' ended with this step" in told[-1].error


@given(
    words=st.dictionaries(st.sampled_from(["piece", "more", "x"]), st.just("x") | st.booleans() | st.none())
)
async def test_whatever_is_said_at_the_door_is_taken_or_ends_the_session(words: dict[str, Any]) -> None:
    ended: list[str] = []
    door = StepBroker(0, ended.append)
    assert await door.answer(NEXT_STEP, words) is None
    fits = set(words) == {"piece", "more"} and type(words["piece"]) is str and type(words["more"]) is bool
    assert bool(ended) == (not fits or words.get("more") is False)
