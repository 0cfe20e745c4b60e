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
        self._node = self._modules / "node" / "bin" / "node"

    def package(self, name: str, script: str) -> str:
        """A script of an installed package."""
        return str(self._modules / name / script)

    def client(self, script: str) -> str:
        """One of our clients, copied beside the packages, because Node resolves imports from there."""
        return shutil.copy(SOURCES / script, self._folder)

    async def run(self, arguments: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Ran:
        """Runs a script in `folder` to its end."""
        path = f"{self._node.parent}{os.pathsep}{os.environ['PATH']}"
        with anyio.fail_after(RUN_S):
            done = await anyio.run_process(
                [str(self._node), *arguments],
                cwd=folder,
                env={**os.environ, **(env or {}), "PATH": path, "HOME": str(folder)},
                stdin=subprocess.DEVNULL,
                check=False,
            )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def installed() -> NodeTools:
    """The tools, installed unless the same list of packages already is.

    Raises:
        NoNode: npm is missing or the packages cannot be fetched.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise NoNode("npm is not installed")
    wanted = (SOURCES / "package.json").read_bytes()
    stamp = FOLDER / "installed"
    digest = hashlib.sha256(wanted).hexdigest()
    FOLDER.mkdir(exist_ok=True)
    with FileLock(FOLDER / "lock", timeout=INSTALL_S):
        if not stamp.exists() or stamp.read_text() != digest:
            (FOLDER / "package.json").write_bytes(wanted)
            _install(npm)
            stamp.write_text(digest)
    return NodeTools(FOLDER)


def _install(npm: str) -> None:
    quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--fetch-retries=1"]
    try:
        done = subprocess.run(
            [npm, "install", *quiet, "--prefix", str(FOLDER)],
            capture_output=True, text=True, timeout=INSTALL_S, check=False, cwd=FOLDER,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise NoNode(f"npm install took longer than {INSTALL_S} s") from None
    if done.returncode:
        raise NoNode(f"npm install failed: {done.stderr.strip().splitlines()[-1:]}")
