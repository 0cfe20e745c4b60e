from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.transcripts.claude_code import ClaudeCode
from alita_mcp.transcripts.codex import Codex
from alita_mcp.transcripts.interface import EditFile, TranscriptFormat
from alita_mcp.transcripts.reader import FORMATS, read_transcripts
from alita_mcp.transcripts.session import MOST_OPEN, Session
from alita_mcp.transcripts.values import ExecutedProgram, Reading
from alita_mcp.transcripts.written_files import LONGEST, ROOM, WrittenFiles

DATA = Path(__file__).resolve().parents[1] / "data" / "transcripts"
Line = dict[str, Any]


def programs(
    form: TranscriptFormat, *lines: Line, counts: Counter[str] | None = None
) -> list[ExecutedProgram]:
    session = Session(form.agent, "a.jsonl", set(), Counter() if counts is None else counts)
    found = [
        program
        for number, line in enumerate(lines, start=1)
        for step in form.steps(line)
        for program in session.take(step, number, "")
    ]
    session.close()
    return found


def asked(call: str, tool: str, **given: object) -> Line:
    block = {"type": "tool_use", "id": call, "name": tool, "input": given}
    return {"type": "assistant", "cwd": "/w", "sessionId": "s", "message": {"content": [block]}}


def answered(call: str, content: object = "", *, is_error: bool = False, **more: object) -> Line:
    block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error}
    return {"type": "user", "message": {"content": [block]}, **more}


def ran(call: str, command: str, output: object = "") -> tuple[Line, Line]:
    return asked(call, "Bash", command=command), answered(call, output)


@pytest.fixture(scope="module")
def claude() -> Reading:
    return read_transcripts([DATA / "claude_code.jsonl"])


@pytest.fixture(scope="module")
def codex() -> Reading:
    return read_transcripts([DATA / "codex.jsonl"])


def test_claude_codes_transcript_tells_what_ran(claude: Reading) -> None:
    told = [
        (each.line, each.code.split("\n")[-2 if each.code.endswith("\n") else -1], each.output)
        for each in claude.programs
    ]
    assert told == [
        (3, "print(counts.most_common(2))", "[('red', 2), ('green', 1)]"),
        (5, "print(counts.most_common(1))", "[('two', 2)]"),
        (8, "print(net * 1.19)", "119.0"),
        (12, "print(net * 1.07)", "214.0"),
        (16, "print(1/0)", "Exit code 1\nTraceback (most recent call last):\nZeroDivisionError: division by zero"),
        (18, 'mail = "[email]"; key = "[secret]"; password = "[secret]"; print(open("~/shop/a.csv").read(), password)',
         "id,mail\n1,[email]\n[secret]"),
        (20, "print(sum(range(5)))", "10"),
        (22, "print(sum(sales))", ""),
        (25, "import json, sys; print(len(json.load(sys.stdin)))", ""),
    ]  # fmt: skip
    assert [each.line for each in claude.programs if each.failed] == [16]
    assert [each.line for each in claude.programs if each.redacted] == [18]
    assert [each.line for each in claude.programs if not each.complete] == [25]
    assert [each.arguments for each in claude.programs[2:4]] == [("100",), ("200",)]
    assert claude.programs[0].at == "2026-03-01T09:02:00.000Z"
    assert {each.session for each in claude.programs} == {"6f1c0d3e-0000-4000-8000-000000000001"}


def test_claude_codes_transcript_accounts_for_the_rest(claude: Reading) -> None:
    assert claude.counts == {
        "broken lines": 2,
        "lines of an unknown kind": 1,
        "calls that were refused": 1,
        "calls without an answer": 1,
        "programs whose text is not in the transcript": 1,
    }


def test_codex_transcript_tells_what_ran(codex: Reading) -> None:
    told = [(each.line, each.code.splitlines()[-1], each.output, each.failed) for each in codex.programs]
    assert told == [
        (4, "print(counts.most_common(1))", "[('a', 2)]\n", False),
        (6, "print(2)", "2\n", False),
        (8, "raise SystemExit(3)", "", True),
        (12, "print(width * height)", "12\n", False),
        (14, "print(width * height)", "", False),
        (16, "print('local')", "local\n", False),
    ]
    assert "5, 6" in codex.programs[4].code
    assert codex.counts == {"broken lines": 1, "calls that were refused": 1, "calls without an answer": 1}
    assert {(each.agent, each.session) for each in codex.programs} == {
        ("codex", "0199aaaa-0000-7000-8000-000000000002")
    }


def test_what_a_transcript_says_to_the_reader_is_no_program(claude: Reading, codex: Reading) -> None:
    assert not [
        each for each in (*claude.programs, *codex.programs) if "rmtree" in each.code or "666" in each.code
    ]


