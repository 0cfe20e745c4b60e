"""Host's side of one call: proxied connections and requests to the broker, each in a task of its own."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import anyio
from anyio.abc import ByteStream, TaskGroup

from alita_mcp.errors import AlitaError, SandboxError
from alita_mcp.event_loop import LARGE_BYTES, is_large, off_loop
from alita_mcp.sandbox.interface import Broker, EgressPolicy, EgressRefused
from alita_mcp.sandbox.network.egress import STREAM_KINDS, Egress
from alita_mcp.sandbox.network.egress_policies import NoHosts
from alita_mcp.sandbox.network.http_requests import HttpQuestion, HttpRequests, RequestFailed
from alita_mcp.sandbox.runner.tool.grants import ERRORS, lacks
from alita_mcp.sandbox.wire.frames import MAX_PAYLOAD, Frame, Kind
from alita_mcp.sandbox.wire.link import Worker
from alita_mcp.sandbox.wire.outbox import Outbox
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict, encode_strict

MAX_MESSAGE = 2_000
_OVERHEAD = 64
_AT_ONCE = 1_000
"""Requests of one call that may wait at once; an honest inside stays below by its own limits."""
_PENALTY_SECONDS = 0.1
"""How long a connection over the limit waits for its refusal, so that a program that goes on trying costs little."""


class CallSession:
    """Host's side of one call; without a broker every request is refused with the name of the missing grant."""

    def __init__(self, worker: Worker, broker: Broker | None, tasks: TaskGroup, *, calls: int) -> None:
        self._broker = broker or _NoBroker()
        self._tasks = tasks
        self._calls = calls
        self._used = 0
        self._asked = 0
        self._pending: dict[int, anyio.CancelScope] = {}
        self._closed = False
        self._outbox = Outbox(worker, tasks)
        policy = _CountedEgressPolicy(self._broker.egress_policy or NoHosts(), self)
        self._egress = Egress(worker, policy, tasks)
        self._http = HttpRequests(policy, tasks)

    @property
    def limit_reached(self) -> str:
        """Message for the tool's author once too much was asked; empty before."""
        return f"asked more than {self._calls} times (broker_calls)" if self._used > self._calls else ""

    def take(self, frame: Frame) -> None:
        """Takes a frame that is part of no result; after `close` it is about a call that is over.

        Raises:
            SandboxError: a protocol violation, more than `calls` asks among them: the inside counts too.
        """
        if frame.kind in STREAM_KINDS:
            self._used += frame.kind == Kind.OPEN
            self._egress.take(frame)
        elif frame.kind not in {Kind.ASK, Kind.NETWORK}:
            raise SandboxError(f"The sandbox broke its protocol: {frame.kind.name} during a call.")
        elif not self._closed:
            self._take_ask(frame)

    def close(self) -> None:
        """Ends all requests and connections under way."""
        self._closed = True
        for scope in self._pending.values():
            scope.cancel()
        self._egress.close()
        self._outbox.close()

    def _take_ask(self, frame: Frame) -> None:
        is_counted = (
            frame.kind == Kind.ASK
        )  # of questions about HTTP, those that send a request are counted later
        self._asked += is_counted
        self._used += is_counted
        is_too_much = self._asked > self._calls or len(self._pending) >= _AT_ONCE
        if frame.stream in self._pending or is_too_much:
            raise SandboxError("The sandbox broke its protocol: more is asked than may be.")
        self._pending[frame.stream] = anyio.CancelScope()
        self._tasks.start_soon(self._respond, frame)

    async def _respond(self, frame: Frame) -> None:
        reply = self._reply if frame.kind == Kind.ASK else self._reply_about_http
        with self._pending[frame.stream]:
            try:
                answer = await reply(frame.payload)
            except RequestFailed as failed:
                answer = _error(failed.name, str(failed))
            except NotJson as problem:
                answer = _error("ValueError", f"the answer cannot be handed in: {problem}".partition(" (")[0])
            except Exception as problem:  # noqa: BLE001 - the edge: whatever fails here fails in the tool, in words
                answer = _error(*in_words(problem))
            await self._outbox.send(Kind.ANSWER, frame.stream, answer)
        del self._pending[frame.stream]

    async def _reply_about_http(self, payload: bytes) -> bytes:
        read = partial(HttpQuestion.model_validate_json, payload)
        question = await off_loop(read, large=len(payload) > LARGE_BYTES)
        self._used += question.do == "send"
        return _response(await self._http.answer(question))

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


class _CountedEgressPolicy:
    """Egress policy that refuses once the call has asked too often."""

    def __init__(self, policy: EgressPolicy, session: CallSession) -> None:
        self._policy = policy
        self._session = session

    async def open(self, host: str, port: int) -> ByteStream:
        """Opens a connection by the wrapped policy; see the interface."""
        if self._session.limit_reached:
            await anyio.sleep(_PENALTY_SECONDS)
            raise EgressRefused(429, self._session.limit_reached)
        return await self._policy.open(host, port)


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
