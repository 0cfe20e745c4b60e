"""Servers of one library, each with a home of its own, that are started, killed and started again behind a balancer."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from benchmarks.load.client import Address
from tests.server.processes import environment
from tests.team.balancers import free_ports, running_haproxy, wait_for

SERVE = """
import sys
from alita_mcp import settings
settings.Settings.model_fields["limits"].default = settings.FixedLimits(answer_within_s={answer_within_s})
settings.Settings.model_rebuild(force=True)
from alita_mcp.cli.main import main
sys.exit(main())
"""
"""`alita`; with the setting `answer_within_s` it says `working` sooner than after 45 s, so that jobs are asked for."""
SPARE = 2
"""Places that the balancer knows and where nobody listens yet."""


class Replica:
    """One `alita serve --http`: its home and its port outlive the process."""

    def __init__(self, folder: Path, port: int, library: str, **settings: str) -> None:
        self.home, self.port = folder / "home", port
        self.log = folder / "log"
        self._program = SERVE.format(answer_within_s=settings.pop("answer_within_s", "45"))
        self._folder, self._settings = folder, {"library": library, "home": str(self.home), **settings}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def address(self) -> Address:
        return Address(self.port, self._settings.get("token", ""))

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def environment(self, **settings: str) -> dict[str, str]:
        """What its process gets, and what a command on its home gets."""
        return {**environment(**{**self._settings, **settings}), "OPENAI_API_KEY": "k"}

    def start(self, **settings: str) -> None:
        """Starts a process; returns at once."""
        command = [sys.executable, "-c", self._program, "serve", "--http", f"127.0.0.1:{self.port}"]
        if "token" not in self._settings:
            command.append("--no-token")
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, env=self.environment(**settings), cwd=self._folder,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def wait_until_served(self) -> None:
        """Waits until it listens."""
        process = self._process
        assert process is not None
        wait_for(lambda: f":{self.port}/mcp" in self.said() or process.poll() is not None)
        assert process.poll() is None, self.said()[-3_000:]

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    def ended(self, within_s: float = 60.0) -> int:
        """Waits for the end; returns the exit status."""
        assert self._process is not None
        return self._process.wait(within_s)

    def terminate(self) -> None:
        assert self._process is not None
        self._process.terminate()

    def kill(self) -> None:
        """SIGKILL for the server alone: what it started ends by itself."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None
            self.log.write_bytes(b"")

    def stop(self) -> None:
        """Ends it and whatever it started."""
        if self._process is None:
            return
        children = []
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self._process.pid).children(recursive=True)
        self.kill()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()


class Team:
    """Replicas and the balancer before them."""

    def __init__(self, folder: Path, library: str, count: int, **settings: str) -> None:
        self._folder, self.library, self._settings = folder, library, settings
        self.ports = free_ports(count + SPARE)
        self.replicas: list[Replica] = []
        self.port = 0
        """The balancer's."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def address(self) -> Address:
        return Address(self.port, self._settings.get("token", ""))

    def add(self, **settings: str) -> Replica:
        """A further replica with an empty home at a free place, started but not waited for."""
        port = next(port for port in self.ports if all(port != each.port for each in self.replicas))
        folder = Path(tempfile.mkdtemp(prefix="replica-", dir=self._folder))
        replica = Replica(folder, port, self.library, **{**self._settings, **settings})
        self.replicas.append(replica)
        replica.start()
        return replica


@contextmanager
def running_team(folder: Path, library: str, count: int = 3, **settings: str) -> Iterator[Team]:
    """So many replicas of one library behind an haproxy, all of them served."""
    folder.mkdir(parents=True, exist_ok=True)
    team = Team(folder, library, count, **{"sandbox": "wasm", **settings})
    try:
        for _ in range(count):
            team.add()
        for replica in team.replicas:
            replica.wait_until_served()
        with running_haproxy(folder, team.ports) as team.port:
            yield team
    finally:
        for replica in team.replicas:
            replica.stop()
