"""Relay between the pipes of one client and the person's shared server, which it starts where none runs.

Standard library only: it weighs a few megabytes and starts at once. The client notices nothing when the server ends:
the relay connects to another one, repeats the handshake and all requests that change nothing, and answers the others
with an error that says what happened.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

from alita_mcp.server.transports.greeting import Greeting, greet
from alita_mcp.server.transports.local.endpoint import (
    OFF,
    STOPPING,
    SWITCH,
    Refused,
    find_endpoint,
)
from alita_mcp.server.transports.local.launcher import POLL_S, Launcher
from alita_mcp.server.transports.wire import Wire

END_WITHIN_S = 2.2
"""How long answers may still come once the client is gone; clients kill after a little more."""
CHUNK_BYTES = 65_536
_READ_ONLY_TOOLS = ("search_capabilities", "inspect_tool")
_FOR_THE_SESSION = ("logging/setLevel", "resources/subscribe", "resources/unsubscribe")
_FROM_SERVER = re.compile(rb'\{"jsonrpc":"2\.0","id":(-?\d+|"(?:[^"\\]|\\.)*"),"(result|error|method)"')
"""The beginning of a message of our server that is a response or a request; the SDK writes the keys in this order."""
_CANCELLED = b'{"jsonrpc":"2.0","method":"notifications/cancelled"'
_CLOSED = b'"error":{"code":-32000,"message":"Connection closed"}}\n'
"""The end of the SDK's response to what was open when a server began to end."""
_LISTEN = "subscriptions/listen"
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_MAX_LOSSES = 3
"""A request that as many servers did not survive gets an error; a client that says nothing sees no more of them."""
_LOST = (
    "The alita server ended while this call was under way, and another one has taken its place. What the call had "
    "published or written by then is kept; whether it got so far is not known. Search or list again, then repeat it."
)

Id = int | str


def relay(wire: Wire, parent: int, environment: Mapping[str, str]) -> Greeting:
    """Passes messages between the client and the shared server until one of them is gone; ends the process then.

    Returns only where no server can be shared: this process serves its client itself, after what it was greeted with.
    """
    if environment.get(SWITCH, "").lower() in OFF:
        return greet(*wire, environment)
    greeting = None
    try:
        endpoint = find_endpoint(environment, os.getcwd())
        launcher = Launcher(endpoint)
        if not endpoint.address.exists():
            launcher.start()
        greeting = greet(*wire, environment)  # before anything that another process can hold up
        link = launcher.wait_for_server()
    except (OSError, Refused) as problem:
        sys.stderr.write(f"alita-mcp-server: no shared server ({problem}); serving this client alone\n")
        return greeting or greet(*wire, environment)
    return Relay(wire, parent, launcher, link, greeting).run()


