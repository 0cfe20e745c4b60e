"""Real agent clients, headless, with a scripted model: their very next request holds what `created` promised."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.clients.table import Launch
from tests.clients import wire
from tests.clients.agents import AGENTS, PINNED, QUIET, Agent
from tests.clients.conversation import Seen, assert_true, seen, shouting, stdio_command
from tests.clients.model_server import Script, model_server
from tests.conftest import CACHE
from tests.server.local.conftest import User
from tests.server.processes import started

Message = tuple[str, dict[str, Any]]
"""Who sent it, and what."""


@dataclass(frozen=True)
class Conversation:
    """What went over the wire and to the model."""

    wire: list[Message]
    seen: Seen

    def asked(self, method: str, name: str | None = None) -> dict[str, Any]:
        """The client's last request of a method, or its call of a tool."""
        return [
            message
            for sender, message in self.wire
            if sender == "client" and message.get("method") == method
            if name is None or message["params"]["name"] == name
        ][-1]

    def place(self, answered: dict[str, Any]) -> int:
        """Where on the wire a request of the client was answered."""
        return next(
            place
            for place, (sender, message) in enumerate(self.wire)
            if sender == "server" and "method" not in message and message["id"] == answered["id"]
        )

    @property
    def answer(self) -> dict[str, Any]:
        """The structured answer of `synthesize_tool`."""
        made = self.wire[self.place(self.asked("tools/call", "synthesize_tool"))][1]
        structured: dict[str, Any] = made["result"]["structuredContent"]
        return structured

    @property
    def protocol(self) -> str:
        """The revision that was spoken, and with it the client's version."""
        first = self.wire[0][1]
        if first["method"] == "initialize":
            return str(self.wire[self.place(first)][1]["result"]["protocolVersion"])
        return str(first["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"])

    @property
    def version(self) -> str:
        """The client's own."""
        params = self.wire[0][1]["params"]
        told = params.get("clientInfo") or params["_meta"]["io.modelcontextprotocol/clientInfo"]
        return str(told["version"])


async def conversation(agent: Agent, programs: str, user: User, script: Script = shouting) -> Conversation:
    """One run of a client in a home of its own, to its end."""
    folder = user.folder
    log = folder / "wire.jsonl"
    words = (wire.__file__, str(log), *stdio_command(follows=agent.follows))
    settings = {
        "ALITA_HOME": str(user.home), "ALITA_SANDBOX": "wasm", "ALITA_SHARED": "on", "HOME": str(folder), **CACHE,
    }  # fmt: skip
    with model_server(script) as (url, asked):
        start = agent.start(folder, url, Launch(sys.executable, words, settings))
        env = {"HOME": str(folder), "TMPDIR": str(folder), "PATH": programs, "LANG": "C.UTF-8"}
        program = next(
            path for place in programs.split(":") if (path := Path(place) / start.command[0]).exists()
        )
        async with started([str(program), *start.command[1:]], {**env, **QUIET, **start.env}, folder) as peer:
            await peer.end_input()
            said = (await peer.rest()).decode()
            status = await peer.ended()
        assert status == 0, said + peer.stderr
    messages = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return Conversation([(one["from"], one["message"]) for one in messages], seen(asked))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", AGENTS)
async def test_the_very_next_request_holds_what_the_answer_promised(
    name: str, programs: str, user: User
) -> None:
    agent = AGENTS[name]
    ran = await conversation(agent, programs, user)
    assert_true(ran.answer, ran.seen, agent.follows)
    assert ('"status"' in ran.seen.read) == (agent.reads == "structured"), ran.seen.read
    assert (ran.protocol, ran.version) == (agent.protocol, PINNED[agent.package])
    if agent.follows:
        listed = ran.place(ran.asked("tools/list"))
        assert listed < ran.place(ran.asked("tools/call", "synthesize_tool"))
