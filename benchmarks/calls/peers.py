"""Peer sandboxes on the same work: each installed into an environment in our cache and driven by `peer_driver.py`.

Nothing of a peer is imported here. Those that need an image get one derived from ours, so that all run the same Python.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from benchmarks.calls import baselines, timing, work

INSTALL_WITHIN_S = 600
START_WITHIN_S = 120
ANSWER_WITHIN_S = 60
GRACE_S = 1.0
MAX_LINE = 64 << 10
DRIVER = Path(__file__).with_name("peer_driver.py")
LABEL = "alita.bench.peers"
"""On the images, and so on every container that a peer starts from them; its value is the run's process."""
GATEWAY = ("jupyter_kernel_gateway", "jupyter_client", "ipykernel")
_LINK = "/usr/local/bin/python"
DOCKERFILE = f"""FROM {{base}}
USER root
RUN ["python3", "-c", "import os, sys; os.path.lexists('{_LINK}') or os.symlink(sys.executable, '{_LINK}')"]
ENTRYPOINT []
CMD ["/bin/bash"]
"""
WITH_GATEWAY = """COPY packages /opt/packages
ENV PYTHONPATH=/opt/packages
EXPOSE 8888
CMD ["python3", "-m", "kernel_gateway", "--KernelGatewayApp.ip=0.0.0.0", "--KernelGatewayApp.port=8888"]
"""
ASK = "import json, platform, sys; print(json.dumps([platform.machine(), '%d.%d' % sys.version_info[:2]]))"


class Peer(NamedTuple):
    """One other sandbox."""

    name: str
    distribution: str
    image: str
    """Which derived image it needs, `plain` or `jupyter`; empty: none."""
    rival: str
    """The back end of ours that it is compared with."""


PEERS = (
    Peer("llm-sandbox, docker", "llm-sandbox", "plain", "docker"),
    Peer("smolagents DockerExecutor", "smolagents", "jupyter", "docker"),
    Peer("autogen-ext DockerCommandLineCodeExecutor", "autogen-ext", "plain", "docker"),
    Peer("llm-sandbox, bubblewrap", "llm-sandbox", "", "bubblewrap"),
)


@dataclass
class OpenedPeers:
    """The peers that run, and why the others do not."""

    calls: dict[str, timing.Call] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


@asynccontextmanager
async def opened(
    peers: Sequence[Peer], image: str, cache: Path, tell: timing.Tell
) -> AsyncIterator[OpenedPeers]:
    """Installs and starts the peers that can be; on exit removes the processes, containers and images of this run."""
    found, run = OpenedPeers(), str(os.getpid())
    engine = baselines.missing_engine(image)
    try:
        async with AsyncExitStack() as drivers:
            for peer in peers:
                if peer.image and engine:
                    found.missing[peer.name] = engine
                    continue
                try:
                    tell(f"starting {peer.name}")
                    python = await installed(peer.distribution, cache, tell)
                    words = [str(python), "-E", "-W", "ignore", str(DRIVER), peer.distribution]
                    words += [await _built(peer.image, image, run, cache)] if peer.image else []
                    driver = await drivers.enter_async_context(started(peer.name, words))
                except timing.ContenderFailed as failed:
                    found.missing[peer.name] = str(failed)
                    tell(f"{peer.name} is left out: {failed}")
                    continue
                found.calls[peer.name] = driver.call
                found.versions |= driver.versions
            yield found
    finally:
        if peers and not engine:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove, run)


def figures(measured: timing.Measured, found: OpenedPeers, peers: Sequence[Peer]) -> dict[str, Any]:
    """Each peer's spread and our share of it, or why there is none."""
    return {
        peer.name: {"compared_with": peer.rival}
        | (
            {"missing": found.missing[peer.name]}
            if peer.name in found.missing
            else measured.figures(peer.name) | {"ratio": measured.ratio(peer.rival, peer.name)}
        )
        for peer in peers
    }


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
        """Waits until the peer is ready; raises ContenderFailed when it is not."""
        self.versions = (await self._answer(START_WITHIN_S))["versions"]

    async def call(self) -> float:
        """One call, timed by the driver."""
        arguments = work.new_arguments()
        with suppress(
            OSError, anyio.BrokenResourceError, anyio.ClosedResourceError
        ):  # no answer will come then
            await self._stdin.send(json.dumps(arguments).encode() + b"\n")
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
            said = baselines.last_line(self._log.read_bytes()) or "it said nothing"
            raise timing.ContenderFailed(f"{self._name} ended: {said}") from gone
        answer = work.parsed(self._name, line)
        if not isinstance(answer, dict) or "failed" in answer:
            raise timing.ContenderFailed(f"{self._name}: {answer}")
        return answer


