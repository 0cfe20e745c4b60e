"""The SDK's clients at one shared server: what belongs to a connection stays there."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
import mcp_types as types
import pytest
from mcp import StdioServerParameters

from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.settings import Settings
from tests.server.connections import Connection, client_of
from tests.server.local.conftest import User
from tests.server.local.test_shared_server import status
from tests.server.processes import ENTRY, PATIENCE_S
from tests.server.test_code_rights import NEEDS, READS
from tests.server.test_elicitation import FETCH_ITEM, NO, OTHER, YES, Fetching, Person, journal

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX sockets"),
]
SANDBOX = "tests.server.local.test_sdk_clients:Held"
DONE = RunResult(status="ok", value={"kind": "json", "value": 7, "error": None}, wall_seconds=0.001)
pairs = pytest.mark.parametrize(
    "eras", [("legacy", "legacy"), ("modern", "modern"), ("legacy", "modern")], ids="-".join
)


class Held(Fetching):
    """Fetches; runs with a mark begin by writing `MARK.began` beside the home, and end when there is a `MARK.go`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._folder = anyio.Path(settings.home.parent)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        mark = re.search(r"mark_\w+", f"{job.code} {job.arguments}")
        if mark is None:
            return await super().run(job, broker)
        await (self._folder / f"{mark[0]}.began").touch()
        try:
            await there(self._folder / f"{mark[0]}.go")
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await (self._folder / f"{mark[0]}.cancelled").touch()
            raise
        return DONE if "run_code" in mark[0] else await super().run(job, broker)


async def there(path: anyio.Path | Path) -> None:
    """Waits until there is a file."""
    with anyio.fail_after(PATIENCE_S):
        while not await anyio.Path(path).exists():  # noqa: ASYNC110 - another process: nothing tells
            await anyio.sleep(0.01)


@asynccontextmanager
async def client(
    user: User, era: str, name: str, person: Person | None = None, folder: Path | None = None, **settings: str
) -> AsyncIterator[Connection]:
    """One of the user's clients, with a name, a person and a current folder."""
    env = user.environment(**{"sandbox": SANDBOX, **settings})
    target = StdioServerParameters(command=ENTRY[0], args=list(ENTRY[1:]), env=env, cwd=folder)
    options = {
        "client_info": types.Implementation(name=name, version="1"),
        "elicitation_callback": person,
    }
    async with client_of(target, era, **options) as connection:
        yield connection


@pairs
async def test_each_person_decides_about_the_request_of_their_own_client(
    stocked_user: User, eras: tuple[str, str]
) -> None:
    user, ready = stocked_user, anyio.Event()
    persons = Person(YES, ready=ready), Person(NO, ready=ready)
    answers: dict[str, dict[str, Any]] = {}

    async def make(connection: Connection, request: dict[str, Any]) -> None:
        answers[request["name"]] = await connection.make(request)

    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(client(user, era, name, person))
            for era, name, person in zip(eras, ("agreeing", "declining"), persons, strict=True)
        ]
        async with anyio.create_task_group() as calls:
            for connection, request in zip(clients, (FETCH_ITEM, {**FETCH_ITEM, **OTHER}), strict=True):
                calls.start_soon(make, connection, request)
            for person in persons:
                await person.was_asked.wait()
            ready.set()
        (shown,) = await status(user)
    assert sorted(each["name"] for each in shown["clients"]) == ["agreeing 1", "declining 1"]
    assert answers["fetch_item"]["status"] == "created"
    assert answers["fetch_other"]["status"] == "needs_approval"
    for person, name in zip(persons, ("fetch_item", "fetch_other"), strict=True):
        (question,) = person.asked
        assert f"{name} v1" in question.message
    (approved,) = await journal(user.home, "approved")
    (refused,) = await journal(user.home, "not approved")
    assert (approved["client"], refused["client"]) == ("agreeing 1", "declining 1")


@pairs
async def test_a_cancellation_and_progress_reach_the_call_of_their_own_client(
    stocked_user: User, eras: tuple[str, str]
) -> None:
    user = stocked_user
    stages: dict[str, list[tuple[float, str | None]]] = {"one": [], "two": []}
    ended: list[tuple[str, Any]] = []

    async def run(name: str, connection: Connection) -> None:
        async def on_progress(done: float, _total: float | None, stage: str | None) -> None:
            stages[name].append((done, stage))

        asked = {"code": f"mark_run_code_{name}"}
        answer = await connection.client.call_tool("run_code", asked, progress_callback=on_progress)
        ended.append((name, answer.structured_content["result"]))

    async with client(user, eras[0], "one") as one, client(user, eras[1], "two") as two:
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(run, "two", two)
            async with anyio.create_task_group() as cancelled:
                cancelled.start_soon(run, "one", one)  # both requests have the same id
                for name in stages:
                    await there(user.folder / f"mark_run_code_{name}.began")
                cancelled.cancel_scope.cancel()
            await there(user.folder / "mark_run_code_one.cancelled")

            async def on_progress(done: float, _total: float | None, stage: str | None) -> None:
                stages["one"].append((done, stage))

            stages["one"].clear()
            assert (await one.make(FETCH_ITEM, progress_callback=on_progress))["status"] == "needs_approval"
            assert ended == []
            (user.folder / "mark_run_code_two.go").touch()
        assert ended == [("two", 7)]
        assert not (user.folder / "mark_run_code_two.cancelled").exists()
        assert len(user.servers()) == 1
    assert [done for done, _ in stages["one"]] == sorted({done for done, _ in stages["one"]})
    assert {"static", "examples"} <= {stage for _, stage in stages["one"]}
    assert not {"static", "examples"} & {stage for _, stage in stages["two"]}


async def test_who_cancels_what_another_client_waits_for_too_takes_it_from_nobody(stocked_user: User) -> None:
    user = stocked_user
    request = {**FETCH_ITEM, "code": FETCH_ITEM["code"] + "# mark_made\n"}
    answers: list[dict[str, Any]] = []

    async def make(connection: Connection) -> None:
        answers.append(await connection.make(request))

    async with (
        client(user, "legacy", "one") as one,
        client(user, "modern", "two") as two,
        anyio.create_task_group() as waiting,
    ):
        waiting.start_soon(make, two)
        await there(user.folder / "mark_made.began")
        async with anyio.create_task_group() as cancelled:
            cancelled.start_soon(make, one)
            await one.tools()  # the call has reached the server
            cancelled.cancel_scope.cancel()
        await one.tools()  # its cancellation, too
        (user.folder / "mark_made.go").touch()
    assert [answer["status"] for answer in answers] == ["needs_approval"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_client_reads_the_files_of_its_own_folder(stocked_user: User, era: str) -> None:
    user = stocked_user
    async with AsyncExitStack() as stack:
        for name in ("one", "two"):
            folder = user.folder / name
            folder.mkdir()
            (folder / "a.txt").write_text(f"plans of {name}")
            here = {"folder": folder, "sandbox": "wasm", "workspace": "."}
            connection = await stack.enter_async_context(client(user, era, name, Person(), **here))
            answer = await connection.client.call_tool("run_code", {**READS, "needs": NEEDS})
            assert answer.structured_content["result"] == f"plans of {name}"
        assert len(user.servers()) == 2
