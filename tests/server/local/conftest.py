"""A user of their own for each test, with short paths, as sockets have them; no process of theirs outlives the test."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil
import pytest

from alita_mcp.server.transports.local.endpoint import Endpoint, find_endpoint
from tests.conftest import CACHE
from tests.living import alive
from tests.server.processes import PATIENCE_S, environment

in_home = pytest.mark.skipif(
    sys.platform == "win32" or Path(f"/run/user/{os.getuid()}").is_dir(),
    reason="the private folder is the session's, not the test's",
)


@dataclass(frozen=True)
class User:
    """Somebody whose clients share a server."""

    folder: Path
    """Their home folder, and the current one of their clients."""

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def environment(self, **settings: str | Path) -> dict[str, str]:
        """What their clients pass on."""
        wanted: dict[str, str | Path] = {"home": self.home, "sandbox": "wasm", "shared": "on", **settings}
        return environment(**wanted) | {"HOME": str(self.folder), "TMPDIR": str(self.folder)} | CACHE

    def endpoint(self, **settings: str | Path) -> Endpoint:
        """Where a server for their clients listens."""
        return find_endpoint(self.environment(**settings), str(self.folder))

    def processes(self) -> list[psutil.Process]:
        """All that live of those that a client of theirs started, directly or not."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                own = str(self.folder) in (process.environ().get("TMPDIR"), process.environ().get("HOME"))
                if own and process.pid != os.getpid() and alive(process):
                    found.append(process)
        return found

    def servers(self) -> list[psutil.Process]:
        """Their shared servers that live."""
        found = []
        for each in self.processes():
            with suppress(psutil.Error):  # it ended meanwhile
                if "alita_mcp.server.transports.local.process" in " ".join(each.cmdline()):
                    found.append(each)
        return found

    async def server(self) -> psutil.Process:
        """Their only one; of several that are started at once all but one end."""
        with anyio.fail_after(PATIENCE_S):
            while len(servers := self.servers()) != 1:  # noqa: ASYNC110 - another process: nothing tells
                await anyio.sleep(0.02)
        return servers[0]


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    folder = Path(tempfile.mkdtemp(prefix="u-"))
    monkeypatch.setenv("HOME", str(folder))
    user = User(folder)
    yield user
    for server in user.servers():
        server.terminate()
    left = psutil.wait_procs(user.processes(), PATIENCE_S)[1]
    commands = [" ".join(process.cmdline()) for process in left if alive(process)]
    for process in left:
        process.kill()
    shutil.rmtree(folder, ignore_errors=True)
    assert not commands


@pytest.fixture
def stocked_user(user: User, stocked: Path) -> User:
    """A user whose library is there, so that no server spends its first seconds on it."""
    shutil.copytree(stocked, user.home)
    return user
