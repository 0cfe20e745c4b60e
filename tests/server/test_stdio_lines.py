"""Lines over pipes and sockets, read and written on the event loop: none is lost, split or mixed up."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.server.transports.stdio import LineReader, LineWriter

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes and sockets")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


async def lines_of(reader: LineReader) -> list[str]:
    with anyio.fail_after(60):
        return [line async for line in reader]


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    sizes=st.lists(st.integers(1, 9), min_size=1),
    before=st.integers(0, 9),
)
def test_lines_come_out_as_they_went_in_however_they_are_cut(
    text: str, sizes: list[int], before: int
) -> None:
    async def through() -> list[str]:
        reads, writes = os.pipe()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(feed, writes)
                return await lines_of(LineReader(reads, text.encode()[:before]))
        finally:
            os.close(reads)

    async def feed(writes: int) -> None:
        data, turn = text.encode()[before:], 0
        while data:
            size = sizes[turn % len(sizes)]
            os.write(writes, data[:size])
            data, turn = data[size:], turn + 1
            await anyio.lowlevel.checkpoint()
        os.close(writes)

    expected = text.split("\n")
    assert anyio.run(through) == (expected if expected[-1] else expected[:-1])


async def test_a_regular_file_is_read_and_written_too(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        file.write(b"one\ntwo\n")
        file.seek(0)
        reader = LineReader(file.fileno())
        assert await lines_of(reader) == ["one", "two"]
        await LineWriter(file.fileno(), reader).write("three\n")
    assert (tmp_path / "file").read_text() == "one\ntwo\nthree\n"


async def test_somebody_who_reads_the_same_pipe_first_does_not_disturb(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    os.set_blocking(reads, False)
    thief = os.dup(reads)
    try:
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                assert await lines_of(LineReader(reads)) == ["second"]

            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            os.write(writes, b"first\n")
            assert os.read(thief, 100) == b"first\n"
            await anyio.wait_all_tasks_blocked()
            os.write(writes, b"second\n")
            os.close(writes)
    finally:
        os.close(thief)


async def test_a_full_pipe_holds_up_the_writer_and_not_the_loop(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    writer = LineWriter(writes, LineReader(reads))
    text, heard = "é" * 100_000 + "\n", b""
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.write, text)
            while len(heard) < len(text.encode()):
                await anyio.wait_readable(reads)
                heard += os.read(reads, 4_096)
    assert heard.decode() == text


async def test_a_client_that_no_longer_reads_ends_the_input(pipe: tuple[int, int]) -> None:
    reader = LineReader(pipe[0])
    with suppress(OSError):
        os.close(pipe[0])
    await LineWriter(pipe[1], reader).write("hello\n")
    assert reader.ended.is_set()


@pytest.mark.parametrize("ends", [os.pipe, lambda: tuple(end.detach() for end in socket.socketpair())])
async def test_a_line_whose_writer_is_cancelled_goes_out_whole_before_the_next(
    ends: Callable[[], tuple[int, int]],
) -> None:
    reads, writes = ends()
    writer, text, heard = LineWriter(writes, LineReader(reads)), "x" * 1_000_000 + "\n", b""
    try:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(writer.write, text)
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(writer.write, "next\n")
                while not heard.endswith(b"next\n"):
                    await anyio.wait_readable(reads)
                    heard += os.read(reads, 65_536)
    finally:
        os.close(reads)
        os.close(writes)
    assert heard.decode() == f"{text}next\n"
