"""Engines that confine less than they were asked to: the attestation refuses each, and nothing of it is left."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.bubblewrap.command import USER
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.owner import ProcessOwner
from alita_mcp.settings import Settings
from tests.sandbox.leftovers import bubblewrap_leftovers, docker_leftovers, nothing_left

WAIT_SECONDS = 120
ADD = Job(code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40})


class Weakened(DockerSandbox):
    """Starts containers that are confined less than they should be."""

    def __init__(self, settings: Settings, changes: dict[str, Any]) -> None:
        super().__init__(settings)
        self._changes = changes

    def parameters(self, *words: Any, **named: Any) -> dict[str, Any]:
        return super().parameters(*words, **named) | self._changes


WEAKENINGS = [
    ({"network_mode": "bridge"}, "interfaces"),
    ({"user": "0:0"}, "uid 0"),
    ({"user": "65532:0"}, "root"),
    ({"cap_drop": [], "cap_add": ["NET_RAW"]}, "capabilities"),
    ({"read_only": False}, "writable"),
    ({"security_opt": []}, "privileges"),
    ({"security_opt": ["no-new-privileges:true", "seccomp=unconfined"]}, "seccomp"),
    ({"tmpfs": {}}, "scratch"),
    ({"tmpfs": {"/tmp": "rw,mode=1777,size=128m,nr_inodes=4096"}}, "bytes"),
    ({"tmpfs": {"/tmp": "rw,mode=1777,size=64m,nr_inodes=9000000"}}, "files"),
    ({"mem_limit": "320m", "memswap_limit": "320m"}, "memory limit"),
    ({"pids_limit": 65}, "process limit"),
    ({"ulimits": []}, "core"),
    ({"pid_mode": "host"}, "pid"),
]


@pytest.mark.docker
@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("changes", "weakness"),
    WEAKENINGS,
    ids=str,
)
async def test_a_weakened_container_is_refused_and_removed(
    docker_engine: None, settings: Settings, changes: dict[str, Any], weakness: str
) -> None:
    sandbox = Weakened(settings, changes)
    with anyio.fail_after(WAIT_SECONDS), pytest.raises(SandboxError, match=weakness):
        await sandbox.run(ADD)
    await sandbox.aclose()
    await nothing_left(docker_leftovers, ProcessOwner.this_process().pid)


OTHER_WORDS = """#!/usr/bin/python3
import os, sys
given, changes = sys.argv[1:], {1!r}
for words, others in changes:
    places = [at for at in range(len(given) - len(words) + 1) if given[at:at + len(words)] == words]
    if places:
        given[places[-1]:places[-1] + len(words)] = others
os.execv({0!r}, [{0!r}] + given)
"""
ALL_BUT_PIDS = ["--unshare-user", "--unshare-ipc", "--unshare-net", "--unshare-uts"]


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("changes", "weakness"),
    [
        ([(["--unshare-all"], ALL_BUT_PIDS), (["--as-pid-1"], [])], "pid"),
        ([(["--as-pid-1"], [])], "pid"),
        (
            [(["--unshare-all"], ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"])],
            "interfaces",
        ),
        ([(["--gid", str(USER)], ["--gid", "0"])], "root|gid"),
        ([(["--cap-drop", "ALL"], ["--cap-add", "CAP_SYS_ADMIN"])], "capabilities"),
        ([(["--ro-bind", "/usr", "/usr"], ["--bind", "/usr", "/usr"])], "writable"),
        ([(["--size", str(64 << 20)], ["--size", str(128 << 20)])], "scratch"),
        (
            [(["--tmpfs", "/tmp"], ["--dir", "/tmp"]), (["--size", str(64 << 20)], [])],
            "scratch|writable|weaker",
        ),
        ([(["--remount-ro", "/"], ["--bind", "/var/tmp", "/srv"])], "writable"),
        ([(["--remount-ro", "/"], [])], "writable"),
        ([(["--unshare-all"], ["--unshare-all", "--share-net"])], "interfaces"),
        ([(["--size", str(64 << 20)], [])], "scratch"),
        ([(["--uid", str(USER)], ["--uid", "0"])], "uid 0"),
    ],
    ids=range(13),
)
async def test_a_weakened_bubblewrap_is_refused(
    bubblewrap: None, settings: Settings, programs: Path, monkeypatch: pytest.MonkeyPatch,
    changes: list[tuple[list[str], list[str]]], weakness: str,
) -> None:  # fmt: skip
    path = programs / "bwrap"
    path.write_text(OTHER_WORDS.format(shutil.which("bwrap"), changes))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    sandbox = BubblewrapSandbox(settings)
    with anyio.fail_after(WAIT_SECONDS), pytest.raises(SandboxError, match=weakness):
        await sandbox.run(ADD)
    await sandbox.aclose()
    await nothing_left(bubblewrap_leftovers, os.getpid())
