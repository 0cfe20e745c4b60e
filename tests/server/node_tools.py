"""Node.js and the protocol project's own programs, installed once into `.node-tools` from npm."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from filelock import FileLock

from tests.conftest import CACHE
from tests.server.processes import ROOT

SOURCES = ROOT / "tests" / "node"
FOLDER = ROOT / ".node-tools"
INSTALL_S = 900
RUN_S = 300


class NoNode(Exception):
    """Node.js or its packages cannot be had here; says why."""


@dataclass(frozen=True)
class Ran:
    """A program that ended."""

    status: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, object]:
        """Its stdout as JSON."""
        answer: dict[str, object] = json.loads(self.out)
        return answer


class NodeTools:
    """Runs scripts with the installed Node.js."""

    def __init__(self, folder: Path) -> None:
        self._modules = folder / "node_modules"
        self._folder = folder
        self.node = self._modules / "node" / "bin" / "node"

    def package(self, name: str, script: str) -> str:
        """A script of an installed package."""
        return str(self._modules / name / script)

    def client(self, script: str) -> str:
        """One of our clients, copied beside the packages, because Node resolves imports from there."""
        return shutil.copy(SOURCES / script, self._folder)

    async def run(self, arguments: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Ran:
        """Runs a script in `folder` to its end."""
        path = f"{self.node.parent}{os.pathsep}{os.environ['PATH']}"
        with anyio.fail_after(RUN_S):
            done = await anyio.run_process(
                [str(self.node), *arguments],
                cwd=folder,
                env={**os.environ, **(env or {}), "PATH": path, "HOME": str(folder), **CACHE},
                stdin=subprocess.DEVNULL,
                check=False,
            )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def installed() -> NodeTools:
    """The tools, installed unless the same list of packages already is.

    Raises:
        NoNode: npm is missing or the packages cannot be fetched.
    """
    install(SOURCES, FOLDER)
    return NodeTools(FOLDER)


def install(sources: Path, folder: Path, within_s: float = INSTALL_S) -> None:
    """Installs what `sources/package.json` lists, unless `folder` holds just that.

    Raises:
        NoNode: npm is missing or the packages cannot be fetched.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise NoNode("npm is not installed")
    wanted = (sources / "package.json").read_bytes()
    stamp = folder / "installed"
    digest = hashlib.sha256(wanted).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock", timeout=within_s):
        if not stamp.exists() or stamp.read_text() != digest:
            (folder / "package.json").write_bytes(wanted)
            _run_npm(npm, folder, within_s)
            stamp.write_text(digest)


def _run_npm(npm: str, folder: Path, within_s: float) -> None:
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--fetch-retries=1"]
    try:
        done = subprocess.run(
            [npm, "install", *quiet, "--prefix", str(folder)],
            capture_output=True, text=True, timeout=within_s, check=False, cwd=folder,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoNode(f"npm install took longer than {within_s} s") from None
    if done.returncode:
        raise NoNode(f"npm install failed: {done.stderr.strip()[:300]}")
