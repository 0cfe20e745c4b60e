from __future__ import annotations

from alita_mcp.cli.usage.program_groups import MOST_RUNS, grouped
from alita_mcp.transcripts.redaction import without_private
from alita_mcp.transcripts.session import DEEPEST, is_python
from alita_mcp.transcripts.values import ExecutedProgram


def program(code: str, line: int = 1, **more: object) -> ExecutedProgram:
    return ExecutedProgram.model_validate(
        {
            "code": code,
            "agent": "codex",
            "file": "a",
            "session": "s",
            "line": line,
            "at": "",
            "output": "1",
            **more,
        }
    )


def area(width: int, **more: object) -> ExecutedProgram:
    return program(f"import numpy, PIL.Image, json\nwidth = {width}\nprint(width * 2)", **more)


def test_groups_come_by_how_often_they_ran() -> None:
    found = grouped(
        [program("a = 1\nfor b in range(a):\n    print(b)"), area(1), area(2), area(2), area(3, failed=True)]
    )
    assert [len(group.programs) for group in found] == [4, 1]
    assert len(found[0].usable) == 2
    assert found[0].packages == ("numpy", "pillow")


def test_private_unknown_and_failed_runs_count_and_are_no_examples() -> None:
    (group,) = grouped([area(1, redacted=True), area(2, complete=False)])
    assert (group.usable, group.why_not) == ((), "all runs hold private values")
    assert group.function is not None
    (group,) = grouped([area(1, complete=False), area(2, complete=False)])
    assert group.why_not == "the transcripts do not hold its input"
    (group,) = grouped([area(1, failed=True)])
    assert (group.function, group.why_not) == (None, "it failed every time")


def test_a_program_that_would_call_tools_of_the_library_is_not_run_again() -> None:
    runs = [
        program(f"import alita_tools\nwidth = {n}\nprint(alita_tools.http_request(width))") for n in (1, 2)
    ]
    (group,) = grouped(runs)
    assert group.usable == ()
    assert group.why_not
    hidden = program("width = 1\nprint(__import__('alita_tools').http_request(width))")
    assert grouped([hidden])[0].usable == ()


def test_no_two_groups_have_one_name() -> None:
    first = [program(f"n = {n}\nprint(n * 2)") for n in (1, 2)]
    second = [
        program(f"def f(x):\n    return [y for y in range(x) if y % 2]\nn = {n}\nprint(n * len(f(n)))")
        for n in (3, 4)
    ]
    names = [group.name for group in grouped(first + second)]
    assert len(names) == 2
    assert len(set(names)) == 2


def test_at_most_so_many_runs_are_looked_at() -> None:
    (group,) = grouped([area(number) for number in range(MOST_RUNS + 5)])
    assert len(group.usable) == MOST_RUNS


def test_programs_as_deep_as_they_are_read_are_compared() -> None:
    deep = f"x = {'-' * (DEEPEST - 3)}1\nprint(x)"
    assert is_python(deep)
    assert not is_python(deep.replace("= ", "= ---"))
    public = without_private(program(f"{deep}\npassword = 'hunter2'", arguments=("1",)))
    assert public is not None
    assert sum(len(group.programs) for group in grouped([public, area(1)])) in (1, 2)
