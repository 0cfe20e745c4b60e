"""Lessons: bounded, near ones first, safe with several processes, and never a reason to fail."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from alita_mcp.synthesis.lessons import MAX_LESSONS, Lesson, LessonsFile, nearest

WRITER = """
import sys, anyio
from pathlib import Path
from alita_mcp.synthesis.lessons import Lesson, LessonsFile

async def write():
    file = LessonsFile(Path(sys.argv[1]))
    for number in range(20):
        await file.learn(Lesson(description=f"task {sys.argv[2]} {number}", kind="syntax", text="words"))

anyio.run(write)
"""


def lesson(description: str, text: str = "Mind the gap.") -> Lesson:
    return Lesson(description=description, kind="assertion", text=text)


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "lessons.jsonl"


async def test_a_lesson_is_recalled_for_a_like_description_and_for_no_other(path: Path) -> None:
    file = LessonsFile(path)
    await file.learn(lesson("Convert Celsius degrees to Fahrenheit degrees."))
    assert len(await file.recall("convert celsius to fahrenheit")) == 1
    assert await file.recall("parse a csv table") == ()


async def test_the_same_lesson_counts_once_and_the_oldest_make_room(path: Path) -> None:
    file = LessonsFile(path)
    lines = "".join(lesson(f"number {n}").model_dump_json() + "\n" for n in range(MAX_LESSONS))
    write(path, lines.encode())
    await file.learn(lesson("number 7"))
    await file.learn(lesson("the newest one"))
    kept = lines_of(path)
    assert len(kept) == MAX_LESSONS
    assert "the newest one" in kept[-1]
    assert 'number 7"' in kept[-2]
    assert 'number 0"' not in kept[0]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"not json\n[]\n{}\n", b"", b"[" * 100_000])
async def test_a_damaged_file_is_as_good_as_none_and_is_written_anew(path: Path, content: bytes) -> None:
    write(path, content)
    file = LessonsFile(path)
    assert await file.recall("anything at all") == ()
    await file.learn(lesson("anything at all"))
    assert len(await file.recall("anything at all")) == 1


async def test_a_home_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    await LessonsFile(tmp_path / "file" / "lessons.jsonl").learn(lesson("x"))


@pytest.mark.process
def test_several_processes_lose_nothing(path: Path) -> None:
    path.parent.mkdir(parents=True)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)]) for number in range(3)
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    assert len(path.read_text(encoding="utf-8").splitlines()) == 60


def test_the_newest_of_equals_comes_first() -> None:
    told = [lesson("sum the digits", text) for text in ("old", "new")] + [
        lesson("sum the digits of numbers", "near")
    ]
    assert [each.text for each in nearest("sum the digits", told)] == ["new", "old", "near"]
