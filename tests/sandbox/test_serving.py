"""Serving one call: what is asked from inside is answered or refused, and nothing that is asked breaks the host."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream

from alita_mcp.errors import ModelError, SandboxError
from alita_mcp.sandbox.interface import Broker, EgressPolicy, EgressRefused
from alita_mcp.sandbox.wire.frames import MAX_PAYLOAD, WINDOW, Decoder, Frame, Kind
from alita_mcp.sandbox.wire.link import Confinement, Worker, WorkerLost
from alita_mcp.sandbox.workers.call_session import MAX_STREAMS, CallSession, Outbox
from alita_mcp.values import Limits
from tests.sandbox.in_memory import DEMANDS
from tests.tables import each_case

WAIT_SECONDS = 60


class Inside:
    """A transport that keeps what the host sends as frames."""

    complaints = ""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.gone = False
        self.stuck = False
        self._decoder = Decoder()
        self._arrived = anyio.Event()

    async def send(self, data: bytes) -> None:
        if self.gone:
            raise WorkerLost("gone")
        if self.stuck:
            await anyio.sleep_forever()
        self.frames += self._decoder.feed(data)
        self._arrived.set()
        self._arrived = anyio.Event()

    async def receive(self) -> bytes:
        return b""

    async def ran_out_of_memory(self, *, ended: bool) -> bool:
        return False

    async def answer(self, number: int) -> Any:
        """The host's answer to the question of that number."""
        while True:
            for frame in self.frames:
                if (frame.kind, frame.stream) == (Kind.ANSWER, number):
                    return json.loads(frame.payload)
            await self._arrived.wait()

    async def text(self, stream: int) -> bytes:
        """All that came over a stream up to its end."""
        while not any(
            frame.stream == stream and frame.kind in {Kind.END, Kind.RESET} for frame in self.frames
        ):
            await self._arrived.wait()
        return b"".join(f.payload for f in self.frames if f.kind == Kind.DATA and f.stream == stream)


class Answers(Broker):
    """A broker that does as the question says."""

    def __init__(self, policy: EgressPolicy | None = None) -> None:
        self._policy = policy
        self.cancelled: list[str] = []

    @property
    def egress_policy(self) -> EgressPolicy | None:
        return self._policy

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        if door == "raise":
            raise words["problem"] if "problem" in words else PROBLEMS[words["name"]]
        if door == "hang":
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                self.cancelled.append(door)
                raise
        if door == "give":
            return GIFTS[words["name"]]
        return [door, words]


PROBLEMS: dict[str, Exception] = {
    "grant": PermissionError("alita_tool.x needs the grant 'x'"),
    "file": FileNotFoundError(2, "no such file", "a.txt"),
    "value": ValueError("bad"),
    "model": ModelError("the model is tired", hint="Wait."),
    "library": KeyError("/home/somebody/key"),
    "connection": ConnectionRefusedError("10.0.0.1"),
    "surrogate": ValueError("\ud800"),
    "long": ValueError("x" * 100_000),
}
GIFTS: dict[str, Any] = {
    "nan": float("nan"),
    "object": object(),
    "deep": json.loads("[" * 100 + "]" * 100),
    "large": "x" * MAX_PAYLOAD,
    "full": "x" * (MAX_PAYLOAD - 100),
    "null": None,
}


@asynccontextmanager
async def serving(
    broker: Broker | None = None, *, calls: int = 10, inside: Inside | None = None
) -> AsyncIterator[tuple[CallSession, Inside]]:
    inside = inside or Inside()
    worker = Worker(inside, Limits(), Confinement(demands=DEMANDS))
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            served = CallSession(worker, broker, tasks, calls=calls)
            try:
                yield served, inside
            finally:
                served.close()


def ask(number: int, door: str, **words: Any) -> Frame:
    return Frame(Kind.ASK, number, json.dumps({"door": door, "words": words}).encode())


def opened(stream: int, text: bytes) -> tuple[Frame, ...]:
    return Frame(Kind.OPEN, stream, b""), Frame(Kind.DATA, stream, text), Frame(Kind.END, stream, b"")


async def test_several_questions_are_answered_each_under_its_number() -> None:
    async with serving(Answers()) as (served, inside):
        served.take(ask(1, "hang"))
        served.take(ask(2, "echo", a=[1, None, "ä"]))
        served.take(ask(3, "give", name="null"))
        assert await inside.answer(2) == {"ok": ["echo", {"a": [1, None, "ä"]}]}
        assert await inside.answer(3) == {"ok": None}


@each_case(
    "name, error, message",
    [
        ("grant", "PermissionError", "alita_tool.x needs the grant 'x'"),
        ("file", "FileNotFoundError", "[Errno 2] no such file: 'a.txt'"),
        ("value", "ValueError", "bad"),
        ("model", "RuntimeError", "the model is tired Wait."),
        ("library", "RuntimeError", "the host failed with KeyError"),
        ("connection", "RuntimeError", "the host failed with ConnectionRefusedError"),
        ("surrogate", "ValueError", "?"),
        ("long", "ValueError", "x" * 2_000),
    ],
)
async def test_errors_travel_by_name_and_what_belongs_to_the_host_stays_there(
    name: str, error: str, message: str
) -> None:
    async with serving(Answers()) as (served, inside):
        served.take(ask(1, "raise", name=name))
        assert await inside.answer(1) == {"error": [error, message]}


