"""A start of bubblewrap forks nothing but the start: not this process, with all its threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from alita_mcp.settings import Settings

COUNTING = """
import ctypes, sys
from pathlib import Path

import anyio

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Job
from alita_mcp.settings import Settings

forks = 0

@ctypes.CFUNCTYPE(None)
def before_a_fork():  # as OpenBLAS has one, which waits for threads of its own
    global forks
    forks += 1

assert ctypes.CDLL(None).__register_atfork(before_a_fork, None, None, None) == 0

async def main():
    sandbox = BubblewrapSandbox(Settings(home=Path(sys.argv[1])))
    try:
        return await sandbox.run(Job(code="def f():\\n    return 42\\n", function="f", arguments={}))
    finally:
        await sandbox.aclose()

print(anyio.run(main).value, forks)
"""


@pytest.mark.bubblewrap
@pytest.mark.process
@pytest.mark.usefixtures("bubblewrap")
def test_a_start_does_not_fork_this_process(settings: Settings, tmp_path: Path) -> None:
    program = tmp_path / "counting.py"
    program.write_text(COUNTING, "utf-8")
    ended = subprocess.run(
        [sys.executable, program, settings.home], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.stdout.split() == ["42", "0"], ended
