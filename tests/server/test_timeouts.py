"""Clients that give up: after a time-out the work goes on and is found again; who stops it leaves nothing behind."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import Client, MCPError
from mcp.client._memory import InMemoryTransport
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.server import rounds
from alita_mcp.server.build import DualEraServer
from alita_mcp.server.client import timeouts
from alita_mcp.settings import FixedLimits, Settings
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.drafts import VOWEL_SHARE, draft
from tests.server.in_memory import PATIENCE_S, Build, connected, names_of, refused, succeeded
from tests.server.processes import INITIALIZE
from tests.server.test_http import listening

SLOW = draft(tests=[*VOWEL_SHARE["tests"], {"arguments": {"text": "now"}, "expected": 0.33}])
TIME_OUTS = (
    "timed out after 5.0s",
    "McpError: MCP error -32001: Request timed out",
    "TimeoutError: The operation was aborted due to timeout",
    "context deadline exceeded",
)
STOPS = (
    "caller cancelled",
    "AbortError: This operation was aborted",
    "context canceled",
    "stopped by the user for the third time",
    None,
    7,
)


class Held(ScriptedSandbox):
    """Passes the gates as VOWEL_SHARE would, and holds each run of the text `now` until `go_on`."""

    def __init__(self) -> None:
        super().__init__(self._as_told)
        self.held = 0
        self.running, self.ended, self.go_on = anyio.Event(), anyio.Event(), anyio.Event()

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if job.arguments.get("text") == "now" and not self.go_on.is_set():
            self.held += 1
            self.running.set()
            try:
                await self.go_on.wait()
            finally:
                self.ended.set()
        return await super().run(job, broker)

    def _as_told(self, job: Job) -> RunResult:
        for example in SLOW["tests"]:
            if example["arguments"] == job.arguments and "expected" in example:
                return RunResult(status="ok", value=example["expected"])
        if job.arguments["text"] == "42":
            return RunResult(status="error", error_type="ValueError", message="no letters")
        return RunResult(status="ok", value=0.5)


@pytest.fixture
def sandbox() -> Held:
    return Held()


async def given_up(client: Client, sandbox: Held) -> None:
    """Calls with a time-out of a second, until the work has begun and a call has timed out."""
    timed_out = False
    while not (timed_out and sandbox.running.is_set()):
        try:
            await client.call_tool("synthesize_tool", SLOW, read_timeout_seconds=1)
        except MCPError as failure:
            timed_out = failure.error.code == types.REQUEST_TIMEOUT


async def outcome(client: Client) -> dict[str, Any]:
    """What the same request is answered in the end; `working` comes soon after a client gave up."""
    while True:
        answer = await succeeded(client, "synthesize_tool", **SLOW)
        if answer["status"] != "working":
            return answer


async def listed(client: Client) -> None:
    while "vowel_share" not in await names_of(client):  # noqa: ASYNC110 - the test does not listen
        await anyio.sleep(0.02)


@pytest.mark.slow
@pytest.mark.both_eras
async def test_a_client_whose_call_timed_out_finds_its_tool_by_the_same_request(
    build: Build, era: str, sandbox: Held
) -> None:
    async with over_streams(build(sandbox=sandbox), era) as client:
        await given_up(client, sandbox)
        assert not sandbox.ended.is_set()

        sandbox.go_on.set()
        made = await outcome(client)

        assert (made["status"], made["version"], made["tests"]) == ("created", 1, "5/5")
        assert sandbox.held == 1
        assert (await succeeded(client, "inspect_tool", name="vowel_share"))["versions"] == [1]


@pytest.mark.slow
async def test_a_client_that_asks_again_after_a_time_out_is_answered_before_the_next(
    build: Build, era: str, sandbox: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "NO_TIMEOUT_WITHIN_S", 0.2)
    async with over_streams(
        build(sandbox=sandbox, settings={"limits": FixedLimits(answer_within_s=100_000)}), era
    ) as client:
        await given_up(client, sandbox)
        answer = await succeeded(client, "synthesize_tool", **SLOW)
        assert answer["status"] == "working"
        again = await succeeded(client, "synthesize_tool", job_id=answer["job_id"])
        assert (again["status"], again["job_id"]) == ("working", answer["job_id"])
        sandbox.go_on.set()
        while answer["status"] == "working":
            answer = await succeeded(client, "synthesize_tool", job_id=answer["job_id"])
        assert answer["status"] == "created"


@pytest.mark.slow
@pytest.mark.parametrize("reason", TIME_OUTS)
async def test_a_cancellation_that_speaks_of_time_leaves_the_work(
    build: Build, sandbox: Held, reason: str
) -> None:
    async with by_hand(build(sandbox=sandbox)) as peer:
        await peer.ask(1, SLOW)
        await sandbox.running.wait()
        await peer.cancel(1, reason)
        sandbox.go_on.set()
        status, number = "working", 1
        while status == "working":
            number += 1
            await peer.ask(number, SLOW)
            status = (await peer.answer(number))["status"]
        assert status == "created"
    assert sandbox.held == 1


@pytest.mark.slow
@pytest.mark.parametrize("reason", STOPS)
async def test_any_other_cancellation_stops_the_work_and_leaves_nothing(
    build: Build, sandbox: Held, reason: object
) -> None:
    server = build(sandbox=sandbox)
    async with by_hand(server) as peer:
        await peer.ask(1, SLOW)
        await sandbox.running.wait()
        await peer.cancel(1, reason)
        await sandbox.ended.wait()
        async with connected(server, "legacy") as client:
            assert "vowel_share" not in await names_of(client)
            assert "vowel_share" in await refused(client, "inspect_tool", name="vowel_share")


async def test_one_client_cannot_end_the_wait_of_another(build: Build, sandbox: Held) -> None:
    server = build(sandbox=sandbox)
    async with by_hand(server) as peer, by_hand(server) as stranger:
        await peer.ask(1, SLOW)
        await sandbox.running.wait()
        for request in (1, "1", 2, None, {}):
            await stranger.cancel(request, "stop")
        await stranger.ask(9, {"description": "Anything that needs code."})
        assert (await stranger.answer(9))["status"] == "needs_code"
        sandbox.go_on.set()
        assert (await peer.answer(1))["status"] == "created"


@pytest.mark.slow
async def test_a_stream_that_is_closed_late_ends_the_waiting_and_not_the_work(
    build: Build, settings: Settings, era: str, sandbox: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "NO_TIMEOUT_WITHIN_S", 0.2)
    async with over_http(settings, build(sandbox=sandbox), era) as client:
        await given_up(client, sandbox)
        sandbox.go_on.set()
        assert (await outcome(client))["status"] == "created"
    assert sandbox.held == 1


@asynccontextmanager
async def over_streams(server: DualEraServer, era: str) -> AsyncIterator[Client]:
    """As over stdio, where both eras say why they cancel; the SDK's short way in memory says nothing."""
    async with connected(InMemoryTransport(server), era) as client:
        yield client


