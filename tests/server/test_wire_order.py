"""The order of what a server process writes on its one pipe: the hint, the list that follows it, the answer."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.server.drafts import REPEAT, VOWEL_SHARE
from tests.server.processes import Peer, environment, started

pytestmark = pytest.mark.process

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HINT = "notifications/tools/list_changed"


class Host:
    """A client by hand: its requests go out as told, and what comes back is noted in order."""

    def __init__(self, peer: Peer, era: str) -> None:
        self.peer = peer
        self.seen: list[str] = []
        self._meta = {"_meta": MODERN} if era == "modern" else {}

    async def send(self, label: str, method: str, **params: Any) -> None:
        await self.peer.send(method, params | self._meta, id=label)

    async def until(self, wanted: str) -> dict[str, Any]:
        """Reads on until an answer or a hint of that name has come."""
        while True:
            message = await self.peer.message()
            name = message.get("id", message.get("method"))
            if name in (HINT, "list", "made", "found", "listen"):
                self.seen.append(name)
            if name == wanted:
                return message

    async def call(self, label: str, tool: str, /, **arguments: Any) -> None:
        await self.send(label, "tools/call", name=tool, arguments=arguments)

    async def list(self) -> None:
        await self.send("list", "tools/list")

    async def made(self) -> tuple[str, str]:
        answer = (await self.until("made"))["result"]["structuredContent"]
        return answer["call"], answer["visible"]


@asynccontextmanager
async def host(home: Path, era: str, waits_s: float) -> AsyncIterator[Host]:
    """A client that has connected and listed once, of a server that waits so long for a list."""
    entry = (
        "from alita_mcp.server.results import visibility; from alita_mcp.server.transports import entry; "
        f"visibility.LISTS_WITHIN_S = {waits_s}; entry.main()"
    )
    env = environment(home=home, sandbox="wasm")
    async with started((sys.executable, "-c", entry), env, home.parent) as peer:
        opened = Host(peer, era)
        if era == "legacy":
            await peer.initialize()
        else:
            await opened.send("listen", "subscriptions/listen", notifications={"toolsListChanged": True})
            while (await peer.message())["method"] != "notifications/subscriptions/acknowledged":
                pass
        await opened.list()
        await opened.until("list")
        opened.seen.clear()
        yield opened


@pytest.mark.sample(1)
@pytest.mark.both_eras
async def test_the_hint_goes_out_then_the_list_then_the_answer(home: Path, era: str) -> None:
    async with host(home, era, 600.0) as follower:
        await follower.call("made", "synthesize_tool", **VOWEL_SHARE)
        await follower.until(HINT)
        await follower.list()
        assert await follower.made() == ("direct", "now")

    assert follower.seen == [HINT, "list", "made"]


@pytest.mark.sample(1)
@pytest.mark.both_eras
async def test_one_that_never_lists_again_gets_the_hint_and_then_the_answer(home: Path, era: str) -> None:
    async with host(home, era, 0.01) as silent:
        await silent.call("made", "synthesize_tool", **VOWEL_SHARE)
        assert await silent.made() == ("run_tool", "after reconnect")

    assert silent.seen == [HINT, "made"]


async def test_a_client_that_went_on_listening_hears_of_the_second_tool_too(home: Path) -> None:
    async with host(home, "modern", 600.0) as follower:
        for tool in (VOWEL_SHARE, REPEAT):
            await follower.call("made", "synthesize_tool", **tool)
            await follower.until(HINT)
            await follower.list()
            assert await follower.made() == ("direct", "now")

    assert follower.seen == [HINT, "list", "made"] * 2
