"""The docker back end: the contract, and what only containers can get wrong."""

from __future__ import annotations

import subprocess
import uuid
from contextlib import closing
from pathlib import Path

import anyio
import docker
import pytest

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.docker.base_image import RECORD
from alita_mcp.sandbox.docker.engine import OWNER_LABEL, Engine
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.docker.volumes import volume_name
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.owner import ProcessOwner
from alita_mcp.sandbox.packages.builder import BUILD_LIMITS, BuildBroker, build_job
from alita_mcp.sandbox.workers import calls
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.sandbox.contract import WAIT_SECONDS, ConfinedContract
from tests.sandbox.contract_calls import CallContract
from tests.sandbox.contract_environments import BuilderContract, EnvironmentContract
from tests.sandbox.contract_kept import KeptContract
from tests.sandbox.leftovers import Leftovers, docker_leftovers, nothing_left
from tests.sandbox.registry import Registry, running_registry
from tests.sandbox.registry import digest as digest_of
from tests.sandbox.tars import HELLO, USES_HELLO, making, tar_of

pytestmark = pytest.mark.docker
ADD = Job(code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40})
GONE = ProcessOwner.this_process()._replace(pid=2**22 - 1)
"""An owner of this machine whose process does not exist."""


def run(words: list[str]) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def create_container(name: str, owner: object, settings: Settings) -> None:
    label = f"{OWNER_LABEL}={owner}"
    run(["docker", "create", "--name", name, "--label", label, settings.docker_image, "true"])


class DockerFixtures:
    @pytest.fixture
    def sandbox(self, digest: str, docker_sandbox: DockerSandbox) -> DockerSandbox:
        # the digest first: its volume can be removed only after the containers that are kept with it
        return docker_sandbox

    @pytest.fixture
    def left(self) -> Leftovers:
        return docker_leftovers

    @pytest.fixture
    def digest(self, docker_digest: str) -> str:
        return docker_digest


@pytest.mark.exhaustive
class TestDocker(DockerFixtures, ConfinedContract, CallContract, KeptContract, BuilderContract):
    """What the programs inside do is the same in bubblewrap, where `make test` asks for it."""


class TestDockerEnvironments(DockerFixtures, EnvironmentContract):
    async def test_a_builder_that_died_holds_up_nobody(
        self, sandbox: DockerSandbox, settings: Settings, digest: str
    ) -> None:
        await sandbox.run(ADD)
        holder = f"{volume_name(digest)}-filling"
        create_container(holder, GONE, settings)
        run(
            [
                "docker",
                "volume",
                "create",
                "--label",
                f"alita.environment={volume_name(digest)}",
                volume_name(digest),
            ]
        )
        with anyio.fail_after(WAIT_SECONDS):
            environment = await sandbox.environments.obtain(digest, making(tar_of(HELLO)))
        assert holder not in run(["docker", "ps", "--all", "--format", "{{.Names}}"]).split()
        result = await sandbox.run(Job(code=USES_HELLO, function="f", arguments={}, environment=environment))
        assert result.value[0] == 42, result


async def test_a_frozen_container_is_killed_by_the_outer_clock(
    docker_sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.5)

    async def freeze(line: str) -> None:
        (container,) = docker_leftovers(ProcessOwner.this_process().pid)
        await anyio.to_thread.run_sync(run, ["docker", "pause", container.split()[0]])

    code = "import alita_tool\ndef build(request): alita_tool._ask('build.progress', {'line': ''})\n"
    limits = BUILD_LIMITS.model_copy(update={"wall_seconds": 2.0})
    job = build_job({}, None).model_copy(update={"limits": limits, "code": code})
    with anyio.fail_after(WAIT_SECONDS):
        result = await docker_sandbox.run(job, BuildBroker(frozenset(), freeze))
    assert "killed from outside" in result.message
    await nothing_left(docker_leftovers, ProcessOwner.this_process().pid)


async def test_a_start_removes_what_a_crash_left_and_nothing_else(
    docker_engine: None, settings: Settings
) -> None:
    names = {
        f"alita-test-{uuid.uuid4().hex}": owner
        for owner in (GONE, ProcessOwner.this_process(), "elsewhere-1-1", "odd")
    }
    for name, owner in names.items():
        create_container(name, owner, settings)
    try:
        sandbox = DockerSandbox(settings)
        with anyio.fail_after(WAIT_SECONDS):
            assert (await sandbox.run(ADD)).value == 42
        await sandbox.aclose()
        there = set(run(["docker", "ps", "--all", "--format", "{{.Names}}"]).split())
        assert {owner for name, owner in names.items() if name not in there} == {GONE}
    finally:
        run(["docker", "rm", "--force", *names])