class Relay:
    """Passage of messages between one client and one server, with what another server would have to be told."""

    def __init__(
        self, wire: Wire, parent: int, launcher: Launcher, link: socket.socket, greeting: Greeting
    ) -> None:
        self._wire = wire
        self._parent = parent
        self._launcher = launcher
        self._link = link
        self._is_connected = True
        self._sending = threading.Lock()
        self._has_words = threading.Event()
        """A line of the client waits for a server."""
        self._status: int | None = None
        """The exit status, once the end is known."""
        self._already_read = greeting.read
        self._muted = {greeting.answered} if greeting.answered is not None else set[Id]()
        """Requests whose next response the client has already."""
        self._open: dict[Id, bytes] = {}
        """The client's requests without a response."""
        self._unsent: list[bytes] = []
        self._losses: dict[Id, int] = {}
        """How many servers ended while a request was open."""
        self._losses_in_silence = 0
        """How many ended since the client's last line."""
        self._session: list[bytes] = []
        """What a client of the 2025 protocols said for as long as it stays: its handshake and subscriptions."""
        self._handshake: Id | None = None
        self._last_question = 0
        """The highest id of a server's request, as the client knows it."""
        self._offset = 0
        """What the client knows a server's requests by is so much more than their ids: each server counts from 1, and
        an answer to one that is gone must not pass for the answer to a later question."""

    def run(self) -> NoReturn:
        """Passes messages until the client, the parent or a signal ends it."""
        for number in (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM)):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _frame: self._end(128 + number))
        threading.Thread(target=self._pass_to_server, daemon=True).start()
        while True:
            is_stopped = self._pass_to_client()
            if self._status is not None:
                leave(self._status)
            self._lose_server()
            if self._launcher.own is not None:  # what ended it would end the next one, too
                status = self._launcher.own.wait()
                leave(status if status >= 0 else 128 - status)
            is_missed = not is_stopped and self._losses_in_silence < _MAX_LOSSES
            while not (is_missed or self._waits_for_server() or self._has_words.wait(POLL_S)):
                self._end_if_orphaned()
                if self._status is not None:
                    leave(self._status)
            try:
                self._take_server(self._launcher.server_after_loss())
            except OSError as problem:
                sys.stderr.write(f"alita-mcp-server: no other server can be started: {problem}\n")
                leave(1)

    def _pass_to_server(self) -> None:
        """Reads the client's lines until there are no more; the answers to what is open may still come."""
        line, chunk = bytearray(), self._already_read
        while chunk or (chunk := self._read_chunk()):
            head, *following = chunk.split(b"\n")
            line += head
            for part in following:
                self._take_line(bytes(line) + b"\n")
                line = bytearray(part)
            chunk = b""
        if line:
            self._take_line(bytes(line) + b"\n")
        self._end(0)

    def _read_chunk(self) -> bytes:
        while True:
            try:
                return os.read(self._wire.reads, CHUNK_BYTES)
            except BlockingIOError:  # the client made its pipe so
                select.select([self._wire.reads], [], [])
            except OSError:
                return b""

    def _take_line(self, line: bytes) -> None:
        """Notes what a line of the client means for a server to come, and sends it."""
        message = None
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
        with self._sending:
            self._losses_in_silence = 0
            match message:
                case {"method": str() as method, "id": int() | str() as number} if not isinstance(
                    number, bool
                ):
                    self._open[number] = line
                    if method == "initialize":
                        self._session, self._handshake = [line], number
                    elif method in _FOR_THE_SESSION:
                        self._session.append(line)
                case {"method": "notifications/initialized"}:
                    self._session.append(line)
                case {"method": "notifications/cancelled", "params": {"requestId": int() | str() as number}}:
                    self._open.pop(number, None)  # it need not be answered
                case {"id": int() | float() | str() as answered, **others} if (
                    self._offset and "method" not in others
                ):
                    number = int(answered) if re.fullmatch(r"[0-9]{1,15}", str(answered)) else 0
                    if number <= self._offset:
                        return
                    line = json.dumps({**others, "id": number - self._offset}).encode() + b"\n"
            try:
                if self._is_connected:
                    self._link.sendall(line)
                    return
            except OSError:  # it is gone: the other thread hears of it, too
                pass
            self._unsent.append(line)
            self._has_words.set()

    def _pass_to_client(self) -> bool:
        """Writes the server's lines until it is gone; returns whether it was asked to stop."""
        line, is_stopped = bytearray(), False
        while True:
            try:
                while not select.select([self._link], [], [], POLL_S)[0]:
                    self._end_if_orphaned()
                chunk = self._link.recv(CHUNK_BYTES)
            except OSError:
                chunk = b""
            if not chunk:
                return is_stopped
            head, *following = chunk.split(b"\n")
            line += head
            for part in following:
                is_stopped = is_stopped or line == STOPPING
                self._deliver(bytes(line) + b"\n")
                line = bytearray(part)

    def _deliver(self, line: bytes) -> None:
        """Writes a line of the server, unless the client has it already."""
        found = _FROM_SERVER.match(line)
        number: Id = json.loads(found[1]) if found else 0
        if found and found[2] != b"method":
            if self._status is None and line.endswith(_CLOSED):
                return  # it stays open
            self._open.pop(number, None)
            self._losses.pop(number, None)
            if number in self._muted:
                self._muted.discard(number)
                return
        elif found and isinstance(number, int):
            self._last_question = number + self._offset
            line = b'{"jsonrpc":"2.0","id":%d,"method"%b' % (self._last_question, line[found.end() :])
        elif self._offset and line.startswith(_CANCELLED):  # a question of its own
            message = json.loads(line)
            message["params"]["requestId"] += self._offset
            line = json.dumps(message).encode() + b"\n"
        if not line.startswith(STOPPING):
            self._write(line)

    def _write(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._wire.writes, data) :]
            except BlockingIOError:
                select.select([], [self._wire.writes], [])
            except OSError:  # a client that no longer reads is gone
                self._end(0)
                return

    def _lose_server(self) -> None:
        """Answers the calls that are lost with the server; all else is for the next one."""
        with self._sending:
            self._link.close()
            self._is_connected = False
            self._offset = self._last_question
            self._losses_in_silence += 1
            lost = []
            for number, line in self._open.items():
                request = json.loads(line)
                if line not in self._unsent and request["method"] != _LISTEN:
                    self._losses[number] = self._losses.get(number, 0) + 1
                    if self._losses[number] == _MAX_LOSSES or not _changes_nothing(request):
                        lost.append(number)
        for number in lost:
            self._open.pop(number, None)  # it may be cancelled at this moment
            error = {"code": -32603, "message": _LOST}
            self._write(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode() + b"\n")

    def _take_server(self, link: socket.socket) -> None:
        """Tells another server what it has to know, and sends it what waits."""
        with self._sending:
            waiting, self._unsent = self._unsent, []
            self._has_words.clear()
            repeated = [line for line in self._session if line not in waiting]
            repeated += [line for line in self._open.values() if line not in waiting and line not in repeated]
            is_greeted = self._handshake is not None and self._handshake not in self._open
            if is_greeted and self._handshake is not None:
                self._muted.add(self._handshake)
            self._muted.update(
                number
                for number in map(_request_id, repeated)
                if number is not None and number not in self._open
            )
            with suppress(OSError):  # lost again: the next one is told the same
                link.sendall(b"".join([*repeated, *waiting]))
            self._link, self._is_connected = link, True
            listens = [number for number, line in self._open.items() if b'"toolsListChanged"' in line]
        told: list[dict[str, Any]] = [{"_meta": {_SUBSCRIPTION: number}} for number in listens]
        for params in [*told, *[{}] * is_greeted]:
            changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params}
            self._write(json.dumps(changed).encode() + b"\n")

    def _waits_for_server(self) -> bool:
        """Whether the client waits for a response, and not only for what may change."""
        return any(json.loads(line)["method"] != _LISTEN for line in list(self._open.values()))

    def _end(self, status: int) -> None:
        """Lets the server answer what it still can; then, or soon, the process ends."""
        if self._status is not None:
            return
        self._status = status
        timer = threading.Timer(END_WITHIN_S, leave, [status])
        timer.daemon = True
        timer.start()
        with suppress(OSError):  # it is closed: there is no server now
            self._link.shutdown(socket.SHUT_WR)

    def _end_if_orphaned(self) -> None:
        if os.getppid() != self._parent:
            self._end(0)


def _changes_nothing(request: dict[str, Any]) -> bool:
    """Whether a request may be sent twice."""
    params = request.get("params")
    name = params.get("name") if isinstance(params, dict) else None
    return request["method"] != "tools/call" or name in _READ_ONLY_TOOLS


def _request_id(line: bytes) -> Id | None:
    number: Id | None = json.loads(line).get("id")
    return number


def leave(status: int) -> NoReturn:
    """Ends the process now, whatever its threads are doing."""
    sys.stderr.flush()
    os._exit(status)
