"""Several processes with one home share the work of embedding, and one that is killed leaves it to the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from alita_mcp.library.search.vectors.embedding_sync import TOOLS_AT_ONCE

pytestmark = [pytest.mark.process, pytest.mark.extra("search")]

EMBED = """
import sys, anyio
from pathlib import Path
from alita_mcp.models.embedding.scripted import ScriptedEmbedder
from tests.library.searching import many, opened, until_by_meaning

async def main():
    async def told(texts):
        for text in texts:
            if ": " in text:
                print(text, flush=True)
        await anyio.sleep(0.02)

    async with opened(Path(sys.argv[1]), ScriptedEmbedder(before=told), many(int(sys.argv[2]))) as finder:
        await until_by_meaning(finder, "serves number n7")
        await finder.vectors_ready()

anyio.run(main)
"""


def embedding(home: Path, tools: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", EMBED, str(home), str(tools)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
    )


def paid(*said: str) -> Counter[str]:
    """How often each tool was embedded."""
    return Counter(line for text in said for line in text.splitlines())


def test_three_processes_embed_each_tool_once(home: Path) -> None:
    started = [embedding(home, 500) for _ in range(3)]
    said = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    times = paid(*said)
    assert len(times) == 500
    assert set(times.values()) == {1}


def test_a_process_that_is_killed_leaves_the_rest_to_another(home: Path) -> None:
    with embedding(home, 600) as first:
        assert first.stdout is not None
        before = "".join(next(first.stdout) for _ in range(TOOLS_AT_ONCE + 10))
        first.kill()
        before += first.stdout.read()
    second = embedding(home, 600)
    after, _ = second.communicate(timeout=120)
    assert second.returncode == 0
    times = paid(before, after)
    assert len(times) == 600
    assert sum(count - 1 for count in times.values()) <= TOOLS_AT_ONCE