def test_sessions_of_early_codex_have_no_payload() -> None:
    call = {
        "type": "function_call",
        "name": "shell",
        "call_id": "c",
        "arguments": '{"command": ["python", "-c", "1"]}',
    }
    assert Codex().recognises(call)
    assert [
        each.code
        for each in programs(Codex(), call, {"type": "function_call_output", "call_id": "c", "output": "x"})
    ] == ["1"]


@pytest.mark.parametrize(
    ("output", "seen", "failed"),
    [
        ("plain", "plain", False),
        ('{"output": "1", "metadata": {"exit_code": 2}}', "1", True),
        ({"content": "1", "success": False}, "1", True),
        ([{"type": "input_text", "text": "1"}], "1", False),
        ("Wall time: 1\nProcess running with session ID 7\nOutput:\nhalf", "", False),
        ("Wall time: 1\nProcess exited with code 1\nOutput:\nbad", "bad", True),
        ("{broken", "{broken", False),
        ("x" * 3_000 + "\nOutput:\ny", "x" * 3_000 + "\nOutput:\ny", False),
        (None, "", False),
    ],
)  # fmt: skip
def test_codex_answers_come_in_many_forms(output: object, seen: str, failed: bool) -> None:
    call = {
        "type": "function_call",
        "name": "shell_command",
        "call_id": "c",
        "arguments": '{"command": "python -c 1"}',
    }
    answer = {"type": "function_call_output", "call_id": "c", "output": output}
    (program,) = programs(
        Codex(), {"type": "response_item", "payload": call}, {"type": "response_item", "payload": answer}
    )
    assert (program.output, program.failed) == (seen, failed)


def test_interpreters_of_mcp_servers_count_as_notebooks() -> None:
    call = {
        "type": "function_call",
        "name": "alita__run_code",
        "call_id": "c",
        "arguments": '{"code": "print(1)"}',
    }
    assert [
        each.code for each in programs(Codex(), call, {"type": "function_call_output", "call_id": "c"})
    ] == ["print(1)"]
    assert programs(ClaudeCode(), asked("1", "mcp__wiki__search", code="print(1)"), answered("1")) == []


def test_files_are_known_as_they_were_last_written() -> None:
    def found(*lines: Line) -> list[str]:
        return [each.code for each in programs(ClaudeCode(), *lines, *ran("run", "python a.py"))]

    def edit(old: str, new: str, **more: object) -> tuple[Line, Line]:
        return asked("e", "Edit", file_path="/w/a.py", old_string=old, new_string=new, **more), answered("e")

    write = asked("w", "Write", file_path="/w/a.py", content="a = 1\nb = 1\n")
    assert found(write, answered("w")) == ["a = 1\nb = 1\n"]
    assert found(write, answered("w", "no", is_error=True)) == []
    assert found(write, answered("w"), *edit("1", "2")) == ["a = 2\nb = 1\n"]
    assert found(write, answered("w"), *edit("1", "2", replace_all=True)) == ["a = 2\nb = 2\n"]
    assert found(write, answered("w"), *edit("3", "2")) == []
    assert found(write, answered("w"), *edit("1", "2" * LONGEST, replace_all=True)) == []
    edits = [{"old_string": "1", "new_string": "5"}, {"old_string": "5", "new_string": "6"}, "broken"]
    several = asked("m", "MultiEdit", file_path="/w/a.py", edits=edits)
    assert found(write, answered("w"), several, answered("m")) == ["a = 6\nb = 1\n"]
    assert (
        found(asked("n", "Edit", file_path="/w/a.py", old_string="", new_string="x = 1"), answered("n")) == []
    )


