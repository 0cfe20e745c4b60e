from __future__ import annotations

import ast
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.transcripts.shell import MOST_RUNS, PythonRun, Shell, ShellReading
from alita_mcp.transcripts.shell_words import LONGEST, commands_in
from alita_mcp.transcripts.written_files import WrittenFiles

FOLDER = "/work"


def read(text: str, files: WrittenFiles | None = None) -> ShellReading:
    return Shell(files or WrittenFiles()).read(text, FOLDER)


def codes(text: str, files: WrittenFiles | None = None) -> list[str]:
    return [run.code for run in read(text, files).runs]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("python3 -c 'print(1)'", "print(1)"),
        ('python -c "print(\\"a\\", \'b\')"', "print(\"a\", 'b')"),
        ('python -c "cost = \'5$\'; print(cost)"', "cost = '5$'; print(cost)"),
        ("python3 -c $'print(1)\\nprint(\\'\\x41\\u00e4\\101\\')'", "print(1)\nprint('AäA')"),
        ("python3 - <<'EOF'\nprint('$HOME')\nEOF\necho done", "print('$HOME')\n"),
        ("python3 <<EOF\nprint('\\$5')\nEOF", "print('$5')\n"),
        ("python3 <<-EOF\n\tprint(1)\n\tEOF\n", "print(1)\n"),
        ("python3 <<'EOF' # last\nprint(1)", "print(1)"),
        ("python3 <<< 'print(8)'", "print(8)\n"),
        ("cat <<'E' | python3\nprint(5)\nE", "print(5)\n"),
        ("echo 'print(6)' | python3 -", "print(6)\n"),
        ("echo -n 'print(6)' | python3", "print(6)"),
        ("bash -lc \"python -c 'print(1)'\"", "print(1)"),
        ("sh -c 'sh -c \"python -c 2\"'", "2"),
        ("cd x && A=1 B=2 timeout 10 .venv/bin/python3.12 -u -X dev -c 'print(7)' 2>&1 >/dev/null", "print(7)"),
        ("uv run --with requests python -c 'print(1)'", "print(1)"),
        ("uv run - <<'PY'\nprint(3)\nPY", "print(3)\n"),
        ("C:\\\\Python312\\\\python.exe -c 'print(1)'", "print(1)"),
        ("X=$(python3 -c 'print(9)') && echo $X", "print(9)"),
        ("if python -c 'import x'; then echo yes; fi", "import x"),
        ("cat > a.py <<EOF\nprint(2)\nEOF\npython a.py", "print(2)\n"),
        ("cat <<'EOF' > /tmp/a.py && python3 /tmp/a.py\nprint(2)\nEOF\n", "print(2)\n"),
        ("tee a.py <<'EOF'\nprint(2)\nEOF\n./a.py", "print(2)\n"),
        ("echo 'print(1)' > a.py; echo 'print(2)' >> a.py; cd sub; python ../a.py", "print(1)\nprint(2)\n"),
        ("cat <<'A' > a.py\nprint(1)\nA\ncat a.py > b.py; python b.py", "print(1)\n"),
        (("cat > n.ipynb <<'E'\n{\"cells\": [{\"cell_type\": \"code\", \"source\": [\"x = 1\\n\", \"print(x)\"]}]}\nE\n"
          "jupyter nbconvert --execute n.ipynb"), "x = 1\nprint(x)"),
    ],
)  # fmt: skip
def test_what_a_command_line_runs_in_python_is_found(text: str, code: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "", "python", "python -V", "python -m pytest -q", "ls *.py | grep python", "cat a.py",
        "sudo apt install python3",
        "echo python -c 'print(1)'", "git commit -m \"python -c 'print(1)'\"", "# python -c 'print(1)'",
        "echo 'never closed; python -c 1", "jupyter notebook list", "uv pip install x", "bash script.sh", "sh",
        "uv run pytest",
    ],
)  # fmt: skip
def test_what_is_no_program_of_the_agent_is_left_alone(text: str) -> None:
    assert (read(text).runs, read(text).unseen) == ([], 0)


