"""The relay between a client and scripted servers: what it passes, what it keeps, and what the client never notices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import psutil
import pytest

from alita_mcp.server.transports.local.servers import POLL_S
from tests.server.local.conftest import User
from tests.server.local.scripted_server import Link, ScriptedServer, listening
from tests.server.processes import ENTRY, INITIALIZE, META, PATIENCE_S, Peer, gone, started

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and descriptors"),
]
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST_CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}
FORM = {"message": "Approve?", "requestedSchema": {"type": "object", "properties": {}}}


@asynccontextmanager
async def relayed(user: User) -> AsyncIterator[tuple[Peer, ScriptedServer]]:
    """A client's relay, and the server that it finds."""
    async with (
        listening(user.endpoint()) as server,
        started(ENTRY, user.environment(), user.folder) as client,
    ):
        yield client, server


async def greeted(client: Peer, server: ScriptedServer) -> Link:
    """The server's connection once the client of a 2025 protocol has initialized."""
    await client.initialize()
    link = await server.link()
    await greet_again(link)
    return link


async def greet_again(link: Link) -> None:
    """Takes the handshake of a client of a 2025 protocol."""
    initialize = await link.message()
    assert (initialize["method"], initialize["params"]) == ("initialize", INITIALIZE)
    await link.answer(initialize["id"], serverInfo={"name": "scripted", "version": "1"})
    assert await link.message() == INITIALIZED


def call(name: str) -> dict[str, Any]:
    return {"name": name, "arguments": {}}


