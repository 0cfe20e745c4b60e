"""Baselines of a warm call: a container, an `exec` and an interpreter per call."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio.lowlevel
import anyio.to_thread
from anyio.abc import Process

from alita_mcp.values import Limits
from benchmarks.calls import work
from benchmarks.calls.timing import Call, ContenderFailed, Stopwatch

ANSWER_WITHIN_S = 60
CLIENT_WITHIN_S = 60
USER = "65532:65532"
HOLD = "import sys; sys.stdin.read()"
"""Keeps a container until our end of its stdin is closed, by us or by our death."""
LABEL = "alita.bench"
_TMPFS = "rw,nosuid,nodev,noexec,mode=1777"
_LINKS = ("/lib", "/lib64", "/lib32", "/libx32", "/bin", "/sbin")


def hardened(image: str, *options: str, limits: Limits | None = None) -> list[str]:
    """`docker run` that takes from the container all that our back end takes, up to the interpreter's name."""
    allowed = limits or Limits()
    return [
        "docker", "run", "--rm", "--interactive", "--network", "none", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--user", USER, "--read-only",
        "--memory", str(allowed.memory_bytes), "--memory-swap", str(allowed.memory_bytes), "--cpus", "1",
        "--pids-limit", str(allowed.processes), "--ipc", "private",
        "--tmpfs", f"/tmp:{_TMPFS},size={allowed.scratch_bytes},nr_inodes={allowed.scratch_files}",
        "--tmpfs", f"/dev/shm:{_TMPFS},size=16m,nr_inodes=1024",
        "--ulimit", "core=0", "--ulimit", f"nofile={allowed.open_files}",
        "--log-driver", "none", "--hostname", "tool", "--workdir", "/tmp", *options,
        "--entrypoint", "python3", image, "-I", "-S",
    ]  # fmt: skip


def docker_run(image: str) -> list[str]:
    """A container for one call."""
    return [*hardened(image), "-c", work.FROM_STDIN]


def interpreter() -> list[str]:
    """An interpreter for one call without any sandbox: the floor that a process per call cannot go below."""
    return [_system_python(), "-I", "-S", "-c", work.FROM_STDIN]


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
        "--tmpfs", "/tmp", "--chdir", "/tmp", "--", python, "-I", "-S", "-c", work.FROM_STDIN,
    ]  # fmt: skip


def blocking_call(name: str, argv: Sequence[str]) -> float:
    """Starts a program for one call; seconds until it has answered and ended.

    Raises:
        ContenderFailed: it cannot be started, fails, is late or wrong.
    """
    arguments = work.new_arguments()
    text = json.dumps(arguments).encode()
    watch = Stopwatch()
    try:
        # a session of its own: a Ctrl-C is for us, and we end what we started
        done = subprocess.run(
            argv,
            input=text,
            capture_output=True,
            timeout=ANSWER_WITHIN_S,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ContenderFailed(f"{name}: {problem}") from problem
    seconds = watch.seconds
    if done.returncode:
        raise ContenderFailed(f"{name}: {last_line(done.stderr) or f'exit status {done.returncode}'}")
    work.check(name, arguments, work.parsed(name, done.stdout))
    return seconds


def program(name: str, argv: Sequence[str]) -> Call:
    """A program per call, while nothing else runs: not even our event loop."""

    async def call() -> float:
        await anyio.lowlevel.checkpoint()
        return blocking_call(name, argv)

    return call


def program_beside_others(name: str, argv: Sequence[str]) -> Call:
    """A program per call, several at once: each waits in a thread of its own."""

    async def call() -> float:
        return await anyio.to_thread.run_sync(blocking_call, name, argv)

    return call


@asynccontextmanager
async def held_container(image: str) -> AsyncIterator[list[str]]:
    """A hardened container that stays, and the command that starts an interpreter for one call in it.

    Raises:
        ContenderFailed: it does not start.
    """
    name = f"alita-bench-{uuid.uuid4().hex[:12]}"
    command = [*hardened(image, "--name", name, "--label", f"{LABEL}={os.getpid()}"), "-c", HOLD]
    client = await anyio.open_process(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        await _running(name, client)
        yield ["docker", "exec", "--interactive", name, "python3", "-I", "-S", "-c", work.FROM_STDIN]
    finally:
        with anyio.CancelScope(shield=True):
            client_output(["docker", "rm", "--force", name])
            with suppress(ProcessLookupError):
                client.kill()
            await client.aclose()


async def _running(name: str, client: Process) -> None:
    question = ["docker", "inspect", "--format", "{{.State.Running}}", name]
    with anyio.move_on_after(ANSWER_WITHIN_S):
        while client.returncode is None:
            if client_output(question).strip() == "true":
                return
            await anyio.sleep(0.1)
        said = last_line(await client.stderr.receive()) if client.stderr else ""
        raise ContenderFailed(f"docker run: {said}")
    raise ContenderFailed("docker run: not in time")


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
            argv, capture_output=True, text=True, timeout=CLIENT_WITHIN_S, check=True, start_new_session=True
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
