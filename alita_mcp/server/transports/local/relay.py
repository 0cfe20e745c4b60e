"""Relay between the pipes of one client and the person's shared server, which it starts where none runs.

Standard library only: it weighs a few megabytes and starts at once. The client notices nothing when the server ends:
the relay connects to another one, repeats the handshake and all requests that change nothing, and answers the others
with an error that says what happened. Another one is started when its client waits for it or says something. Where
there can be no shared server, its own process serves behind it.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from alita_mcp.server.transports.greeting import Id, greet
from alita_mcp.server.transports.local.endpoint import OFF, SWITCH, Refused, find_endpoint
from alita_mcp.server.transports.local.servers import POLL_S, Launcher
from alita_mcp.server.transports.wire import Wire, end_on_signals

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
"""A request that as many servers did not survive gets an error."""
_LOST = (
    "The alita server ended while this call was under way, and another one has taken its place. What the call had "
    "published or written by then is kept; whether it got so far is not known. Search or list again, then repeat it."
)


class Relay:
    """Passage of messages between one client and one server, with what another server would have to be told."""

    def __init__(self, wire: Wire, parent: int, environment: Mapping[str, str]) -> None:
        """Has a server started where none runs, and greets the client meanwhile."""
        self._wire = wire
        self._parent = parent
        self._launcher: Launcher | None = None
        if environment.get(SWITCH, "").lower() not in OFF:
            try:
                endpoint = find_endpoint(environment, os.getcwd())
                launcher = Launcher(endpoint)
                if not endpoint.address.exists():
                    launcher.start()
                self._launcher = launcher
            except (OSError, Refused) as problem:
                _report_no_server(problem)
        self._already_read, answered = greet(
            *wire, environment
        )  # before anything that another process can hold up
        self._here: socket.socket | None = None
        """The server's end of the link, once this process has to serve."""
        self._passing: threading.Thread
        self._reading = threading.Thread(target=self._pass_to_server, daemon=True)
        self._link: socket.socket
        self._sending = threading.Lock()
        """Held while lines for the server are counted and sent, or another server takes over."""
        self._has_words = threading.Event()
        """Something waits for a server to come."""
        self._status: int | None = None
        """Exit status, once the end is known."""
        self._muted = {answered} - {None}
        """Requests whose next response the client has already."""
        self._open: dict[Id, bytes] = {}
        """The client's requests without a response."""
        self._unsent: list[bytes] = []
        self._losses: dict[Id, int] = {}
        """How many servers ended while a request was open."""
        self._session: list[bytes] = []
        """What a client of the 2025 protocols said for as long as it stays: its handshake and subscriptions."""
        self._handshake: Id | None = None
        self._last_question = 0
        """The highest id of a server's request, as the client knows it."""
        self._offset = 0
        """What the client knows a server's requests by is so much more than their ids: each server counts from 1, and
        an answer to one that is gone must not pass for the answer to a later question."""

    def run(self) -> socket.socket:
        """Passes messages until the client, the parent or a signal ends the process.

        Returns only where there can be no shared server: this process has to serve at the other end of the socket.
        """
        link = self._find_server()
        end_on_signals(self.end)
        while self._here is None:
            self._pass_to_client(link)
            if self._status is not None:
                leave(self._status)
            self._lose_server()
            link = self._await_server() or self._find_server()
        end_on_signals(leave)  # nothing is open yet, so nothing needs a clean-up
        self._passing = threading.Thread(target=self._pass_to_client, args=[link], daemon=True)
        self._passing.start()
        return self._here

    def end(self, status: int) -> None:
        """Lets the server answer what it still can; then, or soon, the process ends."""
        if self._status is None:
            self._status = status
            if self._here is None:  # else who asked before this process serves gets its answers
                timer = threading.Timer(END_WITHIN_S, leave, [status])
                timer.daemon = True
                timer.start()
            with suppress(OSError):  # it is closed: there is no server now
                self._link.shutdown(socket.SHUT_WR)

    def wait_for_end(self) -> int:
        """Waits until the client has all that the server said which ran here; returns the exit status."""
        self._passing.join()
        return self._status or 0

    def _find_server(self) -> socket.socket:
        """A link to the shared server; where there can be none, to one that this process has to be."""
        try:
            if self._launcher is not None:
                return self._launcher.wait_for_server("mcp")
        except (OSError, Refused) as problem:
            _report_no_server(problem)
        link, self._here = socket.socketpair()
        return link

    def _await_server(self) -> socket.socket | None:
        """A link to a server that was started for others; None as soon as this client needs one."""
        while self._launcher and not (self._waits_for_server() or self._has_words.wait(POLL_S)):
            self._end_if_orphaned()
            if self._status is not None:
                leave(self._status)
            with suppress(OSError, Refused):
                return self._launcher.find_server("mcp")
        return None

    def _pass_to_server(self) -> None:
        """Sends the client's lines until there are no more; the answers to what is open may still come."""
        for line in _split_lines(self._read_client()):
            self._take_line(line if line.endswith(b"\n") else line + b"\n")
        self.end(0)

    def _read_client(self) -> Iterator[bytes]:
        yield self._already_read
        while True:
            try:
                chunk = os.read(self._wire.reads, CHUNK_BYTES)
            except BlockingIOError:  # the client made its pipe so
                select.select([self._wire.reads], [], [])
                continue
            except OSError:
                return
            if not chunk:
                return
            yield chunk

    def _take_line(self, line: bytes) -> None:
        """Notes what a line of the client means for a server to come, and sends it."""
        message = None
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
        with self._sending:
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
                self._link.sendall(line)
            except OSError:  # it is gone: the other thread hears of it, too
                self._unsent.append(line)
                self._has_words.set()

    def _pass_to_client(self, link: socket.socket) -> None:
        """Writes a server's lines until it is gone."""
        self._take_server(link)
        if self._reading.ident is None:
            self._reading.start()
        for line in _split_lines(self._read_server()):
            if line.endswith(b"\n"):  # whole
                self._deliver(line)

    def _read_server(self) -> Iterator[bytes]:
        with suppress(OSError):
            while True:
                while not select.select([self._link], [], [], POLL_S)[0]:
                    self._end_if_orphaned()
                if not (chunk := self._link.recv(CHUNK_BYTES)):
                    return
                yield chunk

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
        self._write(line)

    def _write(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._wire.writes, data) :]
            except BlockingIOError:
                select.select([], [self._wire.writes], [])
            except OSError:  # a client that no longer reads is gone
                self.end(0)
                return

    def _lose_server(self) -> None:
        """Answers the calls that are lost with the server; all else is for the next one."""
        with self._sending:
            self._link.close()
            self._offset = self._last_question
            lost = []
            for number, line in self._open.items():
                request = json.loads(line)
                if line not in self._unsent and request["method"] != _LISTEN:
                    self._losses[number] = self._losses.get(number, 0) + 1
                    params = request.get("params")
                    name = params.get("name") if isinstance(params, dict) else None
                    is_repeatable = request["method"] != "tools/call" or name in _READ_ONLY_TOOLS
                    if self._losses[number] == _MAX_LOSSES or not is_repeatable:
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
            self._muted |= {json.loads(line).get("id") for line in repeated} - self._open.keys() - {None}
            with suppress(OSError):  # lost again: the next one is told the same
                link.sendall(b"".join([*repeated, *waiting]))
            self._link = link
            listens = [number for number, line in self._open.items() if b'"toolsListChanged"' in line]
        told: list[dict[str, Any]] = [{"_meta": {_SUBSCRIPTION: number}} for number in listens]
        for params in [*told, *[{}] * is_greeted]:
            changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": params}
            self._write(json.dumps(changed).encode() + b"\n")

    def _waits_for_server(self) -> bool:
        """Whether the client waits for a response, and not only for what may change."""
        return any(json.loads(line)["method"] != _LISTEN for line in list(self._open.values()))

    def _end_if_orphaned(self) -> None:
        if os.getppid() != self._parent:
            self.end(0)


def _split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Each line with its end, and what is left where the last one has none."""
    line = bytearray()
    for chunk in chunks:
        head, *following = chunk.split(b"\n")
        line += head
        for part in following:
            yield bytes(line) + b"\n"
            line = bytearray(part)
    if line:
        yield bytes(line)


def _report_no_server(problem: Exception) -> None:
    sys.stderr.write(f"alita-mcp-server: no shared server ({problem}); serving this client alone\n")


def leave(status: int) -> NoReturn:
    """Ends the process now, whatever its threads are doing."""
    sys.stderr.flush()
    os._exit(status)
