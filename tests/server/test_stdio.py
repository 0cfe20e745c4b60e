"""The stdio transport with a real process at its other end: who may write to stdout, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.server.processes import ENTRY, INITIALIZE, PATIENCE_S, TINY, Peer, environment, gone, started

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and descriptors"),
]
STDIO = (sys.executable, str(TINY), "stdio")


async def waiting_call(peer: Peer) -> psutil.Process:
    """Starts a call that never ends; returns the process that stands for a sandbox."""
    await peer.initialize()
    await peer.send("tools/call", {"name": "wait"}, id=99)
    await peer.says("waiting")
    return psutil.Process(int((await peer.says("sandbox")).split()[1]))


@pytest.mark.measured
async def test_nothing_that_a_library_a_tool_a_child_or_c_code_prints_reaches_the_client(
    tmp_path: Path,
) -> None:
    env = environment() | {"TINY_PRINT_AT_IMPORT": "1"}
    async with started(STDIO, env, tmp_path) as peer:
        await peer.initialize()
        answer = await peer.request("tools/call", {"name": "shout", "arguments": {"text": "ünï\u2028code"}})
        assert answer["result"]["content"][0]["text"] == "ünï\u2028code"
        await peer.end_input()
        assert await peer.ended() == 0
        assert await peer.rest() == b""
    for place in ("import", "call"):
        for way in ("print", "write", "child"):
            assert f"STRAY {way} at {place}" in peer.stderr
    assert peer.stderr.count("STRAY printf") == 2


@pytest.fixture
def hangups_heard() -> Iterator[None]:
    """What `nohup` makes a test run deaf to, its servers would be deaf to as well."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129), (None, 0)],
    ids=["SIGTERM", "SIGINT", "SIGHUP", "end of input"],
)
async def test_the_end_cancels_the_call_and_runs_the_clean_up(
    tmp_path: Path, hangups_heard: None, number: signal.Signals | None, status: int
) -> None:
    async with started(STDIO, environment(), tmp_path) as peer:
        sandbox = await waiting_call(peer)
        if number is None:
            await peer.end_input()
        else:
            peer.process.send_signal(number)
        assert await peer.ended() == status
        assert "call cancelled" in peer.stderr
        assert "cleaned up" in peer.stderr
        assert not sandbox.is_running()


async def test_a_server_whose_parent_died_ends_though_its_input_is_held_open(tmp_path: Path) -> None:
    parent = f"""if True:
        import os, subprocess, sys, time
        reads, writes = os.pipe()
        holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], pass_fds=(writes,))
        server = subprocess.Popen({list(STDIO)!r}, stdin=reads, stdout=subprocess.DEVNULL)
        print("pids", holder.pid, server.pid, file=sys.stderr, flush=True)
        time.sleep(300)
    """
    async with started((sys.executable, "-c", parent), environment(), tmp_path) as peer:
        holder, server = map(psutil.Process, map(int, (await peer.says("pids")).split()[1:]))
        try:
            sandbox = psutil.Process(int((await peer.says("sandbox")).split()[1]))
            peer.process.kill()
            await gone([server, sandbox])
            assert holder.is_running()
            assert "cleaned up" in peer.stderr
        finally:
            holder.kill()