@each_case("name", ["nan", "object", "deep", "large"])
async def test_an_answer_that_cannot_travel_is_an_error_of_the_call(name: str) -> None:
    async with serving(Answers()) as (served, inside):
        served.take(ask(1, "give", name=name))
        assert (await inside.answer(1))["error"][0] == "ValueError"


@each_case(
    "payload",
    [
        b"", b"\xff", b"[]", b"null", b"{}", b'{"door":"x"}', b'{"door":1,"words":{}}', b'{"door":"x","words":[]}',
        b'{"door":"x","words":{},"more":1}', b'{"door":"x","words":{"a":NaN}}', b"[" * 100_000,
        b'{"door":"x","words":{"a":"\\ud800"}}',
    ],
)  # fmt: skip
async def test_a_question_that_is_none_is_the_programs_own_error(payload: bytes) -> None:
    async with serving(Answers()) as (served, inside):
        served.take(Frame(Kind.ASK, 1, payload))
        assert (await inside.answer(1))["error"][0] == "ValueError"


async def test_more_questions_than_allowed_break_the_protocol_for_the_inside_counts_too() -> None:
    async with serving(Answers(), calls=2) as (served, inside):
        served.take(ask(1, "hang"))
        served.take(ask(2, "echo"))
        await inside.answer(2)
        with pytest.raises(SandboxError, match="more is asked"):
            served.take(ask(3, "echo"))


async def test_connections_and_questions_together_are_limited_in_words_that_name_the_limit() -> None:
    async with serving(Answers(), calls=2) as (served, inside):
        served.take(ask(1, "echo"))
        for stream in (1, 2, 3):
            for frame in opened(stream, b"GET http://a.test/ HTTP/1.0\r\n\r\n"):
                served.take(frame)
        assert b"HTTP/1.1 429 asked more than 2 times (broker_calls)" in await inside.text(3)
        served.take(ask(2, "echo"))
        assert await inside.answer(2) == {"error": ["RuntimeError", "asked more than 2 times (broker_calls)"]}
        assert served.limit_reached


def take_all(served: CallSession, frames: list[Frame]) -> None:
    for frame in frames:
        served.take(frame)


@each_case(
    "frames",
    [
        [Frame(Kind.HELLO, 0, b"")],
        [Frame(Kind.RESULT, 0, b"{}")],
        [Frame(Kind.ANSWER, 1, b"{}")],
        [Frame(Kind.OPEN, 1, b"")] * 2,
        [Frame(Kind.OPEN, number, b"") for number in range(MAX_STREAMS + 1)],
        [Frame(Kind.OPEN, 1, b""), *[Frame(Kind.DATA, 1, bytes(WINDOW))] * 3],
    ],
)
async def test_frames_that_no_supervisor_sends_break_the_protocol(frames: list[Frame]) -> None:
    async with serving(Answers(), calls=1_000) as (served, _):
        with pytest.raises(SandboxError, match="broke its protocol"):
            take_all(served, frames)


async def test_closing_ends_what_is_under_way_and_nothing_of_it_reaches_the_next_call() -> None:
    broker = Answers(Held())
    async with serving(broker) as (served, inside):
        served.take(ask(1, "hang"))
        for frame in opened(1, b"GET http://a.test/ HTTP/1.0\r\n\r\n")[:2]:
            served.take(frame)
        served.take(ask(2, "echo"))
        await inside.answer(2)
        served.close()
        before = len(inside.frames)
        served.take(ask(3, "echo"))
        served.take(Frame(Kind.OPEN, 2, b""))
        with pytest.raises(SandboxError):
            served.take(Frame(Kind.HELLO, 0, b""))
    assert broker.cancelled == ["hang"]
    assert len(inside.frames) == before


class Held:
    """Egress policy that refuses every host."""

    async def open(self, host: str, port: int) -> ByteStream:
        await anyio.sleep_forever()
        raise EgressRefused(502, "unreachable")


async def test_an_inside_that_reads_no_more_is_an_error_of_the_sandbox() -> None:
    inside = Inside()
    inside.stuck = True
    worker = Worker(inside, Limits(), Confinement(demands=DEMANDS))

    with anyio.fail_after(WAIT_SECONDS), pytest.raises(SandboxError, match="stopped reading"):
        await Outbox(worker, frame_seconds=0.01).send(Kind.ANSWER, 1)


async def test_a_frame_under_way_is_finished_when_its_call_is_cancelled() -> None:
    class Slow(Inside):
        async def send(self, data: bytes) -> None:
            started.set()
            await anyio.sleep(0.05)
            await super().send(data)

    started = anyio.Event()
    inside = Slow()
    worker = Worker(inside, Limits(), Confinement(demands=DEMANDS))
    with anyio.fail_after(WAIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            outbox = Outbox(worker)
            tasks.start_soon(outbox.send, Kind.ANSWER, 1, b"{}")
            tasks.start_soon(outbox.send, Kind.ANSWER, 2, b"{}")
            await started.wait()
            tasks.cancel_scope.cancel()
    assert [frame.stream for frame in inside.frames] == [1]
