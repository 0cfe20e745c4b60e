"""Servers of a user: started where none runs, found, asked, stopped. Standard library only."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Collection
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_mcp.errors import UsageError
from alita_mcp.server.transports.local.endpoint import (
    NAME,
    Endpoint,
    Refused,
    Want,
    connect,
    private_folder,
    read_answer,
    read_endpoint,
)

if TYPE_CHECKING:
    import subprocess

PYTHON = (sys.executable, "-P")
"""Without `-P`, a file of the folder in which a client works would be imported in place of a module."""
PROGRAM = ("-m", "alita_mcp.server.transports.local.process")
"""What Python runs as the server; the endpoint's name follows."""
START_WITHIN_S = 60.0
"""How long a new server may take until it listens; after it this process serves its client alone."""
STOP_WITHIN_S = 5.0
RETRY_S = 0.005
LOST_RACE_S = 2.0
"""How soon a server is started again if the last one ended because another was first; twice as late each time."""
POLL_S = 0.4
"""How often a relay looks whether its parent is still there."""
MAX_LOG_BYTES = 1_000_000
"""A log that has grown longer is begun anew."""


class Launcher:
    """Finds the server of an endpoint, and starts one where none runs."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts a server of its own session, which outlives this process; the last of several to start just ends.

        Raises:
            OSError: no process can be started.
        """
        import subprocess  # a megabyte that most relays never need

        flags: dict[str, Any] = {"start_new_session": True}
        if sys.platform == "win32":
            detached = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
            flags = {"creationflags": detached | subprocess.CREATE_BREAKAWAY_FROM_JOB}
        path, log = self._endpoint.folder / f"{self._endpoint.name}.log", None
        with suppress(OSError):  # without room for a log, none is kept
            mode = "wb" if path.exists() and path.stat().st_size > MAX_LOG_BYTES else "ab"
            log = open(path, mode, opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
        with log or nullcontext():
            self._process = subprocess.Popen(
                [*PYTHON, *PROGRAM, self._endpoint.name],
                cwd=self._endpoint.folder,
                # glibc would keep what many threads free: two arenas save a tenth of the server's memory
                env={"MALLOC_ARENA_MAX": "2", **self._endpoint.environment},
                stdin=subprocess.DEVNULL,
                stdout=log or subprocess.DEVNULL,
                stderr=log or subprocess.DEVNULL,
                **flags,
            )

    def find_server(self, want: Want, **question: Any) -> socket.socket:
        """A connection to the server where it runs; see `connect`."""
        link = connect(self._endpoint, want, **question)
        link.settimeout(None)
        self._process = None
        return link

    def wait_for_server(self, want: Want, **question: Any) -> socket.socket:
        """A connection to the server, started if it is not there; see `connect`.

        Raises:
            OSError: it cannot be started, or does not listen in time.
            Refused: it ended at its start, or is not this user's.
        """
        give_up = time.monotonic() + START_WITHIN_S
        started, patience_s = time.monotonic(), LOST_RACE_S
        while time.monotonic() < give_up:
            with suppress(ConnectionError, FileNotFoundError):
                return self.find_server(want, **question)
            status = None if self._process is None else self._process.poll()
            if status is not None and status > 0:
                raise Refused(f"it ended with exit status {status}")
            # It is not there yet, lost the race against another one, or was killed.
            if self._process is None or (status is not None and time.monotonic() > started + patience_s):
                patience_s *= 1 if self._process is None else 2
                self.start()
                started = time.monotonic()
            time.sleep(RETRY_S)
        raise TimeoutError(f"it did not listen within {START_WITHIN_S:g} s")


def find_endpoints(home: Path, besides: Collection[str] = ()) -> list[tuple[Endpoint, dict[str, Any]]]:
    """The endpoints at which servers of a home listen; none of the names `besides`.

    With each, what its server says of itself (`LocalClients.describe`), or the `problem` of one that does not.
    """
    found: list[tuple[Endpoint, dict[str, Any]]] = []
    try:
        names = [path.name for path in sorted(private_folder().iterdir()) if NAME.fullmatch(path.name)]
        known = [read_endpoint(name) for name in names if name not in besides]
    except (OSError, Refused):  # nothing can be shared
        return found
    for endpoint in known:
        try:
            server = read_answer(connect(endpoint, "status"))
        except (ConnectionError, FileNotFoundError):  # it was killed
            continue
        except (OSError, Refused, ValueError) as problem:
            server = {"problem": f"{endpoint.address} does not answer: {problem}"}
        if server.get("home", str(home)) == str(home):
            found.append((endpoint, server))
    return found


def stop_servers(home: Path) -> list[dict[str, Any]]:
    """Ends the servers of a home; returns what each said of itself, or the `problem` of one that did not end."""
    found = find_endpoints(home)
    for endpoint, server in found:
        if "problem" in server:
            continue
        with suppress(ConnectionError, FileNotFoundError):  # it ended meanwhile
            try:
                read_answer(connect(endpoint, "stop", STOP_WITHIN_S))  # the end of the connection
            except (TimeoutError, Refused) as problem:
                server["problem"] = f"server {server['pid']} did not end: {problem}"
    return [server for _, server in found]


def ask_for_link(endpoint: Endpoint, port: int) -> str:
    """A link to the pages of the server of an endpoint, which is started where none runs.

    Raises:
        OSError, Refused: no server can be shared.
        UsageError: it has no pages to show.
    """
    link = Launcher(endpoint).wait_for_server("ui", port=port)
    link.settimeout(START_WITHIN_S)
    answer = read_answer(link)
    if "url" not in answer:
        problem = answer.get("problem", "The server ended before it answered.")
        raise UsageError(problem, hint=answer.get("hint", ""))
    return str(answer["url"])


def describe_server(server: dict[str, Any]) -> list[str]:
    """A server and its clients, in lines for a person."""
    if "problem" in server:
        return [f"✗ {server['problem']}"]
    megabytes = f"{server['memory_bytes'] / 1e6:.0f} MB" if server["memory_bytes"] else "unknown memory"
    lines = [
        f"server {server['pid']}, version {server['version']}, {megabytes}, since {_time(server['since'])}"
    ]
    lines += [
        f"  {client['name'] or 'a client'} (process {client['pid']}), since {_time(client['since'])}"
        for client in server["clients"]
    ]
    if not server["clients"]:
        lines[0] += ", no clients"
    return lines


def _time(unix_time: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_time))
