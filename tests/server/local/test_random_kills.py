"""Relays and servers that start, end and are killed at random: right answers or clear errors, and nothing is lost."""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import SEED
from tests.faults.homes import shift
from tests.in_process import IN_PROCESS
from tests.server.local.conftest import User
from tests.server.processes import ENTRY, META, Peer, gone, started

ENDS, PARTS = 2_000, 20
SAMPLE = ENDS // PARTS // 2
"""One fortieth."""
MOST_CLIENTS = 3
MOMENTS = {"a server is killed": 25, "a server is stopped": 5, "a relay is killed": 35, "a client leaves": 35}
"""What ends in a round, with its weight."""
LOST = "ended while this call was under way"

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and sockets"),
]


@dataclass
class Session:
    """One client, its relay, and what it waits for."""

    peer: Peer
    stack: AsyncExitStack
    era: str
    may_lose: bool = False
    """Whether its server may have been killed since its last answer."""
    waits: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """By the id of a request: what was asked, and what the answer holds."""

    async def ask(self, number: str, what: str, expected: Any, method: str, **params: Any) -> None:
        self.waits[number] = what, expected
        meta = {"_meta": META} if self.era == "modern" else {}
        await self.peer.send(method, {**meta, **params}, id=number)

    async def answers(self) -> dict[str, tuple[str, Any, dict[str, Any]]]:
        """What was asked and expected, and the answer to it, by the id of the request."""
        found: dict[str, tuple[str, Any, dict[str, Any]]] = {}
        while self.waits:
            message = await self.peer.message()
            number = message.get("id")
            assert "id" not in message or number in self.waits, f"nobody asked for {message}"
            if number in self.waits:
                found[number] = *self.waits.pop(number), message
        return found


class Chaos:
    """The user's clients over many rounds."""

    def __init__(self, user: User, seed: str) -> None:
        self._user = user
        self._env = user.environment(sandbox=IN_PROCESS)
        self._draw = random.Random(seed)
        self._sessions: list[Session] = []
        self._published: dict[str, int] = {}
        self._numbers = 0

    async def run(self, rounds: int) -> None:
        for _ in range(rounds):
            await self._try_round()
        session = await self._start()
        for name, number in self._published.items():
            await self._ask_for_shift(session, name, number)
        await self._check(session)
        for each in list(self._sessions):
            await self._leave(each)

    async def _try_round(self) -> None:
        draw = self._draw
        session = (
            draw.choice(self._sessions) if self._sessions and draw.random() < 0.7 else await self._start()
        )
        if len(self._sessions) > MOST_CLIENTS:
            await self._leave(self._sessions[0])
        for _ in range(draw.randrange(1, 4)):
            await self._ask(session)
        if draw.random() < 0.5:  # it has answered something before
            await self._check(session)
            await self._ask(session)
        (moment,) = draw.choices(list(MOMENTS), list(MOMENTS.values()))
        if moment == "a relay is killed":
            session.peer.process.kill()
            await session.peer.ended()
            await self._forget(session)
        elif moment == "a client leaves":
            await self._check(session)
            await self._leave(session)
        else:
            for each in self._sessions:
                each.may_lose = True
            servers = self._user.servers()
            for server in servers:
                server.send_signal(signal.SIGKILL if moment == "a server is killed" else signal.SIGTERM)
            await self._check(session)
            session.may_lose = True  # these may be answers of before
            await gone(servers)

    async def _start(self) -> Session:
        stack = AsyncExitStack()
        peer = await stack.enter_async_context(started(ENTRY, self._env, self._user.folder))
        session = Session(peer, stack, self._draw.choice(("legacy", "modern")))
        self._sessions.append(session)
        if session.era == "legacy":
            await peer.initialize()
        return session

    async def _leave(self, session: Session) -> None:
        await session.peer.end_input()
        assert await session.peer.ended() == 0
        assert "Traceback" not in session.peer.stderr, session.peer.stderr
        await self._forget(session)

    async def _forget(self, session: Session) -> None:
        self._sessions.remove(session)
        await session.stack.aclose()

    async def _ask(self, session: Session) -> None:
        self._numbers += 1
        what = self._draw.choice(("list", "list", "search", "call", "call", "kept", "make"))
        number = f"{what} {self._numbers}"
        if what == "list":
            await session.ask(number, what, "synthesize_tool", "tools/list")
        elif what == "search":
            query = {
                "name": "search_capabilities",
                "arguments": {"query": "work out an arithmetic expression"},
            }
            await session.ask(number, what, "calculate", "tools/call", **query)
        elif what == "call":
            a, b = self._draw.randrange(1_000), self._draw.randrange(1_000)
            sum_of = {"name": "calculate", "arguments": {"expression": f"{a} + {b}"}}
            await session.ask(number, what, str(a + b), "tools/call", name="run_tool", arguments=sum_of)
        elif what == "kept" and self._published:
            await self._ask_for_shift(session, *self._draw.choice(list(self._published.items())))
        elif what == "make" and self._draw.random() < 0.2:
            added = self._draw.randrange(1 << 24)
            made = shift(f"shift_{added}", added)
            await session.ask(number, what, added, "tools/call", name="synthesize_tool", arguments=made)

    async def _ask_for_shift(self, session: Session, name: str, added: int) -> None:
        self._numbers += 1
        call = {"name": name, "arguments": {"number": 1}}
        await session.ask(
            f"kept {self._numbers}", "kept", str(added + 1), "tools/call", name="run_tool", arguments=call
        )

    async def _check(self, session: Session) -> None:
        answers = await session.answers()
        may_lose, session.may_lose = session.may_lose, session.may_lose and not answers
        for what, expected, answer in answers.values():
            if error := answer.get("error"):
                assert may_lose, answer
                assert what != "list", answer
                assert LOST in error["message"], answer
            elif what == "make":
                if answer["result"].get("structuredContent", {}).get("status") == "created":
                    self._published[f"shift_{expected}"] = expected
            else:
                assert not answer["result"].get("isError"), answer
                assert expected in json.dumps(answer["result"]), (expected, answer)


@pytest.mark.parametrize(
    ("part", "rounds"),
    [
        pytest.param("sample", SAMPLE),
        *(pytest.param(part, ENDS // PARTS, marks=pytest.mark.exhaustive) for part in range(PARTS)),
    ],
)
async def test_kills(user: User, stocked: Path, part: str, rounds: int) -> None:
    shutil.copytree(stocked, user.home)
    seed = f"{SEED}-{part}"
    try:
        await Chaos(user, seed).run(rounds)
    except BaseException as failed:
        logs = [path.read_text()[-4_000:] for path in (user.folder / ".cache").rglob("*.log")]
        failed.add_note(f"ALITA_TEST_SEED={SEED}, part {part}; the servers wrote: {logs}")
        raise
