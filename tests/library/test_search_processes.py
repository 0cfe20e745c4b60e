"""Several processes write one library, and some of them are killed: search loses nothing and repeats nothing."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from alita_mcp.library.library import Library
from tests.forked import Forked
from tests.library.factory import opened, simple
from tests.library.processes import finish, run_into, start

pytestmark = pytest.mark.process

WRITERS, ROUNDS = 4, 4


class Writer:
    """A process that publishes and changes tools of its own, until it is done or killed."""

    def __init__(self, home: Path, number: int, rounds: int = ROUNDS) -> None:
        self._said = home.parent / f"said-{number}.txt"
        self._said.touch()
        self.process = Forked(run_into, str(self._said), "write", str(home), str(number), str(rounds))

    def said(self) -> list[tuple[str, str]]:
        """What it committed, in order; a line that was cut off by its death does not count."""
        lines = self._said.read_text().splitlines(keepends=True)
        return [(line.split()[0], line.split()[1]) for line in lines if line.endswith("\n")]

    async def kill_after(self, lines: int) -> None:
        """Kills it in the middle of what comes after so many commits."""
        while len(self.said()) < lines and self.process.is_alive():  # noqa: ASYNC110 - another process
            await anyio.sleep(0.005)
        self.process.kill()
        await self.ended()

    async def ended(self) -> int:
        status, _ = await anyio.to_thread.run_sync(self.process.wait)
        return status


def searchable(home: Path) -> set[str]:
    """The names in the search tables, which agree with one another."""
    with closing(sqlite3.connect(home / "library.sqlite3")) as db:
        db.execute("INSERT INTO document_text (document_text, rank) VALUES ('integrity-check', 1)")
        return {name for (name,) in db.execute("SELECT name FROM document")}


async def assert_found_once(library: Library, name: str, need: str) -> None:
    found = Counter(hit.name for hit in (await library.search(f"{need} {name}", 20)).results)
    assert found[name] == 1, (name, found)


async def test_four_writers_of_which_some_are_killed_lose_nothing_and_repeat_nothing(home: Path) -> None:
    with anyio.fail_after(240):
        async with opened(home) as library:
            await library.publish(simple("shared", "Used by everybody."), expected_version=0)
        writers = [Writer(home, number) for number in range(WRITERS)]
        try:
            for victim, lines in ((0, 2), (1, 5), (2, 8)):
                await writers[victim].kill_after(lines)
                writers.append(Writer(home, len(writers), 3))
            statuses = [await writer.ended() for writer in writers]
        finally:
            for writer in writers:
                writer.process.kill()
        survivors = [status for number, status in enumerate(statuses) if number > 2]
        assert survivors == [0] * len(survivors)
        said = [line for writer in writers for line in writer.said()]
        async with opened(home) as library:
            await assert_kept(library, said)
            enabled = {entry.name for entry in library.tools.entries() if entry.state == "enabled"}
        assert searchable(home) == enabled


async def assert_kept(library: Library, said: list[tuple[str, str]]) -> None:
    """All that was said to be committed is there, and what is enabled is found, once."""
    known = {entry.name: entry for entry in library.tools.entries()}
    done = Counter(name for word, name in said if word == "used")
    deleted = {name for word, name in said if word == "deleted"}
    assert deleted.isdisjoint(known)
    assert known["shared"].calls >= sum(done.values())
    for word, name in said:
        if name in deleted:
            continue
        entry = known.get(name)
        if entry is None:  # deleted, and killed before it could say so
            assert name.endswith(("_1", "_4"))
            continue
        assert word != "worded" or entry.wordings == (f"striped horse for {name}",)
        assert word != "used" or entry.calls == done[name]
        assert word != "changed" or entry.manifest.version == 2
    for name, entry in known.items():
        if name != "shared":
            await assert_found_once(library, name, "zebra" if entry.manifest.version == 1 else "giraffe")


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
