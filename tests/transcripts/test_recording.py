from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.transcripts.recording import as_run, with_arguments
from alita_mcp.transcripts.values import ExecutedProgram

SET = "import sys\nsys.argv = ['script.py', 'a']\n"


@pytest.mark.parametrize(
    ("code", "arguments", "run"),
    [
        ("import sys\nä = 'ä'; print(float(sys.argv[1]), sys.argv[2])", ("100", "b"),
         "import sys\nä = 'ä'; print(float('100'), 'b')"),
        ("import sys\nprint(sys.argv[\n  1\n])", ("a",), "import sys\nprint('a')"),
        ("print(1)", (), "print(1)"),
        ("import sys\nprint(sys.argv[0])", ("a",), SET + "import sys\nprint(sys.argv[0])"),
        ("import sys\nprint(sys.argv[1:])", ("a",), SET + "import sys\nprint(sys.argv[1:])"),
        ("import sys\nprint(sys.argv[2], sys.argv[-1])", ("a",),
         SET + "import sys\nprint(sys.argv[2], sys.argv[-1])"),
        ("import sys\nsys.argv[1] = 2", ("a",), SET + "import sys\nsys.argv[1] = 2"),
        ("parser.parse_args()", ("a",), SET + "parser.parse_args()"),
        ("'''doc'''\nfrom __future__ import annotations\nrun()", ("a",),
         "'''doc'''\nfrom __future__ import annotations\n" + SET + "run()"),
        ("'doc'", ("a",), "'doc'\n" + SET + ""),
    ],
)  # fmt: skip
def test_arguments_stand_in_the_code(code: str, arguments: tuple[str, ...], run: str) -> None:
    assert with_arguments(code, arguments) == run


@given(st.lists(st.text(max_size=8), min_size=2, max_size=4))
def test_the_code_does_what_the_command_line_did(arguments: list[str]) -> None:
    code = "import sys\nä = 'é', sys.argv[1]; print(repr((ä, sys.argv[2])), sys.argv[1])"
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(with_arguments(code, arguments), {})
    assert printed.getvalue() == f"{(('é', arguments[0]), arguments[1])!r} {arguments[0]}\n"
    assert "script.py" not in sys.argv


def test_a_program_is_a_run_with_its_input() -> None:
    program = ExecutedProgram(
        code="print(input())", given="a\nb\n", output="a\n", failed=True, agent="codex",
        file="f", session="s", line=3, at="2026-03-01T09:00:00Z",
    )  # fmt: skip
    run = as_run(program)
    assert (run.arguments, run.stdout, run.status, run.client) == (
        {"input": ["a", "b"]},
        "a\n",
        "error",
        "codex",
    )
    assert as_run(program.model_copy(update={"given": ""})).arguments == {}
