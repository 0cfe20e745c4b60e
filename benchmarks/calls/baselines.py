"""Baselines of a warm call: a container, a bubblewrap and an interpreter per call."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio.lowlevel
import anyio.to_thread

from alita_mcp.values import Limits
from benchmarks.calls import work
from benchmarks.calls.timing import Call, ContenderFailed, Stopwatch

WITHIN_S = 60
USER = "65532:65532"
_TMPFS = "rw,nosuid,nodev,noexec,mode=1777"
_LINKS = ("/lib", "/lib64", "/lib32", "/libx32", "/bin", "/sbin")


def docker_run(image: str, *options: str) -> list[str]:
    """A container for one call that takes away all that our back end takes."""
    allowed = Limits()
    return [
        "docker", "run", "--rm", "--interactive", "--network", "none", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--user", USER, "--read-only",
        "--memory", str(allowed.memory_bytes), "--memory-swap", str(allowed.memory_bytes), "--cpus", "1",
        "--pids-limit", str(allowed.processes), "--ipc", "private",
        "--tmpfs", f"/tmp:{_TMPFS},size={allowed.scratch_bytes},nr_inodes={allowed.scratch_files}",
        "--tmpfs", f"/dev/shm:{_TMPFS},size=16m,nr_inodes=1024",
        "--ulimit", "core=0", "--ulimit", f"nofile={allowed.open_files}",
        "--log-driver", "none", "--hostname", "tool", "--workdir", "/tmp", *options,
        "--entrypoint", "python3", image, "-I", "-S", "-c", work.FROM_STDIN,
    ]  # fmt: skip


def interpreter(program: str = work.FROM_STDIN) -> list[str]:
    """An interpreter for one call without any sandbox: the floor that a process per call cannot go below."""
    return [_system_python(), "-I", "-S", "-c", program]


def fresh_bubblewrap() -> list[str]:
    """A bubblewrap and an interpreter for one call."""
    root = ["--ro-bind", "/usr", "/usr"]
    for place in _LINKS:
        if Path(place).is_symlink():
            root += ["--symlink", str(Path(place).readlink()), place]
        elif Path(place).is_dir():
            root += ["--ro-bind", place, place]
    python = _system_python()
    prefix = [] if python.startswith("/usr/") else ["--ro-bind", sys.base_prefix, sys.base_prefix]
    return [
        "bwrap", "--unshare-all", "--unshare-user", "--uid", "65532", "--gid", "65532", "--die-with-parent",
        "--new-session", "--cap-drop", "ALL", "--clearenv", *root, *prefix, "--proc", "/proc", "--dev", "/dev",
        "--tmpfs", "/tmp", "--chdir", "/tmp", "--", *interpreter(),
    ]  # fmt: skip


def answer_of(name: str, argv: Sequence[str], arguments: dict[str, Any], **more: Any) -> tuple[Any, float]:
    """The JSON that a program prints for JSON on its stdin, and the seconds until it has ended.

    Raises:
        ContenderFailed: it cannot be started, fails, is late or prints something else.
    """
    watch = Stopwatch()
    try:
        # a session of its own: a Ctrl-C is for us, and we end what we started
        done = subprocess.run(
            argv, input=json.dumps(arguments).encode(), capture_output=True, timeout=WITHIN_S, check=False,
            start_new_session=True, **more,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ContenderFailed(f"{name}: {problem}") from problem
    seconds = watch.seconds
    if done.returncode:
        raise ContenderFailed(f"{name}: {last_line(done.stderr) or f'exit status {done.returncode}'}")
    return work.parsed(name, done.stdout), seconds


def blocking_call(name: str, argv: Sequence[str]) -> float:
    """Starts a program for one call; seconds until it has answered rightly and ended."""
    arguments = work.new_arguments()
    answer, seconds = answer_of(name, argv, arguments)
    work.check(name, arguments, answer)
    return seconds


def program(name: str, argv: Sequence[str], *, beside_others: bool = False) -> Call:
    """A program per call: while not even our event loop runs, or several at once, each in a thread of its own."""

    async def call() -> float:
        if beside_others:
            return await anyio.to_thread.run_sync(blocking_call, name, argv)
        await anyio.lowlevel.checkpoint()
        return blocking_call(name, argv)

    return call


def missing_engine(image: str) -> str:
    """Why no container of that image can be started here; empty when one can."""
    if not shutil.which("docker"):
        return "the docker command is not installed"
    if not client_output(["docker", "version", "--format", "{{.Server.Version}}"]).strip():
        return "no Docker engine answers"
    if not client_output(["docker", "image", "inspect", "--format", "{{.Id}}", image]).strip():
        return f"the image {image!r} is not here"
    return ""


def client_output(argv: Sequence[str]) -> str:
    """The output of a short command; empty when it fails."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=WITHIN_S, check=True, start_new_session=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def last_line(said: bytes) -> str:
    """The last line that a program said."""
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else ""


def _system_python() -> str:
    """The interpreter that our bubblewrap back end prefers too."""
    for place in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(place).exists():
            return place
    return sys.executable