async def test_messages_pass_as_they_are_both_ways(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        lines = [
            b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": "\\ud800 \\u2028"}}\n',
            b"no json\n", b"\xff\xfe\x00\n", b"\n", b"[]\n", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n',
            b'{"jsonrpc":"2.0","id":true,"method":"ping"}\n', b'{"id":null,"result":1}\n', b"[" * 100_000 + b"\n",
            b'{"jsonrpc":"2.0","id":[1],"method":7}\n', b'{"id":' + b"9" * 5_000 + b',"method":"x"}\n',
        ]  # fmt: skip
        await client.write(b"".join(lines))
        assert [await link.line() + b"\n" for _ in lines] == lines
        for message in (
            {"id": 7, "result": {"text": "é\u2028"}},
            {"id": None, "error": {"code": -32700, "message": "no"}},
        ):
            await link.send(message)
            assert await client.message() == {"jsonrpc": "2.0", **message}
        await client.write(b'{"jsonrpc":"2.0","id":8,"method":"ping"}')  # no line end
        await client.end_input()
        assert await link.message() == {"jsonrpc": "2.0", "id": 8, "method": "ping"}
        assert await link.at_end()
        await link.answer(8, late=True)
        await link.die()
        assert json.loads(await client.rest()) == {"jsonrpc": "2.0", "id": 8, "result": {"late": True}}
        assert await client.ended() == 0


async def test_a_long_line_reaches_a_server_whole_that_does_not_read_for_a_while(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        async with anyio.create_task_group() as sending:
            sending.start_soon(client.send, "tools/call", {"name": "x", "text": "x" * 4_000_000})
            await anyio.sleep(2 * POLL_S)  # what is waited for is the relay's own timeout
            sending.start_soon(client.send, "second")
            assert len((await link.message())["params"]["text"]) == 4_000_000
            assert (await link.message())["method"] == "second"


async def test_a_call_lost_with_its_server_gets_an_error_and_all_else_another_server(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        await client.send("tools/call", call("run_code"), id="a call")
        await client.send("tools/call", call("search_capabilities"), id="a search")
        await client.send("tools/list", id=30)
        await client.send("logging/setLevel", {"level": "error"}, id=31)
        await client.send("resources/subscribe", {"uri": "alita://tools"}, id=32)
        sent = [await link.message() for _ in range(5)]
        await link.answer(31)
        await link.answer(32)
        assert [(await client.message())["id"] for _ in range(2)] == [31, 32]
        await link.stream.send(b'{"jsonrpc":"2.0","id":30,"result":{"tools":[{"na')
        await link.die()
        lost = await client.message()
        assert (lost["id"], lost["error"]["code"]) == ("a call", -32603)
        assert "ended while this call was under way" in lost["error"]["message"]

        other = await server.link()
        await greet_again(other)
        again = [await other.message() for _ in range(4)]
        assert again == [sent[3], sent[4], sent[1], sent[2]]
        await other.answer(31)
        await other.answer(32)
        await other.answer(30, tools=[])
        await other.answer("a search", found=[])
        told = [await client.message() for _ in range(3)]
        assert told[0] == LIST_CHANGED
        assert [each["id"] for each in told[1:]] == [30, "a search"]


async def test_a_server_that_dies_before_it_answers_initialize_leaves_no_trace(user: User) -> None:
    async with relayed(user) as (client, server):
        await client.initialize()
        await (await server.link()).die()
        await client.send("tools/list", id=5)
        link = await server.link()
        await greet_again(link)
        assert (await link.message())["id"] == 5
        await link.answer(5, tools=[])
        assert (await client.message())["id"] == 5


async def test_a_request_that_ends_each_server_is_given_up(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        await client.send("resources/read", {"uri": "alita://tools"}, id=50)
        servers = 0
        while (await link.message()).get("id") == 50:
            servers += 1
            await link.die()
            link = await server.link()
            await greet_again(link)
            await client.send("ping", id=1_000 + servers)
        assert 1 < servers < 5
        answers = [await client.message() for _ in range(servers + 1)]
        assert [each["error"]["code"] for each in answers if each.get("id") == 50] == [-32603]


async def test_an_answer_to_a_server_that_is_gone_never_answers_another_one(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        await link.send({"id": 1, "method": "elicitation/create", "params": FORM})
        old = await client.message()
        assert old["params"] == FORM
        await link.die()
        other = await server.link()
        await greet_again(other)
        assert await client.message() == LIST_CHANGED

        await other.send({"id": 1, "method": "elicitation/create", "params": FORM})
        new = await client.message()
        assert new["id"] != old["id"]
        await client.write(
            json.dumps({"jsonrpc": "2.0", "id": old["id"], "result": {"action": "accept"}}).encode()
        )
        await client.write(b"\n")
        await client.write(
            json.dumps({"jsonrpc": "2.0", "id": new["id"], "result": {"action": "decline"}}).encode()
        )
        await client.write(b"\n")
        assert await other.message() == {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}}

        await other.send({"id": 2, "method": "elicitation/create", "params": FORM})
        newest = (await client.message())["id"]
        await other.send({"method": "notifications/cancelled", "params": {"requestId": 2, "reason": "r"}})
        assert (await client.message())["params"] == {"requestId": newest, "reason": "r"}


async def test_a_question_that_the_client_never_answers_is_no_trap_for_the_next_one(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        await link.send({"id": 1, "method": "elicitation/create", "params": FORM})
        await client.message()
        await link.die()
        other = await server.link()
        await greet_again(other)
        assert await client.message() == LIST_CHANGED
        await other.send({"id": 1, "method": "elicitation/create", "params": FORM})
        asked = await client.message()
        await client.write(
            json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}}).encode()
        )
        await client.write(b"\n")
        assert await other.message() == {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}


async def test_a_modern_client_that_listens_hears_of_the_lists_of_another_server(user: User) -> None:
    async with relayed(user) as (client, server):
        listen = {"_meta": META, "notifications": {"toolsListChanged": True}}
        await client.send("subscriptions/listen", listen, id="stream")
        link = await server.link()
        assert (await link.message())["params"] == listen
        await link.die()
        other = await server.link()
        assert (await other.message())["params"] == listen
        changed = await client.message()
        assert changed["method"] == "notifications/tools/list_changed"
        assert changed["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "stream"}


async def test_a_client_that_waits_for_nothing_has_no_server_started_and_finds_that_of_others(
    user: User,
) -> None:
    async with started(ENTRY, user.environment(), user.folder) as client:
        async with listening(user.endpoint()) as server:
            await greeted(client, server)
        await anyio.sleep(3 * POLL_S)  # what is waited for is the relay's own timeout
        assert user.servers() == []
        async with listening(user.endpoint()) as server:
            await greet_again(await server.link())
            assert await client.message() == LIST_CHANGED


async def test_a_list_that_was_open_when_the_server_was_stopped_is_answered_by_the_next(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        await client.send("tools/list", id=3)
        await client.send("tools/call", call("run_code"), id="a call")
        for _ in range(2):
            await link.message()
        closed = {"code": -32000, "message": "Connection closed"}
        for number in (3, "a call"):
            await link.send({"id": number, "error": closed})
        await link.die()
        assert "ended while this call was under way" in (await client.message())["error"]["message"]
        other = await server.link()
        await greet_again(other)
        assert (await other.message())["id"] == 3
        await other.answer(3, tools=[])
        assert [await client.message() for _ in range(2)] == [
            LIST_CHANGED,
            {"jsonrpc": "2.0", "id": 3, "result": {"tools": []}},
        ]


async def test_a_relay_that_can_start_no_other_server_serves_its_client_itself(
    stocked_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = stocked_user
    monkeypatch.setattr(sys, "executable", "/nowhere/python")  # as after an upgrade to another folder
    run = "from alita_mcp.server.transports.entry import main; main()"
    moved = (ENTRY[0], "-c", f"import sys; sys.executable = {sys.executable!r}; {run}")
    async with started(moved, user.environment(), user.folder) as client:
        async with listening(user.endpoint()) as server:
            link = await greeted(client, server)
        user.endpoint().address.unlink()
        big = {**call("search_capabilities"), "arguments": {"query": "x" * 2_000_000}}
        await client.send("tools/call", big, id="longer than a socket holds")
        await client.send("tools/list", id=5)
        await link.die()
        answers = {message.get("id"): message for message in [await client.message() for _ in range(3)]}
        assert answers[5]["result"]["tools"]
        assert "longer than a socket holds" in answers
        assert "serving this client alone" in client.stderr
        await client.end_input()
        assert await client.ended() == 0
        assert "Traceback" not in client.stderr


async def test_what_the_client_cancelled_is_not_asked_again(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        for number in ("one", "two"):
            await client.send("resources/read", {"uri": "alita://tools"}, id=number)
        await client.send("notifications/cancelled", {"requestId": "one"})
        for _ in range(3):
            await link.message()
        await link.die()
        other = await server.link()
        await greet_again(other)
        assert (await other.message())["id"] == "two"


@pytest.mark.parametrize("rogue", ["another key", "another protocol", "closes", "floods", "deep"])
async def test_a_rogue_at_the_socket_gets_no_message_of_the_client(user: User, rogue: str) -> None:
    said = {
        "another key": b'{"alita":"server","proof":"00","nonce":"once"}\n',
        "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
        "floods": b"x" * 1_000_000,
        "deep": b"[" * 4_000 + b"\n",
    }
    async with relayed(user) as (client, server):
        await client.initialize()
        if rogue == "closes":
            async with anyio.create_task_group() as closing:

                async def close_each() -> None:
                    while True:
                        await (await server.accept()).aclose()

                closing.start_soon(close_each)
                await client.send("notifications/cancelled", {"requestId": 5})
                client.process.terminate()
                assert await client.ended() == 143
                closing.cancel_scope.cancel()
            return
        stream = await server.accept()
        hello = await stream.receive()
        try:
            await stream.send(said[rogue])
            while rest := await stream.receive():
                hello += rest
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass
        await client.says("serving this client alone")
        assert b"jsonrpc" not in hello
        assert user.endpoint().key.hex().encode() not in hello


async def test_a_client_is_greeted_while_whoever_listens_says_nothing(user: User) -> None:
    async with relayed(user) as (client, server):
        answer = await client.initialize()
        assert answer["result"]["serverInfo"]["name"] == "alita"
        assert "alone" not in client.stderr
        await server.accept()


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129), (None, 0)],
    ids=["SIGTERM", "SIGINT", "SIGHUP", "end of input"],
)
async def test_the_end_lets_the_server_answer_what_it_still_can(
    user: User, number: signal.Signals | None, status: int
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a test run under `nohup` would hand it on
    try:
        async with relayed(user) as (client, server):
            link = await greeted(client, server)
            await client.send("tools/call", call("x"), id=9)
            await link.message()
            if number is None:
                await client.end_input()
            else:
                client.process.send_signal(number)
            assert await link.at_end()
            await link.answer(9, done=True)
            await link.die()
            assert json.loads(await client.rest())["id"] == 9
            assert await client.ended() == status
            assert "Traceback" not in client.stderr
    finally:
        signal.signal(signal.SIGHUP, before)


async def test_a_client_that_stops_reading_can_still_end_its_relay(user: User) -> None:
    async with relayed(user) as (client, server):
        link = await greeted(client, server)
        with anyio.move_on_after(3 * POLL_S):  # both pipes are full by then
            while True:
                await link.send({"id": 1, "result": {"text": "x" * 1_000_000}})
        client.process.terminate()
        assert await client.ended() == 143
        assert "Traceback" not in client.stderr


async def test_a_client_that_closed_its_end_is_gone(user: User) -> None:
    our_output, its_output = os.pipe()
    async with (
        listening(user.endpoint()) as server,
        await anyio.open_process(
            ENTRY,
            stdin=subprocess.PIPE,
            stdout=its_output,
            stderr=None,
            env=user.environment(),
            cwd=user.folder,
        ) as process,
    ):
        os.close(its_output)
        link = await server.link()
        os.close(our_output)
        await link.send({"method": "notifications/message"})
        assert await link.at_end()
        await link.die()
        assert await process.wait() == 0


async def test_a_relay_whose_parent_died_ends_though_its_input_is_held_open(user: User) -> None:
    parent = f"""if True:
        import os, subprocess, sys, time
        reads, writes = os.pipe()
        holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], pass_fds=(writes,))
        relay = subprocess.Popen({list(ENTRY)!r}, stdin=reads, stdout=subprocess.DEVNULL)
        print("pids", holder.pid, relay.pid, file=sys.stderr, flush=True)
        time.sleep(300)
    """
    async with (
        listening(user.endpoint()) as server,
        started((sys.executable, "-c", parent), user.environment(), user.folder) as peer,
    ):
        holder, relay = map(psutil.Process, map(int, (await peer.says("pids")).split()[1:]))
        try:
            link = await server.link()
            peer.process.kill()
            assert await link.at_end()
            await link.die()
            await gone([relay])
            assert holder.is_running()
        finally:
            holder.kill()


async def test_pipes_that_do_not_block_lose_nothing(user: User) -> None:
    (its_input, our_input), (our_output, its_output) = os.pipe(), os.pipe()
    for descriptor in (its_input, its_output):
        os.set_blocking(descriptor, False)
    async with listening(user.endpoint()) as server:
        process = await anyio.open_process(
            ENTRY, stdin=its_input, stdout=its_output, stderr=None, env=user.environment(), cwd=user.folder
        )
        os.close(its_input)
        os.close(its_output)
        link = await server.link()
        big = b'{"jsonrpc":"2.0","method":"x","params":{"text":"' + b"x" * 1_000_000 + b'"}}\n'
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, os.write, our_input, big)
            assert await link.line() + b"\n" == big
            tasks.start_soon(link.stream.send, big)
            received = b""
            with anyio.fail_after(PATIENCE_S):
                while len(received) < len(big):
                    received += await anyio.to_thread.run_sync(os.read, our_output, 1_000)
            assert received == big
        os.close(our_input)
        assert await link.at_end()
        await link.die()
        assert await process.wait() == 0
        os.close(our_output)
        await process.aclose()
