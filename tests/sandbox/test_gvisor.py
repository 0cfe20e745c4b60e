"""gVisor as the runtime of the docker sandbox, on an engine of the tests' own: the same programs, nothing weaker.

A kernel in user space may fall where Linux stands: then the worker is lost and replaced, and the host unharmed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alita_mcp.sandbox.conformance import conform
from alita_mcp.sandbox.docker import DockerSandbox
from alita_mcp.settings import Settings
from tests.sandbox.arena import Arena, opened_arena
from tests.sandbox.hostile import Hostile
from tests.sandbox.hostile_programs import HOSTILE

pytestmark = pytest.mark.docker
START_SECONDS = 60
RUNTIMES = '{"runtimes": {"runsc": {"path": "%s", "runtimeArgs": ["--network=none", "--platform=ptrace"]}}}'


@pytest.fixture(scope="module")
def engine(docker_engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an engine that knows gVisor and has the image."""
    runsc, dockerd = shutil.which("runsc"), shutil.which("dockerd")
    if runsc is None or dockerd is None or os.geteuid() != 0:
        pytest.skip("gVisor (runsc), dockerd and root are needed for an engine with that runtime")
    folder = tmp_path_factory.mktemp("gvisor")
    (folder / "daemon.json").write_text(RUNTIMES % runsc)
    address = f"unix://{folder}/docker.sock"
    words = [dockerd, "--config-file", str(folder / "daemon.json"), "--data-root", str(folder / "data"),
             "--exec-root", str(folder / "exec"), "--pidfile", str(folder / "pid"), "--host", address,
             "--bridge", "none", "--iptables=false", "--ip6tables=false"]  # fmt: skip
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_for(address, running, folder / "log")
            copy_image(address)
            yield address
        finally:
            running.terminate()
            running.wait(60)


def wait_for(address: str, running: subprocess.Popen[bytes], log: Path) -> None:
    """Returns when the engine answers; skips where none can be started."""
    until = time.monotonic() + START_SECONDS
    while subprocess.run(
        ["docker", "--host", address, "version"], capture_output=True, check=False
    ).returncode:
        if running.poll() is not None or time.monotonic() > until:
            pytest.skip(f"no second engine can be started here: {log.read_text(errors='replace')[-300:]}")
        time.sleep(0.1)


def copy_image(address: str) -> None:
    image = Settings().docker_image
    with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as saved:
        words = ["docker", "--host", address, "load"]
        subprocess.run(words, stdin=saved.stdout, check=True, capture_output=True)


@pytest.fixture(scope="module")
def arena(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    def under_gvisor(settings: Settings) -> DockerSandbox:
        return DockerSandbox(settings.model_copy(update={"docker_runtime": "auto"}))

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("DOCKER_HOST", engine)
        with opened_arena(under_gvisor, tmp_path_factory.mktemp("home")) as opened:
            yield opened


KERNEL = "def f():\n    return open('/proc/version').read()\n"


def test_the_kernel_is_not_the_hosts(arena: Arena) -> None:
    told = arena.run(arena.job(Hostile("kernel", KERNEL, lambda _: True)))
    assert told.ok, told
    assert told.value != Path("/proc/version").read_text()


@pytest.mark.parametrize("program", HOSTILE, ids=lambda program: program.name)
def test_a_hostile_program_harms_nobody(arena: Arena, program: Hostile) -> None:
    arena.attack(program, may_fail_closed=True)


def test_it_conforms(arena: Arena) -> None:
    report = arena.call(conform, arena.sandbox)
    assert report.failures == ()


def test_nothing_is_left(arena: Arena, engine: str) -> None:
    arena.close()
    listed = subprocess.run(
        ["docker", "--host", engine, "ps", "--all", "--quiet"], capture_output=True, check=True, text=True
    )
    assert listed.stdout == ""
