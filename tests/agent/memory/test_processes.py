"""Several processes at one memory: no run, fact or success is lost, and one that is killed leaves it usable."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from alita_mcp.agent.memory.store import StoredMemory
from tests.agent.memory.conftest import counts
from tests.agent.memory.processes import start
from tests.agent.memory.remembered import SUM, summed

EACH = 5


@pytest.mark.process
@pytest.mark.exhaustive
async def test_two_processes_that_remember_at_once_lose_nothing(home: Path) -> None:
    processes = [start(home, name, EACH) for name in ("one", "two")]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=120)
    assert [process.returncode for process in processes] == [0, 0]
    memory = StoredMemory(home)
    assert await counts(memory) == {"episodic": 2 * EACH, "semantic": 2 * EACH + 1, "procedural": 1}
    ((recipe, likeness),) = (await memory.recall(SUM)).recipes
    assert (recipe.successes, likeness) == (2 * EACH, 1.0)
    ((shared, _),) = (await memory.recall("shared")).facts
    assert shared.text.endswith(f" {EACH - 1}.”")  # the newest one


@pytest.mark.process
async def test_a_process_that_is_killed_while_it_remembers_leaves_a_memory(home: Path) -> None:
    process = start(home, "killed", 20)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.readline()
    process.stdin.write("go\n")
    process.stdin.flush()
    while process.stdout.readline().strip() != "2":
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    memory = StoredMemory(home)
    assert (await counts(memory))["episodic"] >= 3
    await memory.remember(summed("after", answer="after"))
    assert (await memory.recall(SUM)).recipes[0][0].successes >= 4
    assert not (home / "memory.damaged").exists()