@asynccontextmanager
async def started(name: str, words: list[str]) -> AsyncIterator[Driver]:
    """A driver that is ready; its whole process group is gone afterwards.

    Raises:
        ContenderFailed: it cannot be started or its peer does not work here.
    """
    with tempfile.TemporaryDirectory(prefix="alita-bench-peers-", ignore_cleanup_errors=True) as folder:
        log = Path(folder, "driver.log")
        environment = {**os.environ, "TMPDIR": folder}  # noqa: TID251 - DOCKER_HOST, PATH
        with open(log, "wb") as stderr:  # noqa: ASYNC230, PTH123 - a local file, opened once
            process = await anyio.open_process(words, stderr=stderr, env=environment, start_new_session=True)
            try:
                driver = Driver(name, process, log)
                await driver.greet()
                yield driver
            finally:
                with anyio.CancelScope(shield=True):
                    if process.stdin:
                        with suppress(OSError, anyio.BrokenResourceError):
                            await process.stdin.aclose()
                    with anyio.move_on_after(GRACE_S):
                        await process.wait()
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.aclose()


async def installed(distribution: str, cache: Path, tell: timing.Tell) -> Path:
    """The Python of a virtual environment in which the peer is installed; made once.

    Raises:
        ContenderFailed: it cannot be installed.
    """
    folder = cache / distribution
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        tell(f"installing {distribution} into {folder}")
        await _succeed([sys.executable, "-m", "venv", "--clear", str(folder)])
        await _succeed([str(python), "-m", "pip", "install", "--quiet", f"{distribution}[docker]"])
        done.touch()
    return python


async def _built(kind: str, base: str, run: str, cache: Path) -> str:
    """The name of an image with a `python` and a shell; `jupyter` has a kernel gateway too."""
    name = f"alita-bench-{kind}:{run}"
    with tempfile.TemporaryDirectory(prefix="alita-bench-image-") as folder:
        text = DOCKERFILE.format(base=base)
        if kind == "jupyter":
            packages = await _gateway_packages(base, cache)
            await anyio.to_thread.run_sync(shutil.copytree, packages, Path(folder, "packages"))
            text += WITH_GATEWAY
        await anyio.Path(folder, "Dockerfile").write_text(text)
        label = f"{LABEL}={run}"
        await _succeed(
            ["docker", "build", "--quiet", "--network", "none", "--label", label, "--tag", name, folder]
        )
    return name


async def _gateway_packages(base: str, cache: Path) -> Path:
    """A folder with the kernel gateway's wheels for the image's own Python, unpacked; made once."""
    said = baselines.client_output(
        ["docker", "run", "--rm", "--network", "none", "--entrypoint", "python3", base, "-c", ASK]
    )
    if not said:
        raise timing.ContenderFailed(f"the image {base!r} does not start a python3")
    machine, python = json.loads(said)
    folder = cache / f"gateway-{machine}-{python}"
    if not folder.exists():
        platforms = [f"manylinux{version}_{machine}" for version in ("2014", "_2_17", "_2_28")]
        words = [word for platform in platforms for word in ("--platform", platform)]
        words += ["--only-binary=:all:", "--implementation", "cp", "--python-version", python]
        target = folder.with_suffix(".part")
        await _succeed(
            [sys.executable, "-m", "pip", "install", "--quiet", *words, "--target", str(target), *GATEWAY]
        )
        target.rename(folder)
    return folder


def remove(run: str) -> None:
    """Removes the containers and images of one run."""
    own = f"label={LABEL}={run}"
    if containers := baselines.client_output(["docker", "ps", "--all", "--quiet", "--filter", own]).split():
        baselines.client_output(["docker", "rm", "--force", "--volumes", *containers])
    if images := baselines.client_output(["docker", "images", "--quiet", "--filter", own]).split():
        baselines.client_output(["docker", "rmi", "--force", *images])


async def _succeed(argv: Sequence[str]) -> None:
    """Runs a command to its end; it is killed when this is cancelled.

    Raises:
        ContenderFailed: it failed or took too long; the message has its last line.
    """
    with anyio.move_on_after(INSTALL_WITHIN_S) as clock:
        done = await anyio.run_process(
            argv, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    if clock.cancelled_caught:
        raise timing.ContenderFailed(f"{' '.join(argv[:3])} … took more than {INSTALL_WITHIN_S} s")
    if done.returncode:
        said = baselines.last_line(done.stderr) or baselines.last_line(done.stdout)
        raise timing.ContenderFailed(f"{' '.join(argv[:3])} …: {said or f'exit status {done.returncode}'}")
