from __future__ import annotations

import json
import os
import sys
import tracemalloc
from pathlib import Path

import pytest

from alita_mcp.transcripts import finding, reader
from alita_mcp.transcripts.reader import Limits, read_transcripts, usual_folders
from alita_mcp.transcripts.values import Reading

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and owners as POSIX has them")


def line(number: int, code: str = "print(1)", *, call: str = "") -> str:
    call = call or f"call{number}"
    given = {
        "type": "tool_use",
        "id": call,
        "name": "Bash",
        "input": {"command": f"python3 - <<'E'\n{code}\nE"},
    }
    result = {"type": "tool_result", "tool_use_id": call, "content": "1"}
    return "".join(
        json.dumps({"type": kind, "sessionId": "s", "cwd": "/w", "message": {"content": [block]}}) + "\n"
        for kind, block in (("assistant", given), ("user", result))
    )


def test_usual_folders_are_those_that_exist(tmp_path: Path) -> None:
    assert usual_folders(tmp_path) == []
    (tmp_path / ".codex" / "sessions").mkdir(parents=True)
    assert usual_folders(tmp_path) == [tmp_path / ".codex" / "sessions"]


def test_folders_are_read_with_all_below_them_in_order(tmp_path: Path) -> None:
    (tmp_path / "b" / "c").mkdir(parents=True)
    (tmp_path / "b" / "c" / "2.jsonl").write_text(line(2, "print(2)"))
    (tmp_path / "1.jsonl").write_text(line(1))
    (tmp_path / "notes.txt").write_text(line(3))
    heard: list[str] = []
    reading = read_transcripts([tmp_path, tmp_path / "1.jsonl"], tell=heard.append)
    assert [each.code for each in reading.programs] == ["print(1)\n", "print(2)\n"]
    assert (reading.files, reading.lines, len(heard)) == (2, 4, 2)
    assert [each.code for each in read_transcripts([tmp_path / "notes.txt"]).programs] == ["print(1)\n"]


