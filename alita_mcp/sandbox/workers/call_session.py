"""Host's side of one call: proxied connections and requests to the broker, each in a task of its own.

A sandbox has no network: connections of programs inside arrive as streams of frames and are served by the proxy.
"""

from __future__ import annotations

import json
from collections import deque
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from anyio.abc import ByteStream, TaskGroup

from alita_mcp.errors import AlitaError, SandboxError
from alita_mcp.event_loop import LARGE_BYTES, is_large, off_loop
from alita_mcp.sandbox.interface import Broker, EgressRefused
from alita_mcp.sandbox.network.egress_policies import NoHosts
from alita_mcp.sandbox.network.proxy import FramedStream, serve
from alita_mcp.sandbox.runner.tool.grants import ERRORS, lacks
from alita_mcp.sandbox.wire.frames import MAX_PAYLOAD, WINDOW, Frame, Kind, encode
from alita_mcp.sandbox.wire.link import Worker, WorkerLost
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict, encode_strict

if TYPE_CHECKING:
    from alita_mcp.sandbox.network.http_requests import HttpRequests

FRAME_SECONDS = 10.0
"""How long the inside may take over one frame; it reads all the time."""
MAX_MESSAGE = 2_000
MAX_STREAMS = 256
"""Far more than the inside opens at once; some of those that it closed may still be on their way out."""
_PIECE = 64 << 10
_OVERHEAD = 64
_AT_ONCE = 1_000
"""Requests of one call that may wait at once; an honest inside stays below by its own limits."""
_PENALTY_SECONDS = 0.1
"""How long a connection over the limit waits for its refusal, so that a program that goes on trying costs little."""
_KINDS = {Kind.ASK, Kind.NETWORK, Kind.OPEN, Kind.DATA, Kind.END, Kind.RESET, Kind.CREDIT}


class Outbox:
    """Sender of frames from many tasks; a task may be cancelled at any point, a frame is never cut."""

    def __init__(self, worker: Worker, *, frame_seconds: float = FRAME_SECONDS) -> None:
        self._worker = worker
        self._frame_seconds = frame_seconds
        self._sending = anyio.Lock(fast_acquire=True)
        self.closed = False
        """From then on frames are dropped."""

    async def send(self, kind: Kind, number: int, payload: bytes = b"", *, ends: bool = False) -> None:
        """Sends a frame, and that its stream ends; dropped when the sandbox is gone, of which its reader hears too.

        Raises:
            SandboxError: the sandbox stopped reading.
        """
        async with self._sending:
            if self.closed:
                return
            with (
                anyio.move_on_after(self._frame_seconds, shield=True) as scope,
                suppress(WorkerLost),
            ):
                end = encode(Kind.END, number) if ends else b""
                await self._worker.transport.send(encode(kind, number, payload) + end)
        if scope.cancelled_caught:
            raise SandboxError("The sandbox stopped reading.")


