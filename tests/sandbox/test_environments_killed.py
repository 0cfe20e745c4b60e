"""Builders that are killed, doubled or out of room leave a whole environment or none, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.text import TextReceiveStream

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.docker.volumes import volume_name
from alita_mcp.sandbox.interface import Environment, Job
from alita_mcp.sandbox.isolated import IsolatedSandbox
from alita_mcp.sandbox.packages.environments import EnvironmentBuilder
from alita_mcp.settings import Settings
from tests.sandbox.environment_homes import InBubblewrap, InDocker, silent
from tests.sandbox.leftovers import bubblewrap_leftovers, docker_leftovers, docker_running, nothing_left
from tests.sandbox.package_index import Index, wheel
from tests.sandbox.tars import tar_of

WAIT_SECONDS = 300
LARGE = 48 << 20
TOOL = "import large\ndef f(): return [large.X, len(open(large.__file__[:-2] + 'bin', 'rb').read())]\n"


async def start(kind: str, home: Path, index: Index, *packages: str) -> Process:
    command = [
        sys.executable, "-m", "tests.sandbox.environment_process", kind, str(home), index.url, *packages
    ]  # fmt: skip
    return await anyio.open_process(command, stderr=None)


async def told(process: Process, word: str) -> str:
    """The first line of a process that begins with a word."""
    assert process.stdout is not None
    text = ""
    async for piece in TextReceiveStream(process.stdout):
        text += piece
        for line in text.splitlines():
            if line.startswith(word) and f"{line}\n" in text:
                return line
    raise AssertionError(f"it ended without {word!r}: {text}")


async def until(claim: Callable[[], bool]) -> None:
    while not await anyio.to_thread.run_sync(claim):  # noqa: ASYNC110 - nobody tells when it is so
        await anyio.sleep(0.002)


def begun(home: Path, kind: str) -> set[str]:
    """Digests of all environments that anybody began to make in a home."""
    folder = home / "environments" / ".uses" / kind
    return {file.stem for file in folder.glob("*")}


def recorded(home: Path, kind: str) -> set[str]:
    return {file.stem for file in (home / "environments" / ".uses" / kind).glob("*.json")}


class KilledBuilders:
    """Subclasses give `sandbox`, `shared_home`, and how their store looks from outside."""

    @pytest.fixture
    def settings(self, shared_home: Path, index: Index) -> Settings:
        return Settings(home=shared_home, package_index=index.url)

    @pytest.fixture
    def package(self, index: Index) -> str:
        """A package whose environment takes a while to store, new for each test."""
        only_here = f"X = {uuid.uuid4().int}\n"
        files: dict[str, str | bytes] = {"large.py": only_here, "large.bin": os.urandom(LARGE)}
        index.add(*wheel("large", "1", files, compression=zipfile.ZIP_STORED))
        return only_here

    async def is_whole(self, sandbox: IsolatedSandbox, environment: Environment, package: str) -> None:
        result = await sandbox.run(Job(code=TOOL, function="f", arguments={}, environment=environment))
        assert result.value == [int(package.removeprefix("X = ")), LARGE], result

    @pytest.mark.parametrize(
        "silent_path",
        [
            pytest.param("/simple/large/", marks=pytest.mark.exhaustive),
            "/files/large-1-py3-none-any.whl",
        ],
    )
    async def test_a_builder_that_is_killed_while_it_waits_for_the_index(
        self, sandbox: IsolatedSandbox, settings: Settings, index: Index, package: str, silent_path: str
    ) -> None:
        index.silent = frozenset({silent_path})
        with anyio.fail_after(WAIT_SECONDS):
            process = await start(sandbox.kind, settings.home, index, "large")
            await until(index.asked.is_set)
            process.kill()
            await process.wait()
            index.answer.set()
            await nothing_left(self.processes, process.pid)
            await self.starts_anew(sandbox, settings)
            await nothing_left(self.leftovers, process.pid)
            environment = await sandbox.prepare(await sandbox.resolve(("large",), silent), silent)
            await self.is_whole(sandbox, environment, package)

    async def test_a_builder_that_is_killed_while_it_stores(
        self, sandbox: IsolatedSandbox, settings: Settings, index: Index, package: str
    ) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            process = await start(sandbox.kind, settings.home, index, "large")
            await told(process, "compiling modules")
            # on a machine that is very busy all of it may be stored between two looks
            await until(lambda: bool(self.filling(settings.home) or recorded(settings.home, sandbox.kind)))
            process.kill()
            await process.wait()
            await nothing_left(self.processes, process.pid)
            await self.starts_anew(sandbox, settings)
            await nothing_left(self.leftovers, process.pid)
            environment = await sandbox.prepare(await sandbox.resolve(("large",), silent), silent)
            await self.is_whole(sandbox, environment, package)

    async def starts_anew(self, sandbox: IsolatedSandbox, settings: Settings) -> None:
        """What the next process does first; afterwards only whole environments are there."""
        before = begun(settings.home, sandbox.kind)
        await EnvironmentBuilder(sandbox, settings).collect()
        assert begun(settings.home, sandbox.kind) == recorded(settings.home, sandbox.kind)
        assert not self.filling(settings.home)
        for digest in before - recorded(settings.home, sandbox.kind):
            assert not self.stored(settings.home, digest)

    @pytest.mark.exhaustive
    async def test_two_processes_that_build_one_environment_agree(
        self, sandbox: IsolatedSandbox, settings: Settings, index: Index, package: str
    ) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            both = [await start(sandbox.kind, settings.home, index, "large") for _ in range(2)]
            built = {await told(process, "built") for process in both}
            assert [await process.wait() for process in both] == [0, 0]
            assert len(built) == 1
            await self.starts_anew(sandbox, settings)
            environment = await sandbox.prepare(await sandbox.resolve(("large",), silent), silent)
            assert built == {f"built {environment.location}"}
            await self.is_whole(sandbox, environment, package)

    processes: Callable[[int], list[str]]
    leftovers: Callable[[int], list[str]]
    """What must be gone after the next start at the latest."""

    def filling(self, home: Path) -> bool:
        """Whether an environment of the home is half stored."""
        raise NotImplementedError

    def stored(self, home: Path, digest: str) -> bool:
        """Whether anything of an environment is there."""
        raise NotImplementedError


def docker_has(*words: str) -> bool:
    return not subprocess.run(["docker", *words], capture_output=True, check=False).returncode


def docker(*words: str) -> None:
    subprocess.run(["docker", *words], check=True, capture_output=True)


@pytest.mark.docker
@pytest.mark.exhaustive
class TestKilledInDocker(InDocker, KilledBuilders):
    """Volumes, and the containers that fill them."""

    processes = staticmethod(docker_running)
    leftovers = staticmethod(docker_leftovers)

    def filling(self, home: Path) -> bool:
        holders = [
            f"{volume_name(digest)}-filling" for digest in begun(home, "docker") - recorded(home, "docker")
        ]
        return any(docker_has("container", "inspect", holder) for holder in holders)

    def stored(self, home: Path, digest: str) -> bool:
        return docker_has("volume", "inspect", volume_name(digest))

    async def test_an_engine_without_room_keeps_nothing_half(self, sandbox: IsolatedSandbox) -> None:
        digest = uuid.uuid4().hex
        volume = volume_name(digest)
        small = ["--opt", "type=tmpfs", "--opt", "device=tmpfs", "--opt", "o=size=1m"]
        label = ["--label", f"alita.environment={volume}"]
        docker("volume", "create", *small, *label, volume)
        with anyio.fail_after(WAIT_SECONDS), pytest.raises(SandboxError, match="no space left on device"):
            await sandbox.store.store_environment(digest, tar_of({"large": bytes(4 << 20)}))
        assert not docker_has("volume", "inspect", volume)
        assert not docker_has("container", "inspect", f"{volume}-filling")

    async def test_a_volume_that_is_not_ours_is_never_removed(self, sandbox: IsolatedSandbox) -> None:
        digest = uuid.uuid4().hex
        docker("volume", "create", volume_name(digest))
        try:
            with anyio.fail_after(WAIT_SECONDS), pytest.raises(SandboxError, match="not one of ours"):
                await sandbox.store.drop_environment(digest)
        finally:
            docker("volume", "rm", volume_name(digest))

    async def test_a_volume_that_a_container_has_open_stays(self, sandbox: IsolatedSandbox) -> None:
        digest = uuid.uuid4().hex
        with anyio.fail_after(WAIT_SECONDS):
            await sandbox.store.store_environment(digest, tar_of({"x.py": b""}))
            mount = ["--volume", f"{volume_name(digest)}:/x", sandbox.settings.docker_image, "true"]
            docker("create", "--name", f"has-{digest}", *mount)
            try:
                assert await sandbox.store.drop_environment(digest) is False
            finally:
                docker("rm", f"has-{digest}")
            assert await sandbox.store.drop_environment(digest) is True
            assert await sandbox.store.drop_environment(digest) is True
            assert await sandbox.store.has_environment(digest) is None


@pytest.mark.bubblewrap
class TestKilledInBubblewrap(InBubblewrap, KilledBuilders):
    """Folders that are filled aside."""

    processes = leftovers = staticmethod(bubblewrap_leftovers)

    def filling(self, home: Path) -> bool:
        return any((home / "environments").glob(".partial-*"))

    def stored(self, home: Path, digest: str) -> bool:
        return (home / "environments" / digest).exists()