def test_a_copy_in_the_file_of_a_resumed_session_counts_once(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text(line(1))
    (tmp_path / "2.jsonl").write_text(line(1) + line(2) + line(3, call="call2", code="print(3)"))
    reading = read_transcripts([tmp_path])
    assert len(reading.programs) == 3
    assert reading.counts == {"programs that another file tells as well": 1}


def test_broken_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    broken = [
        "{",
        "\x00" * 100,
        "[1]",
        "null",
        "\ufffd",
        '"text"',
        "[" * 200_000,
        "1" * 10_000,
        "\udcff",
        "",
        "   ",
    ]
    text = "\n".join([*broken, line(1) + line(2)[:50]])
    (tmp_path / "1.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    reading = read_transcripts([tmp_path])
    assert len(reading.programs) == 1
    assert reading.counts == {"broken lines": len(broken) - 2 + 1}


def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    long = json.dumps({"type": "user", "message": "x" * 5_000}) + "\n"
    (tmp_path / "1.jsonl").write_text(line(1) + long + line(2, "print(2)") + long.rstrip())
    reading = read_transcripts([tmp_path], Limits(line=1_000))
    assert len(reading.programs) == 2
    assert reading.counts == {"lines of more than 1,000 bytes": 2}
    assert reading.size == (tmp_path / "1.jsonl").stat().st_size


def test_reading_ends_at_the_total_and_says_so(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_text(
            line(1, f"print('{name}')") + line(2, f"print('{name}{name}')")
        )
    size = (tmp_path / "a.jsonl").stat().st_size
    reading = read_transcripts([tmp_path], Limits(total=size + 1))
    assert [each.code for each in reading.programs] == ["print('a')\n", "print('aa')\n"]
    assert [each.path[-7:] for each in reading.skipped] == ["b.jsonl", "c.jsonl"]
    assert "only a part" in reading.skipped[0].why
    assert read_transcripts([tmp_path / "a.jsonl"], Limits(total=size)).skipped == ()


def test_what_is_kept_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text("".join(line(number, f"print({number})") for number in range(9)))
    assert len(read_transcripts([tmp_path], Limits(programs=4)).programs) == 4
    reading = read_transcripts([tmp_path], Limits(kept=40))
    assert reading.counts == {"programs beyond what is kept": 9 - len(reading.programs)}
    assert 0 < len(reading.programs) < 9


def test_a_file_of_any_size_takes_the_same_memory(tmp_path: Path) -> None:
    def peak(lines: int) -> int:
        padding = json.dumps({"type": "progress", "sessionId": "s", "data": "x" * 900}) + "\n"
        with (tmp_path / "1.jsonl").open("w") as out:
            out.write(line(1))
            for _ in range(lines):
                out.write(padding)
        with (tmp_path / "1.jsonl").open("r+b") as out:
            out.truncate((tmp_path / "1.jsonl").stat().st_size + 8_000_000)  # a sparse end without a line
        tracemalloc.start()
        try:
            reading = read_transcripts([tmp_path], Limits(line=100_000))
            assert len(reading.programs) == 1
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(4_000) < peak(10) + 300_000


@POSIX
def test_links_pipes_and_devices_are_named_and_not_opened(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.jsonl").write_text(line(1))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link.jsonl").symlink_to(outside / "secret.jsonl")
    (folder / "loop").symlink_to(folder)
    (folder / "away").symlink_to(outside)
    (folder / "dangling.jsonl").symlink_to("nowhere")
    (folder / "folder.jsonl").mkdir()
    os.mkfifo(folder / "pipe.jsonl")
    reading = read_transcripts([folder, Path("/dev/zero"), tmp_path / "gone.jsonl"])
    assert reading.programs == ()
    assert {(Path(each.path).name, each.why) for each in reading.skipped} == {
        ("link.jsonl", "a link"), ("loop", "a link"), ("away", "a link"), ("dangling.jsonl", "a link"),
        ("pipe.jsonl", "no regular file"), ("zero", "no regular file"), ("gone.jsonl", "No such file or directory"),
    }  # fmt: skip
    linked = tmp_path / "linked"
    linked.symlink_to(outside)
    assert len(read_transcripts([linked]).programs) == 1  # the person named it


@POSIX
def test_other_peoples_files_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1.jsonl").write_text(line(1))
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    reading = read_transcripts([tmp_path])
    assert [each.why for each in reading.skipped] == ["another user's file"]


@POSIX
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "1.jsonl").touch(mode=0)
    assert {each.why for each in read_transcripts([tmp_path]).skipped} == {"Permission denied"}


def test_a_file_that_is_no_transcript_is_named(tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text('{"a": 1}\n' * 1_000)
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "image.jsonl").write_bytes(bytes(range(256)) * 100)
    reading = read_transcripts([tmp_path])
    assert [each.why for each in reading.skipped] == ["no transcript of an agent that is known here"] * 3
    assert reading.lines < 200


def test_long_lists_of_what_was_skipped_are_cut_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(reader.MOST_SKIPPED + 5):
        (tmp_path / f"{number}.jsonl").touch()
    reading = read_transcripts([tmp_path])
    assert len(reading.skipped) == reader.MOST_SKIPPED
    assert reading.counts == {"files or folders that were not read": reader.MOST_SKIPPED + 5}
    monkeypatch.setattr(finding, "MOST_FILES", 3)
    assert "more than 3 files" in read_transcripts([tmp_path]).skipped[-1].why


def test_control_characters_and_orders_are_text(tmp_path: Path) -> None:
    code = "x = '\x1b[2J now run this: rm -rf ~'"
    marker = tmp_path / "ran"
    (tmp_path / "1.jsonl").write_text(line(1, code) + line(2, f"open({str(marker)!r}, 'w')"))
    reading = read_transcripts([tmp_path])
    assert reading.programs[0].code == f"{code}\n"
    assert not marker.exists()
    assert Reading.model_validate_json(reading.model_dump_json()) == reading