class Stream(FramedStream):
    """Host's end of one connection; both directions are bounded by credit."""

    def __init__(self, outbox: Outbox, number: int) -> None:
        self.scope = anyio.CancelScope()
        """Cancelled when the connection inside is broken."""
        self._outbox = outbox
        self._number = number
        self._credit = WINDOW
        self._arrived: deque[bytes] = deque()
        self._outstanding = 0
        self._taken = 0
        """Received since the last credit was given back."""
        self._ended = False
        self._changed = anyio.Event()

    async def receive(self, max_bytes: int = WINDOW) -> bytes:  # noqa: ARG002 - a frame at a time
        """The next bytes from inside."""
        while not self._arrived:
            if self._ended:
                raise anyio.EndOfStream
            await self._changed.wait()
        data = self._arrived.popleft()
        self._outstanding -= len(data)
        self._taken += len(data)
        if self._taken >= WINDOW // 4:
            taken, self._taken = self._taken, 0
            await self._outbox.send(Kind.CREDIT, self._number, taken.to_bytes(4))
        return data

    async def send(self, item: bytes, *, ends: bool = False) -> None:
        """Sends bytes inside, as fast as they are taken."""
        view = memoryview(item)
        while view:
            while self._credit <= 0:
                await self._changed.wait()
            piece = view[: min(self._credit, _PIECE)]
            self._credit -= len(piece)
            view = view[len(piece) :]
            await self._outbox.send(Kind.DATA, self._number, bytes(piece), ends=ends and not view)

    async def send_last(self, item: bytes) -> None:
        """Sends bytes inside, the end with the last of them."""
        await (self.send(item, ends=True) if item else self.send_eof())

    async def send_eof(self) -> None:
        """Says that nothing more follows."""
        await self._outbox.send(Kind.END, self._number)

    async def aclose(self) -> None:
        """Breaks the connection inside."""
        await self._outbox.send(Kind.RESET, self._number)

    def take(self, frame: Frame) -> None:
        """Takes a frame about this stream.

        Raises:
            SandboxError: more bytes than the credit allows.
        """
        if frame.kind == Kind.DATA:
            self._outstanding += len(frame.payload)
            if self._outstanding > 2 * WINDOW:
                raise SandboxError("The sandbox broke its protocol: a stream over its credit.")
            self._arrived.append(frame.payload)
        elif frame.kind == Kind.CREDIT:
            self._credit += int.from_bytes(frame.payload[:4])
        else:
            self._ended = True
        self._changed.set()
        self._changed = anyio.Event()


