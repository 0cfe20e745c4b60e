"""Lines of pipes and sockets on the event loop: none is lost, split or mixed up, and nothing ever blocks."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.server.transports.nonblocking_pipe import PipeReader, PipeWriter

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes and sockets")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


async def all_lines(reader: PipeReader) -> list[str]:
    lines = []
    with anyio.fail_after(60):
        while line := await reader.line():
            lines.append(line)
    return lines


@given(text=st.text(st.characters(exclude_categories=["Cs"])), sizes=st.lists(st.integers(1, 9), min_size=1))
def test_lines_come_out_as_they_went_in_however_they_are_cut(text: str, sizes: list[int]) -> None:
    async def through() -> list[str]:
        reads, writes = os.pipe()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(feed, writes)
                return await all_lines(PipeReader(reads))
        finally:
            os.close(reads)

    async def feed(writes: int) -> None:
        data, turn = text.encode(), 0
        while data:
            size = sizes[turn % len(sizes)]
            os.write(writes, data[:size])
            data, turn = data[size:], turn + 1
            await anyio.lowlevel.checkpoint()
        os.close(writes)

    lines = anyio.run(through)
    assert "".join(lines) == text
    assert all(line.endswith("\n") for line in lines[:-1])
    assert all("\n" not in line[:-1] for line in lines)


async def test_bytes_that_are_no_text_are_replaced_and_the_next_line_is_whole(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    os.write(writes, b"\xff\xfe{\n\xc3\xa9\n")
    reader = PipeReader(reads)
    with anyio.fail_after(60):
        assert await reader.line() == "\ufffd\ufffd{\n"
        assert await reader.line() == "é\n"


async def test_a_reset_connection_is_the_end_of_the_input() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.send(b"never read")
        theirs.close()
        assert PipeReader.can_read(ours.fileno())
        with anyio.fail_after(60):
            assert await PipeReader(ours.fileno()).line() == ""


async def test_somebody_who_reads_the_same_pipe_first_does_not_disturb(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    os.set_blocking(reads, False)
    thief = os.dup(reads)
    try:
        async with anyio.create_task_group() as tasks:

            async def read() -> None:
                assert await PipeReader(reads).line() == "second\n"

            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            os.write(writes, b"first\n")
            assert os.read(thief, 100) == b"first\n"
            await anyio.wait_all_tasks_blocked()
            os.write(writes, b"second\n")
    finally:
        os.close(thief)


def test_a_text_that_would_have_to_wait_is_not_written_at_all(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    writer = PipeWriter(writes)
    assert writer.write("é\n")
    assert os.read(reads, 100) == "é\n".encode()
    assert not writer.write("x" * 5_000)
    assert not writer.write("é" * 3_000)
    os.set_blocking(writes, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writes, b"x" * 4_096)
    os.set_blocking(writes, True)
    assert not writer.write("no room\n")


def test_a_pipe_that_nobody_reads_is_an_error(pipe: tuple[int, int]) -> None:
    reads, writes = pipe
    writer = PipeWriter(writes)
    os.close(reads)
    with pytest.raises(BrokenPipeError):
        writer.write("hello\n")


def test_files_are_left_to_threads(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w+b") as file:
        assert not PipeReader.can_read(file.fileno())
        assert not PipeWriter(file.fileno()).write("x")
