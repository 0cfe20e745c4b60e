"""Server processes spoken to by hand: raw lines in and out, stderr in a file, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import psutil
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.living import alive

ROOT = Path(__file__).resolve().parents[2]
TINY = Path(__file__).with_name("tiny_server.py")
ENTRY = (sys.executable, "-m", "alita_mcp.server.transports.entry")
UNHURRIED = (
    sys.executable,
    "-c",
    "from alita_mcp.server.transports import entry, shutdown; shutdown.END_WITHIN_S = 120; entry.main()",
)
"""The same server, which ends its clean-up also where a busy machine makes it slow."""
RUN_ALITA = "import sys; from alita_mcp.cli.main import main; sys.exit(main())"
SERVE_WITH_TOKEN = (sys.executable, "-c", RUN_ALITA, "serve", "--http", "127.0.0.1:0")
SERVE_HTTP = (*SERVE_WITH_TOKEN, "--no-token")
"""For tests that are about something else."""
PATIENCE_S = 180
"""Far more than anything here takes; only a hang is that slow."""

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "peer", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What every request of 2026-07-28 carries."""


def environment(**settings: str | Path) -> dict[str, str]:
    """What a server process gets: this process's environment and `ALITA_*` settings; it prepares nothing unasked."""
    settings.setdefault("prepare", "false")
    given = {f"ALITA_{name.upper()}": str(value) for name, value in settings.items()}
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("ALITA_") or name in ("ALITA_DOCKER_IMAGE", "ALITA_EMBEDDER", "ALITA_SHARED")
    }
    return {**kept, "PYTHONPATH": str(ROOT), **given}


class Peer:
    """One server process and the client's ends of its pipes."""

    def __init__(self, process: anyio.abc.Process, stderr: Path) -> None:
        assert process.stdout
        self.process = process
        self.pid = process.pid
        self._stderr = stderr
        self._lines = BufferedByteReceiveStream(process.stdout)
        self._requests = 0

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(encoding="utf-8", errors="replace")

    async def write(self, raw: bytes) -> None:
        assert self.process.stdin
        await self.process.stdin.send(raw)

    async def send(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {}), **more}
        await self.write(json.dumps(message).encode() + b"\n")

    async def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Sends a request and returns its answer, skipping notifications."""
        self._requests += 1
        await self.send(method, params, id=self._requests)
        while True:
            message = await self.message()
            if message.get("id") == self._requests:
                return message

    async def message(self) -> dict[str, Any]:
        """The next line, which must be one JSON-RPC message."""
        with anyio.fail_after(PATIENCE_S):
            line = await self._lines.receive_until(b"\n", 10_000_000)
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    async def initialize(self) -> dict[str, Any]:
        answer = await self.request("initialize", INITIALIZE)
        await self.send("notifications/initialized")
        return answer

    async def says(self, word: str) -> str:
        """Waits until a line of stderr contains `word`; returns that line."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                ended = self.process.returncode is not None
                for line in self.stderr.splitlines():
                    if word in line:
                        return line
                assert not ended, f"ended without saying {word!r}: {self.stderr[-2_000:]}"
                await anyio.sleep(0.02)

    async def ended(self) -> int:
        """Waits for the end; returns the exit status."""
        with anyio.fail_after(PATIENCE_S):
            return await self.process.wait()

    async def rest(self) -> bytes:
        """All that is still to be read from stdout, after the end."""
        left = b""
        with anyio.fail_after(PATIENCE_S):
            while True:
                try:
                    left += await self._lines.receive()
                except (anyio.EndOfStream, anyio.ClosedResourceError):
                    return left

    async def end_input(self) -> None:
        assert self.process.stdin
        await self.process.stdin.aclose()

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)


@asynccontextmanager
async def started(
    command: Sequence[str], env: dict[str, str], folder: Path, **options: Any
) -> AsyncIterator[Peer]:
    """Starts a server process; kills it and its children in the end if they are still there."""
    stderr = _fresh_file(folder)
    children: list[psutil.Process] = []
    with stderr.open("wb") as sink:
        process = await anyio.open_process(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sink,
            env=env,
            cwd=folder,
            **options,
        )
    try:
        yield Peer(process, stderr)
    finally:
        with anyio.CancelScope(shield=True):
            if process.returncode is None:
                with suppress(psutil.NoSuchProcess):
                    children = psutil.Process(process.pid).children(recursive=True)
                with suppress(ProcessLookupError):
                    process.kill()
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
            await process.aclose()


def _fresh_file(folder: Path) -> Path:
    descriptor, name = tempfile.mkstemp(prefix="stderr-", dir=folder)
    os.close(descriptor)
    return Path(name)


async def gone(processes: Sequence[psutil.Process]) -> None:
    """Waits until none of the processes lives."""
    with anyio.fail_after(PATIENCE_S):
        while any(map(alive, processes)):  # noqa: ASYNC110 - not our children: nothing tells of their end
            await anyio.sleep(0.02)


def processor_seconds(ancestor: int) -> dict[psutil.Process, float]:
    """Every process that `ancestor` started, directly or not, and the processor time it has used."""
    used: dict[psutil.Process, float] = {}
    for process in psutil.Process(ancestor).children(recursive=True):
        try:
            used[process] = process.cpu_times().user
        except psutil.NoSuchProcess:
            continue
    return used


async def busy_since(ancestor: int, before: dict[psutil.Process, float]) -> psutil.Process:
    """Waits for the process that computes: the sandbox of a call that began after `before`, and no server of ours."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            for process, used in processor_seconds(ancestor).items():
                if used - before.get(process, 0.0) > 0.8 and not serves(process):
                    return process
            await anyio.sleep(0.05)


def serves(process: psutil.Process) -> bool:
    """Whether it is a server, which computes too while it imports and answers, or is gone."""
    try:
        return not {ENTRY[-1], UNHURRIED[-1], RUN_ALITA}.isdisjoint(process.cmdline())
    except psutil.NoSuchProcess:
        return True
