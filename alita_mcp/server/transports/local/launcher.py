"""Start of the person's shared server, or of one for a single client where none can be shared. Standard library."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alita_mcp.server.transports.local.endpoint import OFF, SWITCH, Endpoint, Refused, Want, connect

if TYPE_CHECKING:
    import subprocess

PYTHON = (sys.executable, "-P")
"""Without `-P`, a file of the folder in which a client works would be imported in place of a module."""
PROGRAM = ("-m", "alita_mcp.server.transports.local.process")
"""What Python runs as the server; the endpoint's name follows."""
START_WITHIN_S = 60.0
"""How long a new server may take until it listens; after it this process serves its client alone."""
RETRY_S = 0.02
LOST_RACE_S = 2.0
"""How soon a server is started again if the last one ended because another was first; twice as late each time."""
POLL_S = 0.4
"""How often a relay looks whether its parent is still there."""
MAX_LOG_BYTES = 1_000_000


class Launcher:
    """Finds the server of an endpoint, and starts one where none runs."""

    def __init__(self, endpoint: Endpoint, want: Want = "mcp") -> None:
        self._endpoint = endpoint
        self._want = want
        self._process: subprocess.Popen[bytes] | None = None
        self.own: subprocess.Popen[bytes] | None = None
        """The server for this client alone, once there is one."""

    def connect(self) -> socket.socket | None:
        """A connection to the server; None where none listens."""
        try:
            link = connect(self._endpoint, self._want).socket
        except (ConnectionError, FileNotFoundError):
            return None
        link.settimeout(None)
        return link

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
        log_path = self._endpoint.folder / f"{self._endpoint.name}.log"
        with open_log(log_path) as log:
            self._process = subprocess.Popen(
                [*PYTHON, *PROGRAM, self._endpoint.name],
                cwd=self._endpoint.folder,
                # glibc would keep what many threads free: two arenas save a tenth of the server's memory
                env={"MALLOC_ARENA_MAX": "2", **self._endpoint.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **flags,
            )

    def wait_for_server(self) -> socket.socket:
        """A connection to the server, started if it is not there.

        Raises:
            OSError: it cannot be started, or does not listen in time.
            Refused: it ended at its start, or is not this user's.
        """
        give_up = time.monotonic() + START_WITHIN_S
        started, patience_s = time.monotonic(), LOST_RACE_S
        while time.monotonic() < give_up:
            link = self.connect()
            if link is not None:
                return link
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

    def start_own_server(self) -> socket.socket:
        """A server for this client alone, in a process that ends with this one.

        Raises:
            OSError: no process can be started.
        """
        import subprocess

        mine, its = socket.socketpair()
        with its:
            self.own = subprocess.Popen(
                [*PYTHON, "-m", "alita_mcp.server.transports.entry"],
                env={**self._endpoint.environment, SWITCH: OFF[0]},
                stdin=its.fileno(),
                stdout=its.fileno(),
            )
        return mine

    def server_after_loss(self) -> socket.socket:
        """A connection to a server after the last one was lost: the shared one, else one of this client's own.

        Raises:
            OSError: no process can be started.
        """
        self._process = None
        try:
            return self.wait_for_server()
        except (OSError, Refused) as problem:
            sys.stderr.write(f"alita-mcp-server: no shared server ({problem}); serving this client alone\n")
            return self.start_own_server()


def open_log(path: Path) -> Any:
    """The log of a server, opened to be written on; emptied when it has grown long, the null device without room."""
    try:
        is_long = path.exists() and path.stat().st_size > MAX_LOG_BYTES
        return open(path, "wb" if is_long else "ab", opener=lambda name, flags: os.open(name, flags, 0o600))
    except OSError:
        return open(os.devnull, "wb")