@pytest.mark.parametrize(
    "text",
    [
        "python there_before.py", 'python -c "print($X)"', "python <<EOF\nprint($X)\nEOF", "python $SCRIPT",
        "curl x | python", "python < there_before.py", "papermill there_before.ipynb out.ipynb", "python -c",
        "echo -e 'print(1)\\n' | python", "echo 'print(1)' > a.py; sed -i s/1/2/ a.py; python a.py",
        "echo 'print(1)' > a.py; ./generate > a.py; python a.py", "cd $X; echo 1 > a.py; cd /y; python a.py",
        "echo 1 > n.ipynb; jupyter execute n.ipynb", "ls | tee a.py; python a.py", "cat a b | python",
    ],
)  # fmt: skip
def test_programs_whose_text_is_not_there_are_counted(text: str) -> None:
    reading = read(text)
    assert (reading.runs, reading.unseen) == ([], 1)


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("python -c 'print(1)' a 'b c' --d=e", PythonRun("print(1)", ("a", "b c", "--d=e"))),
        ("python -c 'input()' <<< 'x'", PythonRun("input()", given="x\n")),
        ("echo x | python -c 'input()'", PythonRun("input()", given="x\n")),
        ("python -c 'input()' < there_before.txt", PythonRun("input()", complete=False)),
        ("curl x | python -c 'input()'", PythonRun("input()", complete=False)),
        ("python -c 'print(1)' $A", PythonRun("print(1)", ("$A",), complete=False)),
        ('python -c "print(1)" "${A}b"', PythonRun("print(1)", ("${A}b",), complete=False)),
    ],
)
def test_arguments_and_input_are_part_of_the_run(text: str, run: PythonRun) -> None:
    assert read(text).runs == [run]


def test_output_belongs_to_a_program_where_nothing_else_prints() -> None:
    assert read("cd x && cat > a.py <<E\n1\nE\npython a.py").others == 0
    assert read("python -c 1; ls").others == 1
    assert read("python -c 1 | head").others == 1


def test_a_shell_inside_a_shell_inside_a_shell_has_an_end() -> None:
    text = "python -c 1"
    for _ in range(4):
        text = f"bash -c {shlex.quote(text)}"
    assert codes(text) == []


def test_floods_are_bounded() -> None:
    reading = read("python -c 1;" * 1_000)
    assert (len(reading.runs), reading.unseen) == (MOST_RUNS, 1_000 - MOST_RUNS)
    assert commands_in("a" * (LONGEST + 1)) == []
    for text in ("${", "`", '"', "'", "\\", "$(", "$'", "<<A\n", "$'\\'", "((", "<<<"):
        read("python " + text * (100_000 // len(text)))


_SHELL_WORDS = st.lists(
    st.sampled_from(
        ["python3", " ", "-c", "'", '"', "$", "(", ")", "`", "\\", "\n", "<<", "EOF", "-", "|", "&&", ">", ">>",
         "a.py", "print(1)", "cat", "echo", "tee", "#", "{", "}", "2>&1", "$'", "<<<", "cd", "bash", "uv run", "\t",
         "é", "\x00"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@given(st.one_of(_SHELL_WORDS, st.text(max_size=200)))
def test_whatever_a_command_line_holds_it_is_read_without_an_error(text: str) -> None:
    reading = read(text)
    assert reading.unseen >= 0
    assert all(isinstance(run.code, str) for run in reading.runs)


@given(st.text(alphabet=st.characters(blacklist_characters="\r", blacklist_categories=["Cs"]), max_size=80))
def test_a_quoted_word_comes_back_as_it_was(code: str) -> None:
    assert codes(f"python3 -c {shlex.quote(code)}") == [code]


@given(st.integers() | st.text(alphabet="abc'\"\\$`\n é", max_size=20))
def test_a_quoted_here_document_comes_back_as_it_was(value: object) -> None:
    code = f"x = {value!r}\nprint(x)\n"
    (found,) = codes(f"python3 - <<'ENDE'\n{code}ENDE\n")
    assert ast.dump(ast.parse(found)) == ast.dump(ast.parse(code))
