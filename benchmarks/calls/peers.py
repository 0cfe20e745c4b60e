"""Peer sandboxes on the same work: installed beside us, driven as processes, removed afterwards.

Nothing of a peer is imported here. Each has a virtual environment in our cache folder and a driver script that its
own Python runs; see `peer_drivers/json_lines.py` for what is said between the two.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from alita_mcp.sandbox.owner import ProcessOwner
from benchmarks.calls import baselines, peer_images, timing, work

INSTALL_WITHIN_S = 600
START_WITHIN_S = 120
ANSWER_WITHIN_S = 60
GRACE_S = 1.0
MAX_LINE = 64 << 10
DRIVERS = Path(__file__).with_name("peer_drivers")


class Peer(NamedTuple):
    """One other sandbox."""

    name: str
    requirement: str
    driver: str
    image: str
    """Which derived image it needs; empty: none."""
    rival: str
    """The back end of ours that it is compared with."""


PEERS = (
    Peer("llm-sandbox, docker", "llm-sandbox[docker]", "llm_sandbox_docker.py", "plain", "docker"),
    Peer("smolagents DockerExecutor", "smolagents[docker]", "smolagents_docker.py", "jupyter", "docker"),
    Peer(
        "autogen-ext DockerCommandLineCodeExecutor",
        "autogen-ext[docker]",
        "autogen_docker.py",
        "plain",
        "docker",
    ),
    Peer("llm-sandbox, bubblewrap", "llm-sandbox[docker]", "llm_sandbox_bubblewrap.py", "", "bubblewrap"),
)


@dataclass
class OpenedPeers:
    """The peers that run, and why the others do not."""

    calls: dict[str, timing.Call] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def opened(
    peers: tuple[Peer, ...], image: str, cache: Path, tell: timing.Tell
) -> AsyncIterator[OpenedPeers]:
    """Installs and starts the available peers; on exit removes the processes, containers and images of this run."""
    found = OpenedPeers()
    run = str(ProcessOwner.this_process())
    engine = baselines.missing_engine(image)
    with tempfile.TemporaryDirectory(prefix="alita-bench-peers-", ignore_cleanup_errors=True) as folder:
        try:
            if not engine:
                await anyio.to_thread.run_sync(peer_images.sweep)
            async with AsyncExitStack() as drivers:
                for peer in peers:
                    if peer.image and engine:
                        found.missing[peer.name] = engine
                        continue
                    try:
                        words = await _prepared(peer, image, run, cache, tell)
                        tell(f"starting {peer.name}")
                        driver = await drivers.enter_async_context(started(peer.name, words, Path(folder)))
                    except timing.ContenderFailed as failed:
                        found.missing[peer.name] = str(failed)
                        tell(f"{peer.name} is left out: {failed}")
                        continue
                    found.calls[peer.name] = driver.call
                    found.versions |= driver.versions
                yield found
        finally:
            if not engine:
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(peer_images.remove, run)


def figures(measured: timing.Measured, found: OpenedPeers, peers: tuple[Peer, ...]) -> dict[str, Any]:
    """Each peer's spread and our share of it, or why there is none."""
    result: dict[str, Any] = {}
    for peer in peers:
        if peer.name in found.missing:
            result[peer.name] = {"missing": found.missing[peer.name], "compared_with": peer.rival}
            continue
        each = measured.figures(peer.name) | {"compared_with": peer.rival}
        ours = measured.ratio(peer.rival, peer.name)
        result[peer.name] = each | {"ratio": ours}
    return result


class Driver:
    """A running driver script."""

    def __init__(self, name: str, process: Process, log: Path) -> None:
        assert process.stdin
        assert process.stdout
        self.versions: dict[str, str] = {}
        self._name = name
        self._stdin = process.stdin
        self._lines = BufferedByteReceiveStream(process.stdout)
        self._log = log

    async def greet(self) -> None:
        """Waits until the peer is ready.

        Raises:
            ContenderFailed: it is not.
        """
        self.versions = (await self._answer(START_WITHIN_S))["versions"]

    async def call(self) -> float:
        """One call, timed by the driver."""
        arguments = work.new_arguments()
        try:
            await self._stdin.send(json.dumps(arguments).encode() + b"\n")
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as gone:
            raise timing.ContenderFailed(f"{self._name} ended: {self._last_words()}") from gone
        answer = await self._answer(ANSWER_WITHIN_S)
        work.check(self._name, arguments, answer["answer"])
        return float(answer["seconds"])

    async def _answer(self, within_s: float) -> dict[str, Any]:
        try:
            with anyio.fail_after(within_s):
                line = await self._lines.receive_until(b"\n", MAX_LINE)
        except TimeoutError as late:
            raise timing.ContenderFailed(f"{self._name} did not answer within {within_s:g} s") from late
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound, OSError) as gone:
            raise timing.ContenderFailed(f"{self._name} ended: {self._last_words()}") from gone
        answer = work.parsed(self._name, line)
        if not isinstance(answer, dict) or "failed" in answer:
            raise timing.ContenderFailed(
                f"{self._name}: {answer['failed'] if isinstance(answer, dict) else answer}"
            )
        return answer

    def _last_words(self) -> str:
        return baselines.last_line(self._log.read_bytes()) or "it said nothing"


@asynccontextmanager
async def started(name: str, words: list[str], folder: Path) -> AsyncIterator[Driver]:
    """A driver that is ready; its whole process group is gone afterwards.

    Raises:
        ContenderFailed: it cannot be started or its peer does not work here.
    """
    scratch = Path(tempfile.mkdtemp(dir=folder))
    log = scratch / "driver.log"
    environment = {**os.environ, "TMPDIR": str(scratch)}  # noqa: TID251 - DOCKER_HOST, PATH
    with log.open("wb") as stderr:
        process = await anyio.open_process(words, stderr=stderr, env=environment, start_new_session=True)
        try:
            driver = Driver(name, process, log)
            await driver.greet()
            yield driver
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process)


async def _end(process: Process) -> None:
    """Lets the driver end by itself for a moment, then kills what is left of its group."""
    if process.stdin:
        with suppress(OSError, anyio.BrokenResourceError):
            await process.stdin.aclose()
    with anyio.move_on_after(GRACE_S):
        await process.wait()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.aclose()


async def _prepared(peer: Peer, image: str, run: str, cache: Path, tell: timing.Tell) -> list[str]:
    """The command of a peer's driver, once its environment and its image are there."""
    python = await installed(peer.requirement, cache, tell)
    words = [str(python), "-E", "-W", "ignore", str(DRIVERS / peer.driver)]
    if peer.image:
        words.append(await peer_images.built(peer.image, image, run, cache, tell))
    return words


async def installed(requirement: str, cache: Path, tell: timing.Tell) -> Path:
    """The Python of a virtual environment in which the requirement is installed; made once.

    Raises:
        ContenderFailed: it cannot be installed.
    """
    folder = cache / "".join(letter if letter.isalnum() else "-" for letter in requirement).strip("-")
    python = folder / "bin" / "python"
    done = folder / "installed"
    async with peer_images.locked(folder):
        if done.exists() and python.exists():
            return python
        tell(f"installing {requirement} into {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        with anyio.move_on_after(INSTALL_WITHIN_S) as clock:
            await peer_images.succeed([sys.executable, "-m", "venv", str(folder)])
            await peer_images.succeed([str(python), "-m", "pip", "install", "--quiet", requirement])
            done.touch()
        if clock.cancelled_caught:
            raise timing.ContenderFailed(f"{requirement} was not installed within {INSTALL_WITHIN_S} s")
    return python