def test_an_edit_that_would_fill_the_memory_is_not_made() -> None:
    files = WrittenFiles()
    files.write("a.py", "x" * 1_000)
    edit = EditFile("a.py", (("x", "y" * 100_000, True),))
    tracemalloc.start()
    files.edit("a.py", edit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert files.text_of("a.py") is None
    assert peak < 1_000_000


def test_cells_of_a_notebook_run_in_their_order() -> None:
    def cell(call: str, name: str, source: str, **more: object) -> tuple[Line, Line]:
        given = {"notebook_path": "/w/n.ipynb", "cell_id": name, "new_source": source, **more}
        return asked(call, "NotebookEdit", **given), answered(call)

    lines = (
        *cell("1", "a", "x = 1\n!pip install y"),
        *cell("2", "b", "print(x)", edit_mode="insert"),
        *cell("3", "c", "gone"),
        *cell("4", "c", "", edit_mode="delete"),
        *cell("5", "d", "# Title", cell_type="markdown"),
        *cell("6", "a", "x = 2"),
        *ran("7", "jupyter nbconvert --execute n.ipynb"),
    )
    assert [each.code for each in programs(ClaudeCode(), *lines)] == ["x = 2\n\nprint(x)"]


def test_patches_move_and_delete_files() -> None:
    def found(patch: str, command: str) -> list[str]:
        first = "*** Begin Patch\n*** Add File: a.py\n+x = 1\n+print(x)\n*** End Patch"
        lines = [ran(str(n), f"apply_patch <<'P'\n{text}\nP") for n, text in enumerate((first, patch))]
        return [each.code for each in programs(ClaudeCode(), *lines[0], *lines[1], *ran("r", command))]

    update = "*** Begin Patch\n*** Update File: a.py\n{}*** End Patch"
    assert found("", "python a.py") == ["x = 1\nprint(x)\n"]
    assert found(update.format("*** Move to: b.py\n@@\n-x = 1\n+x = 2\n print(x)\n"), "python b.py") == [
        "x = 2\nprint(x)\n"
    ]
    assert found(update.format("@@\n+y = 3\n"), "python a.py") == ["x = 1\nprint(x)\ny = 3\n"]
    assert found(update.format("@@\n-nowhere\n+y\n"), "python a.py") == []
    assert found(update.format("@@\n x = 1\n\n"), "python a.py") == []
    assert found("*** Begin Patch\n*** Delete File: a.py\n*** End Patch", "python a.py") == []
    assert found("*** Begin Patch\n*** Update File: new.py\n@@\n-a\n+b\n*** End Patch", "python new.py") == []


@pytest.mark.parametrize(
    "said",
    ["<tool_use_error>String to replace not found", "The user doesn't want to proceed with this tool use.",
     "Permission to use Bash has been denied.", "[Request interrupted by user for tool use]"],
)  # fmt: skip
def test_what_was_refused_did_not_run(said: str) -> None:
    counts: Counter[str] = Counter()
    call, _ = ran("1", "python -c 1")
    assert programs(ClaudeCode(), call, answered("1", said, is_error=True), counts=counts) == []
    assert dict(+counts) == {"calls that were refused": 1}


def test_what_runs_in_the_background_has_no_output_yet() -> None:
    call, answer = ran(
        "1", "python -c 1", "Command running in background with ID: b1. Output is written to x"
    )
    assert [each.output for each in programs(ClaudeCode(), call, answer)] == [""]


def test_calls_without_an_answer_are_given_up_at_some_time() -> None:
    counts: Counter[str] = Counter()
    lines = [ran(str(n), "python -c 1")[0] for n in range(MOST_OPEN + 5)]
    found = programs(ClaudeCode(), *lines, answered("0"), answered(str(MOST_OPEN)), lines[7], counts=counts)
    assert len(found) == 1
    assert dict(+counts) == {"calls without an answer": MOST_OPEN + 5}


def test_large_programs_and_what_is_no_python_are_counted() -> None:
    counts: Counter[str] = Counter()
    large = ran("1", f"python -c '{'x = 1;' * 40_000}'")
    broken = ran("2", "python -c 'print('")
    nothing = ran("3", "python -c '# nothing'")
    deep = ran("4", f"python -c 'x = {'-' * 200}1'")
    assert programs(ClaudeCode(), *large, *broken, *nothing, *deep, counts=counts) == []
    assert dict(+counts) == {"programs of more than 200,000 characters": 1, "programs that do not parse": 3}


def test_the_oldest_files_are_forgotten_first() -> None:
    files = WrittenFiles()
    for number in range(ROOM // LONGEST + 1):
        files.write(f"{number}.py", "x" * LONGEST)
    assert files.text_of("0.py") is None
    assert files.text_of("1.py") is not None


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8)
    | st.sampled_from(["tool_use", "tool_result", "Bash", "function_call", "function_call_output", "shell"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "id", "name", "input", "content", "tool_use_id", "command",
                         "payload", "call_id", "output", "arguments", "metadata", "file_path", "edits",
                         "message", "cwd", "code"]),
        inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


def _lines_of(build: Callable[[Any], Line]) -> st.SearchStrategy[list[Line]]:
    return st.lists(_JSON.map(build), max_size=4)


@given(
    _lines_of(lambda value: {"type": "assistant", "message": {"content": [value]}})
    | _lines_of(lambda value: {"type": "response_item", "payload": value})
    | st.lists(st.dictionaries(st.text(max_size=5), _JSON), max_size=2)
)
def test_no_line_makes_a_format_fail(lines: list[Line]) -> None:
    for form in FORMATS:
        for line in lines:
            form.recognises(line)
        programs(form, *lines)


def test_lone_surrogates_become_question_marks() -> None:
    line = json.loads(json.dumps(asked("1", "run_python", code="print('\ud800')")))
    assert [each.code for each in programs(ClaudeCode(), line, answered("1", "\ud800"))] == ["print('?')"]
