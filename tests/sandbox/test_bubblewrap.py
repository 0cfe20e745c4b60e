"""The bubblewrap back end: the contract, and what only process trees can get wrong."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import anyio
import psutil
import pytest

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.bubblewrap import sandbox as back_end
from alita_mcp.sandbox.bubblewrap.cgroup import Cgroups
from alita_mcp.sandbox.bubblewrap.command import USER
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.owner import ProcessOwner
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.sandbox.contract import WAIT_SECONDS, ConfinedContract
from tests.sandbox.contract_environments import BuilderContract, EnvironmentContract
from tests.sandbox.leftovers import (
    Leftovers,
    bubblewrap_leftovers,
)
from tests.sandbox.owners import owners_below
from tests.sandbox.tars import HELLO, making, tar_of

pytestmark = pytest.mark.bubblewrap
ADD = Job(code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40})
GONE = ProcessOwner.this_process()._replace(pid=2**22 - 1)


class BubblewrapFixtures:
    @pytest.fixture
    def sandbox(self, bubblewrap_sandbox: BubblewrapSandbox) -> BubblewrapSandbox:
        return bubblewrap_sandbox

    @pytest.fixture
    def left(self) -> Leftovers:
        return bubblewrap_leftovers

    @pytest.fixture
    def digest(self) -> str:
        return uuid.uuid4().hex


class TestBubblewrap(BubblewrapFixtures, ConfinedContract):
    async def test_its_processes_are_nobodys_outside(self, sandbox: BubblewrapSandbox) -> None:
        before = set(psutil.Process().children(recursive=True))
        async with sandbox.open_worker(Limits()):
            owners = owners_below(before)
            expected = USER if os.geteuid() == 0 else os.geteuid()
            assert expected in owners
            assert 0 not in owners

    async def test_an_environment_is_seen_although_its_home_is_private(
        self, sandbox: BubblewrapSandbox, home: Path, digest: str
    ) -> None:
        environment = await sandbox.environments.obtain(digest, making(tar_of(HELLO)))
        await anyio.Path(home).chmod(0o700)
        job = Job(code="import hello\ndef f():\n    return hello.X\n", function="f", arguments={})
        assert (await sandbox.run(job.model_copy(update={"environment": environment}))).value == 41
        assert environment.location.startswith(str(home / "environments"))


class TestBubblewrapEnvironments(BubblewrapFixtures, BuilderContract, EnvironmentContract):
    pass


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


async def test_nothing_runs_without_bubblewrap(
    settings: Settings, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(programs))
    sandbox = BubblewrapSandbox(settings)
    with pytest.raises(SandboxUnavailable, match="not installed"):
        await sandbox.run(ADD)
    report = await sandbox.probe()
    assert not report.isolates
    assert "apt install bubblewrap" in report.hint


async def test_root_runs_nothing_without_a_program_that_drops_its_rights(
    settings: Settings, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(programs, "bwrap", "#!/bin/sh\necho bubblewrap 0.8.0\n")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SandboxUnavailable, match="setpriv") as refused:
        await BubblewrapSandbox(settings).run(ADD)
    assert "util-linux" in refused.value.hint


@pytest.mark.parametrize("answer", ["echo bubblewrap 0.6.1", "exit 1", "echo nonsense"])
async def test_an_old_bubblewrap_is_refused(
    settings: Settings, programs: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    program(programs, "bwrap", f"#!/bin/sh\n{answer}\n")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(SandboxUnavailable, match="too old"):
        await BubblewrapSandbox(settings).run(ADD)


async def test_without_control_groups_it_refuses(bubblewrap: None, home: Path, tmp_path: Path) -> None:
    nowhere = Cgroups(tmp_path / "cgroup", tmp_path / "own")
    sandbox = BubblewrapSandbox(Settings(home=home), nowhere)
    with pytest.raises(SandboxUnavailable, match="cannot be limited") as refused:
        await sandbox.run(ADD)
    assert "ALITA_SANDBOX=wasm" in refused.value.hint
    assert "ALITA_SANDBOX=wasm" in (await sandbox.probe()).hint


@pytest.mark.parametrize("honest", [True, False])
async def test_the_users_systemd_may_make_the_group_and_is_believed_when_the_kernel_shows_it(
    bubblewrap: None,
    settings: Settings,
    tmp_path: Path,
    programs: Path,
    monkeypatch: pytest.MonkeyPatch,
    honest: bool,
) -> None:
    program(programs, "systemd-run", '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (tmp_path / "own").write_text("0::/\n")
    (group,) = Cgroups(tmp_path / "root").group_of(os.getpid()).folders
    group.mkdir(parents=True)
    (tmp_path / "root/cgroup.controllers").write_text("memory pids")
    (group / "pids.max").write_text("64")
    (group / "memory.max").write_text(str(256 << 20) if honest else "max")
    sandbox = BubblewrapSandbox(settings, Cgroups(tmp_path / "root", tmp_path / "own", manager=tmp_path))
    monkeypatch.setattr(back_end, "_SETTLE_SECONDS", 60 if honest else 0.1)
    with anyio.fail_after(WAIT_SECONDS):
        if honest:
            assert (await sandbox.run(ADD)).value == 42
        else:
            with pytest.raises(SandboxError, match="systemd applied no limits"):
                await sandbox.run(ADD)


async def test_how_long_the_host_has_run_cannot_be_read(bubblewrap: None, settings: Settings) -> None:
    code = (
        "def f(name: str) -> str:\n    try:\n        with open(name) as file:\n            return file.read()\n"
        "    except OSError:\n        return ''\n"
    )
    box = BubblewrapSandbox(settings)
    try:
        for name in ("/proc/uptime", "/proc/stat", "/proc/loadavg"):
            assert (await box.run(Job(code=code, function="f", arguments={"name": name}))).value == ""
        assert (await box.run(Job(code=code, function="f", arguments={"name": "/proc/self/comm"}))).value
    finally:
        await box.aclose()
