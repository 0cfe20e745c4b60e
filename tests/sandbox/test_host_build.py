"""uv on the host, for the embedded sandbox: a program in its place that attacks the machine gets nowhere."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest

from alita_mcp.sandbox.wasm.host_builder import HostBuilder
from tests.sandbox.environment_homes import silent

HOSTILE = """#!{python} -I
import ctypes, json, os, shutil, signal, socket, subprocess, sys

outside, port, host = {outside!r}, {port}, {host}
victim = outside + "/victim"
libc = ctypes.CDLL(None, use_errno=True)

def call(function, *words):
    if function(*words) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def append(path):
    with open(path, "a") as file:
        file.write("changed")

def write_through(link):
    link(victim, "link")
    append("link")

def send_datagram():
    with socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", port))

ATTEMPTS = {{
    "append": lambda: append(victim), "create": lambda: append(outside + "/new"),
    "create in tmp": lambda: append(outside + "/../beside"),
    "truncate": lambda: os.truncate(victim, 0), "remove": lambda: os.unlink(outside + "/victim2"),
    "rename": lambda: os.rename(outside + "/victim3", outside + "/renamed"),
    "carry out": lambda: (append("own"), os.rename("own", outside + "/own")),
    "folder": lambda: os.mkdir(outside + "/folder"), "link": lambda: write_through(os.symlink),
    "hard link": lambda: write_through(os.link), "read": lambda: open(victim).read(),
    "list": lambda: os.listdir(outside), "settings": lambda: open("/etc/passwd").read(),
    "start a program of others": lambda: subprocess.run([outside + "/program"], check=True),
    "by another shell": lambda: subprocess.run(["/bin/sh", "-c", f"echo x >> {{victim}}"], check=True),
    "another port": lambda: socket.create_connection(("127.0.0.1", port)),
    "datagram": send_datagram,
    "unix socket": lambda: socket.socket(socket.AF_UNIX).connect(outside + "/socket"),
    "abstract socket": lambda: socket.socket(socket.AF_UNIX).connect("\\0alita-host-build"),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)),
    "signal": lambda: os.kill(host, 0), "trace": lambda: call(libc.ptrace, 16, host, 0, 0),
    "namespace": lambda: call(libc.unshare, 0x10000000), "chroot": lambda: os.chroot("."),
    "capability": lambda: call(libc.prctl, 24, 0, 0, 0, 0),
    "new privileges": lambda: libc.prctl(39, 0, 0, 0, 0) == 0 or os.stat("refused"),
}}
done = []
for name, attempt in ATTEMPTS.items():
    try:
        attempt()
        done.append(name)
    except (OSError, subprocess.SubprocessError):
        pass
for change, value in ((os.chmod, 0o777), (os.utime, (0, 0))):
    try:
        change(victim, value)  # seems to succeed: the test looks at the file
    except OSError:
        pass
append("work of its own")
assert open("work of its own").read() == "changed"
sys.stderr.write("error: " + json.dumps(done) + "\\n")
sys.exit(2)
"""


class Attacked(HostBuilder):
    """Host builder with a hostile program in the place of uv."""

    def __init__(self, uv: Path) -> None:
        self.find_uv = lambda: uv  # type: ignore[method-assign]


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("victim", "victim2", "victim3"):
        (folder / name).write_text("untouched")
        (folder / name).chmod(0o640)
    (folder / "program").write_text("#!/bin/sh\nexit 0\n")
    (folder / "program").chmod(0o755)
    with ExitStack() as sockets:
        for address in (str(folder / "socket"), "\0alita-host-build"):
            listener = sockets.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen()
        yield folder


def landlock_version() -> int:
    return ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) if sys.platform == "linux" else -1


def contents(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        file.name: (
            file.stat().st_mode,
            file.stat().st_mtime_ns,
            b"" if stat.S_ISSOCK(file.stat().st_mode) else file.read_bytes(),
        )
        for file in folder.iterdir()
    }


@pytest.mark.skipif(landlock_version() < 6, reason="Linux 6.12 or newer has all the means")
async def test_a_hostile_uv_changes_reads_and_reaches_nothing_outside_of_its_folder(
    outside: Path, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        uv = tmp_path / "uv"
        uv.write_text(
            HOSTILE.format(
                python=sys.executable, outside=str(outside), port=listener.getsockname()[1], host=os.getpid()
            )
        )
        uv.chmod(0o755)
        before = contents(outside)
        request = {
            "task": "install", "requirements": ["x==1 --hash=sha256:0"], "authorities": "", "fetch_seconds": 5,
            "index_url": "http://127.0.0.1:1/simple/", "place": "/opt",
        }  # fmt: skip
        with anyio.fail_after(120):
            result = await Attacked(uv).run_build(request, frozenset(), silent)
    (note,) = json.loads(result)["notes"]
    assert note == "error: []"
    assert contents(outside) == before
    assert not (tmp_path / "beside").exists()