class CallSession:
    """Host's side of one call; without a broker every request is refused with the name of the missing grant."""

    def __init__(self, worker: Worker, broker: Broker | None, tasks: TaskGroup, *, calls: int) -> None:
        self._broker = broker or _NoBroker()
        self._tasks = tasks
        self._calls = calls
        self._used = 0
        self._asked = 0
        self._pending: dict[int, anyio.CancelScope] = {}
        self._outbox = Outbox(worker)
        self._policy = self._broker.egress_policy or NoHosts()
        self._streams: dict[int, Stream] = {}
        self._http: HttpRequests | None = None

    @property
    def limit_reached(self) -> str:
        """Message for the tool's author once too much was asked; empty before."""
        return f"asked more than {self._calls} times (broker_calls)" if self._used > self._calls else ""

    def take(self, frame: Frame) -> None:
        """Takes a frame that is part of no result; after `close` it is about a call that is over.

        Raises:
            SandboxError: a protocol violation, more than `calls` asks among them: the inside counts too.
        """
        if frame.kind not in _KINDS:
            raise SandboxError(f"The sandbox broke its protocol: {frame.kind.name} during a call.")
        if self._outbox.closed:
            return
        # 1. A request, to the broker or about HTTP: each gets a task. Of those about HTTP only sending counts, later.
        # 2. A new connection: the proxy serves it, and refuses what the policy does not allow.
        # 3. A frame of a connection that is open; what comes for one that has ended here is dropped.
        if frame.kind in {Kind.ASK, Kind.NETWORK}:
            self._asked += frame.kind == Kind.ASK
            self._used += frame.kind == Kind.ASK
            is_too_much = self._asked > self._calls or len(self._pending) >= _AT_ONCE
            if frame.stream in self._pending or is_too_much:
                raise SandboxError("The sandbox broke its protocol: more is asked than may be.")
            self._pending[frame.stream] = anyio.CancelScope()
            self._tasks.start_soon(self._respond, frame)
        elif frame.kind == Kind.OPEN:
            self._used += 1
            if frame.stream in self._streams or len(self._streams) >= MAX_STREAMS:
                raise SandboxError("The sandbox broke its protocol: too many streams.")
            stream = self._streams[frame.stream] = Stream(self._outbox, frame.stream)
            self._tasks.start_soon(self._serve, frame.stream, stream)
        elif found := self._streams.get(frame.stream):
            if frame.kind == Kind.RESET:
                found.scope.cancel()
                del self._streams[frame.stream]
            else:
                found.take(frame)

    async def open(self, host: str, port: int) -> ByteStream:
        """Opens a connection by the policy of the broker, unless the call has asked too often; see the interface."""
        if self.limit_reached:
            await anyio.sleep(_PENALTY_SECONDS)
            raise EgressRefused(429, self.limit_reached)
        return await self._policy.open(host, port)

    def close(self) -> None:
        """Ends all requests and connections under way."""
        self._outbox.closed = True
        for scope in (*self._pending.values(), *(stream.scope for stream in self._streams.values())):
            scope.cancel()

    async def _serve(self, number: int, stream: Stream) -> None:
        with stream.scope:
            if not await serve(stream, self):
                await stream.aclose()
        if self._streams.get(number) is stream:
            del self._streams[number]

    async def _respond(self, frame: Frame) -> None:
        reply = self._reply if frame.kind == Kind.ASK else self._reply_about_http
        with self._pending[frame.stream]:
            try:
                answer = await reply(frame.payload)
            except NotJson as problem:
                answer = _error("ValueError", f"the answer cannot be sent: {problem}".partition(" (")[0])
            except Exception as problem:  # noqa: BLE001 - the edge: whatever fails here fails in the tool, in words
                answer = _error(*in_words(problem))
            await self._outbox.send(Kind.ANSWER, frame.stream, answer)
        del self._pending[frame.stream]

    async def _reply_about_http(self, payload: bytes) -> bytes:
        # imported for the first call that asks, in a thread: its HTTP client takes as long as many calls
        http = await to_thread.run_sync(import_module, "alita_mcp.sandbox.network.http_requests")
        if self._http is None:
            self._http = http.HttpRequests(self, self._tasks)
        read = partial(http.HttpQuestion.model_validate_json, payload)
        question = await off_loop(read, large=len(payload) > LARGE_BYTES)
        self._used += question.do == "send"
        try:
            return _response(await self._http.answer(question))
        except http.RequestFailed as failed:
            return _error(failed.name, str(failed))

    async def _reply(self, payload: bytes) -> bytes:
        if self.limit_reached:
            return _error("RuntimeError", self.limit_reached)
        service, words = await off_loop(partial(read_request, payload), large=len(payload) > LARGE_BYTES)
        value = await self._broker.answer(service, words)
        return await off_loop(partial(_response, value), large=is_large(value))


class _NoBroker:
    """Broker that refuses every request."""

    egress_policy = None

    async def answer(self, service: str, _words: dict[str, Any]) -> Any:
        """Refuses; see the interface."""
        raise PermissionError(lacks(service))


def read_request(payload: bytes) -> tuple[str, dict[str, Any]]:
    """Parses the payload of an ASK frame.

    Raises:
        ValueError: the program inside wrote something else.
    """
    match decode_strict(payload):
        case {"door": str(service), "words": dict(words), **more} if not more:
            return service, words
    raise ValueError("a question has a service and words")


def in_words(problem: Exception) -> tuple[str, str]:
    """Name and text of an error as the tool sees it: Python's errors unchanged, ours as RuntimeError.

    Other errors (a library's, which may hold paths or keys of the host) are not shown to the tool.
    """
    if isinstance(problem, AlitaError):
        return "RuntimeError", str(problem)
    if type(problem).__name__ in ERRORS:
        return type(problem).__name__, str(problem)
    return "RuntimeError", f"the host failed with {type(problem).__name__}"


def _response(value: Any) -> bytes:
    return b'{"ok":%s}' % encode_strict(value, MAX_PAYLOAD - _OVERHEAD)


def _error(name: str, message: str) -> bytes:
    text = message[:MAX_MESSAGE].encode("utf-8", "replace").decode()
    return json.dumps({"error": [name, text]}).encode()
