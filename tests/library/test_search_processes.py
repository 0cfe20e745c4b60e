"""A tool that another process publishes, uses or disables, as the search of this one sees it."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.forked import Forked
from tests.library.factory import opened, simple
from tests.library.processes import finish, start

pytestmark = pytest.mark.process


async def test_a_tool_of_another_process_is_found_by_the_very_next_search(home: Path) -> None:
    with anyio.fail_after(120):
        async with opened(home) as library:
            await library.publish(simple("shared", "Used by everybody."), expected_version=0)
            assert (await library.search("count the words", 1)).fit == "none"
            other = start("stay", str(home), "word_count")
            try:
                assert await said_by(other) == "ready"
                other.send_line("go")
                assert await said_by(other) == "published"
                hit = (await library.search("count the words of a text", 1)).results[0]
                assert (hit.name, hit.score > 0.7) == ("word_count", True)
                for _ in range(2):
                    other.send_line("go")
                    await said_by(other)
                assert (await library.similar("count the words of a text")) == ()
            finally:
                finish(other)


async def said_by(process: Forked) -> str:
    return await anyio.to_thread.run_sync(process.read_line)
