"""The shared server with real clients: what they share, what they do not, and what ends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil
import pytest
from mcp import StdioServerParameters

from tests.living import alive
from tests.server.connections import SHOUT, Connection, client_of, publish_spin
from tests.server.local.conftest import User, in_home
from tests.server.local.scripted_server import listening
from tests.server.processes import ENTRY, META, PATIENCE_S, RUN_ALITA, gone, started

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and sockets"),
]
ROOT = Path(__file__).resolve().parents[3]
TURNS = 10**12
"""Of SPIN: more than anybody waits for."""


@asynccontextmanager
async def client(user: User, era: str = "modern", **settings: str | Path) -> AsyncIterator[Connection]:
    """One of the user's clients, on the SDK."""
    target = StdioServerParameters(command=ENTRY[0], args=list(ENTRY[1:]), env=user.environment(**settings))
    async with client_of(target, era) as connection:
        yield connection


def alita(user: User, *words: str) -> subprocess.CompletedProcess[str]:
    """What the user types."""
    return subprocess.run(
        [sys.executable, "-c", RUN_ALITA, *words],
        env=user.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


async def status(user: User) -> list[dict[str, Any]]:
    """The servers, as `alita status` shows them."""
    said = await anyio.to_thread.run_sync(alita, user, "status", "--json")
    servers: list[dict[str, Any]] = json.loads(said.stdout)["servers"]
    return servers


async def test_a_changed_settings_file_holds_for_the_next_client(stocked_user: User) -> None:
    user, file = stocked_user, stocked_user.home / "alita.toml"
    async with client(user) as first:
        await first.tools()
        file.write_text('policy = "locked"\n', encoding="utf-8")
        async with client(user) as second:
            refused = await second.make(SHOUT)
            assert "locked" in str(refused), refused
            made = await first.make(SHOUT)
            assert made["status"] == "created", made
            assert len(user.servers()) == 2


async def test_a_broken_settings_file_ends_the_start_with_its_line(stocked_user: User) -> None:
    user, file = stocked_user, stocked_user.home / "alita.toml"
    file.write_text("# mine\npolicy =\n", encoding="utf-8")
    async with started(ENTRY, user.environment(), user.folder) as refused:
        assert await refused.ended() == 2
        assert (
            f"alita-mcp-server: {file} is not valid TOML: Invalid value (at line 2, column 9)"
            in refused.stderr
        )
        assert "Traceback" not in refused.stderr
    assert user.servers() == []


async def test_a_tool_of_one_client_is_in_the_lists_of_all_of_this_home_and_of_no_other(
    stocked_user: User, stocked: Path
) -> None:
    user = stocked_user
    shutil.copytree(stocked, user.folder / "other")
    async with AsyncExitStack() as stack:
        maker = await stack.enter_async_context(client(user, "legacy"))
        others = [await stack.enter_async_context(client(user, era)) for era in ("legacy", "modern")]
        stranger = await stack.enter_async_context(client(user, "modern", home=user.folder / "other"))
        stages: list[str | None] = []

        async def on_progress(_done: float, _total: float | None, message: str | None) -> None:
            stages.append(message)

        assert SHOUT["name"] not in [tool.name for tool in await others[0].tools()]
        made = await maker.make(SHOUT, progress_callback=on_progress)
        assert made["status"] == "created", made
        assert stages
        for other in (*others, maker):
            assert (await other.tool(SHOUT["name"])).name == SHOUT["name"]
        answer = await others[1].client.call_tool(SHOUT["name"], {"text": "hello"})
        assert answer.structured_content == {"result": "HELLO!"}
        assert SHOUT["name"] not in [tool.name for tool in await stranger.tools()]
        unknown = await stranger.client.call_tool("run_tool", {"name": SHOUT["name"], "arguments": {}})
        assert unknown.is_error
        assert len(user.servers()) == 2

        (shown,) = await status(user)
        assert shown["home"] == str(user.home)
        assert len(shown["clients"]) == 3
        assert {each["name"] for each in shown["clients"]} == {"mcp 0.1.0"}
        assert psutil.Process(shown["pid"]) in user.servers()

        stopped = await anyio.to_thread.run_sync(alita, user, "stop")
        assert f"stopped server {shown['pid']}" in stopped.stdout, stopped
        await gone([psutil.Process(shown["pid"])] if psutil.pid_exists(shown["pid"]) else [])
        assert await status(user) == []
        again = await others[0].client.call_tool(SHOUT["name"], {"text": "hello"})
        assert again.structured_content == {"result": "HELLO!"}
        with anyio.fail_after(PATIENCE_S):
            while len((await status(user))[0]["clients"]) < 3:  # noqa: ASYNC110 - nothing tells
                await anyio.sleep(0.1)
    stopped = await anyio.to_thread.run_sync(alita, user, "stop")
    assert "No server" in (await anyio.to_thread.run_sync(alita, user, "stop")).stdout


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_is_killed_in_a_call_is_replaced_and_nothing_published_is_lost(
    stocked_user: User, era: str
) -> None:
    user = stocked_user
    await publish_spin(user.home)
    async with started(ENTRY, user.environment(), user.folder) as peer:
        params: dict[str, Any] = {} if era == "legacy" else {"_meta": META}
        if era == "legacy":
            await peer.initialize()
        else:
            await peer.request("server/discover", params)
            await peer.send(
                "subscriptions/listen", {**params, "notifications": {"toolsListChanged": True}}, id="stream"
            )
            assert (await peer.message())["method"] == "notifications/subscriptions/acknowledged"
        calls = {
            **params,
            "name": "run_tool",
            "arguments": {"name": "spin_around", "arguments": {"turns": 4}},
        }
        for _ in range(2):
            assert '{"result":6}' in json.dumps(await peer.request("tools/call", calls)).replace(" ", "")
            endless = {**calls, "arguments": {"name": "spin_around", "arguments": {"turns": TURNS}}}
            await peer.send("tools/call", endless, id="endless")
            await peer.request("tools/list", params)  # the call has reached the server
            (await user.server()).kill()
            await peer.send("tools/list", params, id="a list")
            answers: dict[Any, Any] = {}
            while not {"endless", "a list"} <= answers.keys():
                message = await peer.message()
                answers[message.get("id", message.get("method"))] = message
            assert "another one has taken its place" in answers["endless"]["error"]["message"]
            assert "spin_around" not in json.dumps(answers["endless"])
            assert answers["a list"]["result"]["tools"]
            assert "notifications/tools/list_changed" in answers
        assert [each.name() for each in user.servers()] != []


async def test_servers_that_are_killed_at_their_start_are_started_again(stocked_user: User) -> None:
    async with started(ENTRY, stocked_user.environment(), stocked_user.folder) as peer:
        await peer.initialize()
        for _ in range(2):
            (await stocked_user.server()).kill()
        assert (await peer.request("tools/list"))["result"]["tools"]
        assert "alone" not in peer.stderr


async def test_versions_run_side_by_side_and_the_old_one_ends_with_its_last_client(
    stocked_user: User,
) -> None:
    user = stocked_user
    checkout = user.folder / "checkout"
    shutil.copytree(ROOT / "alita_mcp", checkout / "alita_mcp", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", checkout)
    env = {**user.environment(), "PYTHONPATH": str(checkout)}
    async with started(ENTRY, env, user.folder) as first:
        await first.initialize()
        assert (await first.request("tools/list"))["result"]["tools"]
        old = await user.server()
        (checkout / "alita_mcp" / "unseen.py").touch()
        async with started(ENTRY, env, user.folder) as second:
            await second.initialize()
            assert (await second.request("tools/list"))["result"]["tools"]
            assert (await first.request("tools/list"))["result"]["tools"]
            (new,) = [each for each in user.servers() if each != old]
            await first.end_input()
            assert await first.ended() == 0
            await gone([old])
            assert (await second.request("tools/list"))["result"]["tools"]
            await second.end_input()
            assert await second.ended() == 0
            assert alive(new)


async def test_whatever_connects_to_a_server_its_clients_are_served(stocked_user: User) -> None:
    user = stocked_user
    env = user.environment()
    limited = ("sh", "-c", 'ulimit -n 200; exec "$0" "$@"', *ENTRY)
    async with started(limited, env, user.folder) as peer, AsyncExitStack() as stack:
        await peer.initialize()
        assert (await peer.request("tools/list"))["result"]["tools"]
        server = await user.server()
        address = str(user.endpoint().address)

        def connect() -> socket.socket:
            opened = stack.enter_context(socket.socket(socket.AF_UNIX))
            opened.settimeout(PATIENCE_S)
            opened.connect(address)
            return opened

        wrong = [
            b"\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 100_000, b"[" * 4_000 + b"\n", b'{"alita":"mcp","nonce":7}\n',
            b'{"alita":"mcp"}\n{"proof":"' + b"0" * 64 + b'"}\n', b"\xff\xfe\n", b'{"alita":"stop"}\n{}\n',
        ]  # fmt: skip
        for said in wrong:
            there = connect()
            there.sendall(said[:60_000])
            heard = b""
            try:
                while more := await anyio.to_thread.run_sync(there.recv, 4_096):
                    heard += more
            except ConnectionResetError:
                pass
            assert b"jsonrpc" not in heard
        silent = []
        with suppress(BlockingIOError):
            while True:  # until it can take no more
                silent.append(connect())
        assert (await peer.request("tools/list"))["result"]["tools"]
        for there in silent:
            there.close()
        async with started(limited, env, user.folder) as another:
            await another.initialize()
            assert (await another.request("tools/list"))["result"]["tools"]
            assert "alone" not in another.stderr
        assert user.servers() == [server]


@pytest.mark.parametrize(
    ("settings", "file", "exit_status", "words"),
    [
        ({"promoted": "-1"}, "", 2, "ALITA_PROMOTED"),
        ({}, '{"format": 3, "alita": "2.4.0", "number": 1}', 7, "Upgrade alita-mcp-server 2.4.0 or later"),
    ],
    ids=["a bad setting", "a home of a newer alita"],
)
@pytest.mark.parametrize("moment", ["at the start", "after a loss"])
async def test_a_server_that_cannot_start_ends_the_relay_with_its_status_and_words(
    user: User, settings: dict[str, str], file: str, exit_status: int, words: str, moment: str
) -> None:
    user.home.mkdir()
    (user.home / "home.json").write_text(file or "{}")
    async with started(ENTRY, user.environment(**settings), user.folder) as peer:
        if moment == "after a loss":
            async with listening(user.endpoint(**settings)) as server:
                await peer.initialize()
                await server.link()
            user.endpoint(**settings).address.unlink()
        assert await peer.ended() == exit_status
        assert words in peer.stderr
        assert "Traceback" not in peer.stderr


@in_home
async def test_a_client_that_cannot_share_a_server_after_a_loss_gets_its_own(stocked_user: User) -> None:
    user = stocked_user
    async with started(ENTRY, user.environment(), user.folder) as peer:
        await peer.initialize()
        await peer.request("tools/list")
        user.endpoint().folder.chmod(0o755)
        (await user.server()).kill()
        assert (await peer.request("tools/list"))["result"]["tools"]
        assert "serving this client alone" in peer.stderr
        assert "Traceback" not in peer.stderr
        assert user.servers() == []
        await peer.end_input()
        assert await peer.ended() == 0


async def test_a_server_that_does_not_answer_is_named_by_status_and_stop(stocked_user: User) -> None:
    user = stocked_user
    async with started(ENTRY, user.environment(), user.folder) as peer:
        await peer.initialize()
        await peer.request("tools/list")
        server = await user.server()
        server.suspend()
        try:
            said = await anyio.to_thread.run_sync(alita, user, "stop")
            assert "does not answer" in said.stdout
            assert "No server" not in said.stdout
        finally:
            server.resume()
        assert (await peer.request("tools/list"))["result"]["tools"]


async def test_a_client_that_stops_reading_holds_up_no_other(stocked_user: User) -> None:
    user = stocked_user
    async with (
        started(ENTRY, user.environment(), user.folder) as deaf,
        started(ENTRY, user.environment(), user.folder) as peer,
    ):
        await deaf.initialize()
        await peer.initialize()
        big = {"name": "run_code", "arguments": {"code": "'x' * 200_000"}}
        for number in range(40):
            await deaf.send("tools/call", big, id=number)
        for number in range(300):
            await deaf.send("tools/list", id=f"list {number}")
        assert (await peer.request("tools/list"))["result"]["tools"]
        answer = await peer.request("tools/call", {"name": "run_code", "arguments": {"code": "6 * 7"}})
        assert "42" in json.dumps(answer)
        stopped = await anyio.to_thread.run_sync(alita, user, "stop")
        assert "stopped" in stopped.stdout
        assert (await peer.request("tools/list"))["result"]["tools"]


async def test_a_signal_ends_a_server_as_stop_does(stocked_user: User) -> None:
    user = stocked_user
    async with started(ENTRY, user.environment(), user.folder) as peer:
        await peer.initialize()
        await peer.request("tools/list")
        server = await user.server()
        os.kill(server.pid, signal.SIGTERM)
        await gone([server])
        assert user.servers() == []
        assert (await peer.request("tools/list"))["result"]["tools"]