async def test_an_image_that_cannot_be_had_names_the_setting(docker_engine: None, home: Path) -> None:
    sandbox = DockerSandbox(Settings(home=home, docker_image="127.0.0.1:9/no-such-image"))
    with anyio.fail_after(WAIT_SECONDS):
        with pytest.raises(SandboxUnavailable, match="no-such-image") as refused:
            await sandbox.run(ADD)
        assert "ALITA_DOCKER_IMAGE" in refused.value.hint
        report = await sandbox.probe()
    assert not report.isolates
    assert "ALITA_DOCKER_IMAGE" in report.hint
    await sandbox.aclose()


async def test_an_image_that_is_not_here_is_pulled_once_with_progress(
    docker_engine: None, home: Path
) -> None:
    lines: list[str] = []

    async def tell(line: str) -> None:
        lines.append(line)

    with running_registry() as registry:
        image = f"{registry}/small"
        engine = Engine(image, home)
        manifest = f"{image}@{digest_of(Registry.manifest)}"
        try:
            with anyio.fail_after(WAIT_SECONDS):
                await engine.ensure_image(tell)
                told = list(lines)
                await engine.ensure_image(tell)
                assert engine.image == manifest
                # another process of this home has what is gone pulled by its digest
                await anyio.to_thread.run_sync(run, ["docker", "rmi", "--force", image, manifest])
                other = Engine(image, home)
                await other.ensure_image(tell)
                await other.aclose()
                assert (other.image, lines.pop(len(told))) == (manifest, f"pulling {manifest}")
                del lines[len(told) :]
                # it holds no Python: the sandbox fails, and says nothing about the tool
                sandbox = DockerSandbox(Settings(home=home, docker_image=image))
                with pytest.raises(SandboxError, match="python3"):
                    await sandbox.run(ADD)
                await sandbox.aclose()
        finally:
            await engine.aclose()
            run(["docker", "rmi", "--force", image, manifest])
    assert told[0] == f"pulling {image}"
    assert told[-1].endswith("layers")
    assert lines == told


async def test_no_engine_is_no_crash(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    sandbox = DockerSandbox(Settings(home=home))
    with anyio.fail_after(WAIT_SECONDS):
        with pytest.raises(SandboxUnavailable, match="No Docker engine answers"):
            await sandbox.run(ADD)
        report = await sandbox.probe()
    assert not report.isolates
    assert "Docker" in report.hint
    await sandbox.aclose()


async def test_nothing_of_the_host_is_mounted_and_nothing_logged(docker_sandbox: DockerSandbox) -> None:
    async with docker_sandbox.open_worker(Limits()):
        (name,) = (line.split()[0] for line in docker_leftovers(ProcessOwner.this_process().pid))
        with closing(docker.from_env()) as client:
            found = client.api.inspect_container(name)
    assert found["Mounts"] == []
    assert found["HostConfig"]["Binds"] is None
    assert found["HostConfig"]["LogConfig"]["Type"] == "none"
    assert found["HostConfig"]["AutoRemove"] is True
    assert found["Config"]["StdinOnce"] is True
    assert found["HostConfig"]["Memory"] == found["HostConfig"]["MemorySwap"] == Limits().memory_bytes
    assert found["HostConfig"]["NanoCpus"] == 1_000_000_000


async def test_a_name_that_stands_for_another_image_by_now_changes_nothing_without_a_person(
    docker_engine: None, home: Path
) -> None:
    name = f"alita-test-{uuid.uuid4().hex}"

    def make_image(number: int) -> str:
        command = ["docker", "import", "--change", f"LABEL n={number}", "-", name]
        made = subprocess.run(command, input=tar_of(HELLO), capture_output=True, check=True)
        return made.stdout.decode().strip()

    async def opened() -> str:
        engine = Engine(name, home)
        try:
            await engine.ensure_image()
            return engine.image
        finally:
            await engine.aclose()

    with anyio.fail_after(WAIT_SECONDS):
        first = await anyio.to_thread.run_sync(make_image, 1)
        assert await opened() == first
        second = await anyio.to_thread.run_sync(make_image, 2)
        try:
            assert await opened() == first
            await anyio.to_thread.run_sync(run, ["docker", "rmi", first])
            with pytest.raises(SandboxUnavailable, match=f"was {first} when it was first used") as gone:
                await opened()
            assert gone.value.hint.endswith(f"remove {home / RECORD}.")
            (home / RECORD).write_text("[1", encoding="utf-8")
            with pytest.raises(SandboxUnavailable, match="Cannot read"):
                await opened()
            (home / RECORD).unlink()
            assert await opened() == second
        finally:
            await anyio.to_thread.run_sync(run, ["docker", "rmi", "--force", name])