@asynccontextmanager
async def over_http(settings: Settings, server: DualEraServer, era: str) -> AsyncIterator[Client]:
    mode = "legacy" if era == "legacy" else "auto"
    async with listening(settings, server=server) as url, Client(url, mode=mode) as client:
        yield client


class ByHand:
    """A client of the 2025 protocol, one message at a time."""

    def __init__(
        self,
        reads: MemoryObjectReceiveStream[SessionMessage | Exception],
        writes: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        self._reads = reads
        self._writes = writes

    async def send(self, method: str, params: dict[str, Any] | None = None) -> None:
        message = types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
        await self._writes.send(SessionMessage(message))

    async def request(self, number: int, method: str, params: dict[str, Any]) -> None:
        message = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
        await self._writes.send(SessionMessage(message))

    async def ask(self, number: int, wanted: dict[str, Any]) -> None:
        await self.request(number, "tools/call", {"name": "synthesize_tool", "arguments": wanted})

    async def cancel(self, request: object, reason: object) -> None:
        params = {"requestId": request, **({} if reason is None else {"reason": reason})}
        await self.send("notifications/cancelled", params)

    async def answer(self, number: int) -> dict[str, Any]:
        """The structured answer to a request; whatever else arrives before it is left out."""
        while True:
            received = await self._reads.receive()
            assert isinstance(received, SessionMessage)
            message = received.message
            if isinstance(message, types.JSONRPCResponse) and message.id == number:
                return dict(message.result.get("structuredContent", {}))


@asynccontextmanager
async def by_hand(server: Server[Any]) -> AsyncIterator[ByHand]:
    with anyio.fail_after(PATIENCE_S):
        async with (
            create_client_server_memory_streams() as (mine, theirs),
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(server.run, *theirs, server.create_initialization_options())
            peer = ByHand(*mine)
            await peer.request(0, "initialize", INITIALIZE)
            await peer.answer(0)
            await peer.send("notifications/initialized")
            yield peer
            tasks.cancel_scope.cancel()
