"""The real server with its pages, as `alita ui` starts it, for browsers of tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.conftest import CACHE
from tests.living import alive
from tests.server.processes import PATIENCE_S, RUN_ALITA, environment

PAGES = ("ask", "activity", "library", "decide", "gaps", "worth", "health")


@dataclass
class UiServer:
    """A person with a home and a server of their own."""

    folder: Path
    settings: dict[str, str]
    """`ALITA_` settings without their prefix."""
    base: str = ""
    """Where the pages are, since the last link."""

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def environment(self) -> dict[str, str]:
        """What the person's clients and commands get."""
        wanted = {
            "home": str(self.home),
            "sandbox": "wasm",
            "shared": "on",
            "embedder": "none",
            **self.settings,
        }
        return environment(**wanted) | {"HOME": str(self.folder), "TMPDIR": str(self.folder)} | CACHE

    def alita(self, *words: str) -> str:
        """What a command of the person prints on stdout."""
        ended = subprocess.run(
            [sys.executable, "-c", RUN_ALITA, *words], cwd=self.folder,
            env=self.environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended
        return ended.stdout

    def link(self) -> str:
        """A link that signs a browser in, once."""
        url: str = json.loads(self.alita("ui", "--port", "0", "--json"))["url"]
        self.base = url.partition("/enter")[0]
        return url

    def url(self, path: str = "") -> str:
        """The address of a page, of the server that gave the last link."""
        return f"{self.base}{path}"

    def processes(self) -> list[psutil.Process]:
        """All that live of those that the person started."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("TMPDIR") == str(self.folder) and alive(process):
                    found.append(process)
            except psutil.Error:
                continue
        return [process for process in found if process.pid != os.getpid()]


@contextmanager
def person(stocked: Path, **settings: str) -> Iterator[UiServer]:
    """Somebody with the starter tools; whatever they started is ended."""
    folder = Path(tempfile.mkdtemp(prefix="ui-"))
    shutil.copytree(stocked, folder / "home")
    server = UiServer(folder, settings)
    try:
        yield server
    finally:
        for process in server.processes():
            process.terminate()
        for process in psutil.wait_procs(server.processes(), PATIENCE_S)[1]:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)