def test_a_client_that_stops_reading_is_a_client_that_is_gone(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w+") as stderr:
        server = subprocess.Popen(
            STDIO, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment()
        )
        assert server.stdin
        assert server.stdout
        server.stdout.close()
        server.stdin.write(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
        )
        server.stdin.write(b"\n")
        server.stdin.flush()
        assert server.wait(PATIENCE_S) == 0
        server.stdin.close()
        stderr.seek(0)
        said = stderr.read()
    assert "cleaned up" in said
    assert "Traceback" not in said


@pytest.mark.measured
async def test_a_clean_up_that_hangs_does_not_keep_the_process(tmp_path: Path) -> None:
    async with started(STDIO, environment() | {"TINY_SLOW_CLEANUP": "1"}, tmp_path) as peer:
        sandbox = await waiting_call(peer)
        peer.process.terminate()
        assert await peer.ended() == 143
        assert "clean-up took longer" in peer.stderr
        sandbox.kill()


async def test_a_signal_during_the_imports_ends_at_once(tmp_path: Path) -> None:
    async with started(STDIO, environment() | {"TINY_SLOW_IMPORT": "1"}, tmp_path) as peer:
        await peer.says("importing")
        peer.process.send_signal(signal.SIGINT)
        assert await peer.ended() == 130
        assert "Traceback" not in peer.stderr


async def test_a_signal_that_the_parent_ignores_stays_ignored(tmp_path: Path) -> None:
    ignoring = f"""if True:
        import os, signal
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        os.execv({sys.executable!r}, {list(STDIO)!r})
    """
    async with started((sys.executable, "-c", ignoring), environment(), tmp_path) as peer:
        await peer.initialize()
        peer.process.send_signal(signal.SIGINT)
        assert (await peer.request("tools/call", {"name": "echo", "arguments": {"text": "on"}}))["result"]
        await peer.end_input()
        assert await peer.ended() == 0


@pytest.mark.parametrize("closed", ["1>&-", "0<&- 1>&- 2>&-"])
def test_a_server_started_with_closed_descriptors_ends_cleanly(closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" "$@" {closed}', *STDIO]
    ran = subprocess.run(
        command, input=b"", capture_output=True, env=environment(), timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 0
    assert ran.stdout == b""
    assert b"Traceback" not in ran.stderr


@pytest.mark.measured
@pytest.mark.parametrize(
    ("words", "status", "out", "err"),
    [
        (["--version"], 0, "alita-mcp-server 0.", ""),
        (["--help"], 0, "usage: alita-mcp-server", ""),
        (["serve", "--stdio"], 2, "", "unexpected arguments ['serve', '--stdio']"),
    ],
)
def test_words_on_the_command_line_are_answered_without_serving(
    words: list[str], status: int, out: str, err: str
) -> None:
    ran = subprocess.run(
        [*ENTRY, *words], env=environment(), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == status
    assert ran.stdout.startswith(out)
    assert err in ran.stderr
    assert bool(ran.stdout) == bool(out)


@pytest.mark.measured
def test_a_bad_setting_ends_the_start_with_status_2_and_its_variable() -> None:
    ran = subprocess.run(
        ENTRY, env=environment(promoted="-1"), input=b"", capture_output=True, timeout=PATIENCE_S, check=False
    )
    assert ran.returncode == 2
    assert ran.stdout == b""
    assert "ALITA_PROMOTED" in ran.stderr.decode()
    assert "Traceback" not in ran.stderr.decode()


def test_a_home_of_a_newer_alita_ends_the_start_with_status_7_and_the_version_that_is_needed(
    tmp_path: Path,
) -> None:
    (tmp_path / "home.json").write_text('{"format": 3, "alita": "2.4.0", "number": 1}')
    env = environment(home=tmp_path)
    ran = subprocess.run(ENTRY, env=env, input=b"", capture_output=True, timeout=PATIENCE_S, check=False)
    assert (ran.returncode, ran.stdout) == (7, b"")
    assert "Upgrade alita-mcp-server 2.4.0 or later" in ran.stderr.decode()
    assert "Traceback" not in ran.stderr.decode()
    assert [path.name for path in tmp_path.iterdir()] == ["home.json"]


@pytest.mark.measured
@pytest.mark.parametrize(
    ("broken", "status", "words", "traceback"),
    [
        ("library", 7, "alita-mcp-server: The library is broken.", False),
        ("defect", 1, "RuntimeError: a defect", True),
    ],
)
async def test_a_start_that_fails_says_why_and_ends_though_the_input_stays_open(
    tmp_path: Path, broken: str, status: int, words: str, traceback: bool
) -> None:
    async with started(STDIO, environment() | {"TINY_BROKEN": broken}, tmp_path) as peer:
        assert await peer.ended() == status
        assert await peer.rest() == b""
        assert words in peer.stderr
        assert ("Traceback" in peer.stderr) == traceback
