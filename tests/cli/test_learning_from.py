from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Alita

DATA = Path(__file__).resolve().parents[1] / "data" / "transcripts"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def session(folder: Path, *runs: tuple[str, str], name: str = "a.jsonl") -> Path:
    """A session file of Claude Code in which each program ran and printed a text."""
    lines = []
    for number, (code, printed) in enumerate(runs):
        given = {
            "type": "tool_use",
            "id": f"{name}{number}",
            "name": "Bash",
            "input": {"command": f"python3 - <<'EOF'\n{code}\nEOF"},
        }
        answer = {"type": "tool_result", "tool_use_id": f"{name}{number}", "content": printed}
        for kind, block in (("assistant", given), ("user", answer)):
            lines.append(
                json.dumps({"type": kind, "sessionId": "s", "cwd": "/w", "message": {"content": [block]}})
            )
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def area(width: int, height: int, printed: str = "") -> tuple[str, str]:
    return f"width, height = {width}, {height}\nprint(width * height)", printed or f"{width * height}\n"


def test_what_ran_often_is_shown_and_nothing_is_made(alita: Alita) -> None:
    said = alita("learn-from", str(DATA))
    assert said.status == 0
    first, second, *_ = said.out.splitlines()
    assert first.split() == ["times", "sessions", "where", "would", "be"]
    assert second.startswith("3x     2         claude_code.jsonl:3, claude_code.jsonl:5, codex.jsonl:4")
    assert "(text: str, " in second
    assert "15 programs in 2 transcripts" in said.err
    assert "3 broken lines" in said.err
    assert "Nothing was made. `--make" in said.err
    assert "hunter2" not in said.out + said.err
    assert len(alita("list", "--json").json) == 11


def test_one_run_is_shown_when_asked_for_and_says_why_it_is_no_tool(alita: Alita) -> None:
    groups = alita("learn-from", str(DATA), "--times", "1", "--json").json["groups"]
    assert {group["why_not"] for group in groups} >= {
        "", "all runs hold private values", "it failed every time",
    }  # fmt: skip
    (private,) = [group for group in groups if group["why_not"] == "all runs hold private values"]
    assert "hunter2" not in json.dumps(private)
    assert "erika" not in json.dumps(groups)
    assert all(
        set(place) == {"agent", "file", "session", "line", "at"}
        for group in groups
        for place in group["where"]
    )


def test_what_is_said_yes_to_becomes_a_tool_of_what_the_sandbox_gave(alita: Alita, tmp_path: Path) -> None:
    folder = session(tmp_path / "t", area(3, 4), area(5, 6), area(7, 8), area(9, 9, "something else"))
    (name,) = [group["name"] for group in alita("learn-from", str(folder), "--json").json["groups"]]
    made = alita("learn-from", str(folder), "--make", name, "--json").json["made"]
    assert [(each["status"], each["tool"], each["trust"]) for each in made] == [
        ("created", name, "provisional")
    ]
    assert len(made[0]["from_run"]) == 3
    assert made[0]["left_out"] == ["it printed something else than the transcript shows"]
    assert alita("run", name, '{"width": 6, "height": 7}').out.strip().strip('"') in ("42", "42\\n")


def test_a_person_is_shown_the_code_and_asked(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = session(
        tmp_path / "t", area(3, 4), area(5, 6), ("print(len('a'))", "1"), ("print(len('b'))", "1")
    )
    monkeypatch.setattr(sys, "stdin", Terminal("y\nn\n"))
    said = alita("learn-from", str(folder))
    assert said.err.count("Nothing above is an instruction to you.") == 2
    assert "  | " in said.err
    assert said.out.count("created ") == 1
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    assert "created" not in alita("learn-from", str(folder)).out


def test_programs_that_need_this_machine_fail_in_the_sandbox_and_say_so(alita: Alita, tmp_path: Path) -> None:
    marker = tmp_path / "written"
    marker.write_text("here")
    runs = [(f"text = open({str(marker)!r}).read()\nn = {n}\nprint(text * n)", "here" * n) for n in (1, 2, 3)]
    said = alita("learn-from", str(session(tmp_path / "t", *runs)), "--yes")
    assert said.status == 1
    assert (
        "was not made: no run of it ends in the sandbox as it did for the agent: FileNotFoundError"
        in said.out
    )
    assert marker.read_text() == "here"
    assert len(alita("list", "--json").json) == 11


def test_an_unknown_name_makes_nothing(alita: Alita) -> None:
    said = alita("learn-from", str(DATA), "--make", "rm_rf")
    assert said.status == 2
    assert "No tool 'rm_rf' can be made of these." in said.err


def test_paths_that_are_not_there_are_an_error(alita: Alita, tmp_path: Path) -> None:
    assert alita("learn-from", str(tmp_path / "gone")).status == 2
    said = alita("learn-from", "--times", "0", str(tmp_path))
    assert said.status == 2


def test_without_a_path_the_agents_own_folders_are_read_and_named(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert "Neither Claude Code nor Codex CLI keeps transcripts" in alita("learn-from").err
    (tmp_path / ".claude").mkdir()
    session(tmp_path / ".claude" / "projects", area(3, 4), area(5, 6))
    said = alita("learn-from")
    assert f"Reading {tmp_path / '.claude' / 'projects'}. Nothing of it leaves this machine." in said.err
    assert said.out.count("2x") == 1


def test_nothing_in_a_transcript_reaches_the_terminal_as_a_command_of_it(
    alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [(f"text = '\x1b]0;owned\x07\u202e{n}'\nprint(text * 2)", "") for n in (1, 2)]
    folder = session(tmp_path / "t", *runs, name="\x1b[2J.jsonl" if os.name == "posix" else "a.jsonl")
    (folder / "\x1b[31mnone.jsonl").touch() if os.name == "posix" else None
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    said = alita("learn-from", str(folder))
    assert not {"\x1b", "\x07", "\u202e"} & set(said.out + said.err)
    assert "2x" in said.out


def test_on_a_terminal_it_is_a_table(alita: Alita, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    said = alita("learn-from", str(DATA))
    assert "times" in said.out
    assert "3x" in said.out


def test_an_empty_folder_has_no_groups(alita: Alita, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert alita("learn-from", str(tmp_path)).out == ""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert alita("learn-from", str(tmp_path)).out == ""
