"""Runs that no syntax makes a function of: the caller gets a template."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from alita_mcp.library.library import Library
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.requests.outcomes import Created, NeedsCode, Rejected
from alita_mcp.synthesis.scripts.run_scripts import as_tests, printed_by, script_of
from tests.synthesis.authors import Script
from tests.synthesis.bench import OpenBench
from tests.synthesis.kept_runs import KeptRuns, RunBench

DIGITS = "total = 0\nfor digit in str(abs(number)):\n    total += int(digit)\n{total}\n"
SEEN = ((123, 6), (0, 0), (-45, 9))


def sets_of_digits(runs: KeptRuns) -> list[str]:
    """Runs whose result is no JSON."""
    return [
        runs.add(DIGITS, {"number": number}, result=f"{{{total}}}", result_kind="repr")
        for number, total in SEEN
    ]


def a_run(code: str, arguments: dict[str, Any] | None = None, **seen: Any) -> RecordedRun:
    runs = KeptRuns()
    return runs.kept[runs.add(code, arguments, **seen)]


def printed(code: str, given: dict[str, Any]) -> str:
    lines: list[str] = []
    exec(code, {"print": lambda *values: lines.append(" ".join(map(str, values))), **given})
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("code", "arguments", "seen", "says"),
    [
        ("a + b\n", {"a": 1, "b": 2}, {"result": 3}, "3"),
        ("print(a)\na * 2\n", {"a": 2}, {"result": 4, "stdout": "2\n"}, "2\n4"),
        ("result = [a]\n", {"a": 1}, {"result": [1]}, "[1]"),
        ("result = a\nprint('x')\n", {"a": 1}, {"result": 1, "stdout": "x\n"}, "x\n1"),
        ("print(a)\n", {"a": {"b": None}}, {"stdout": "{'b': None}\n"}, "{'b': None}"),
        ("from __future__ import annotations\na\n", {"a": "x"}, {"result": "x"}, "x"),
    ],
)
def test_a_script_prints_what_the_run_gave(
    code: str, arguments: dict[str, Any], seen: dict[str, Any], says: str
) -> None:
    run = a_run(code, arguments, **seen)
    assert printed(script_of(run), {}) == printed_by(run) == says


@given(st.dictionaries(st.sampled_from(["a", "b", "_c"]), st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)))  # fmt: skip
@hypothesis_settings(max_examples=100, deadline=None)
def test_arguments_of_every_kind_stand_in_the_script(arguments: dict[str, Any]) -> None:
    run = a_run("[a, b, _c]\n", {"a": 0, "b": 0, "_c": 0, **arguments}, result=[])
    assert printed(script_of(run), {}) == str([run.arguments[name] for name in ("a", "b", "_c")])


def test_tests_fit_the_first_function_and_are_not_too_many() -> None:
    runs = [
        a_run("print(input() + mark)\n", {"mark": "!", "input": [str(each)]}, stdout=f"{each}!\n")
        for each in range(12)
    ]
    tests = as_tests([*runs, a_run("print(1)\n", stdout="1\n")], "loud")
    assert tests[1] == {"arguments": {"input_1": "1", "mark": "!"}, "expected": "1!"}
    assert len(tests) == 10
    assert as_tests([a_run("print(input())\n", {"input": "ab\ncd"}, stdout="ab\n")], "loud")[0][
        "arguments"
    ] == {"input_1": "ab"}
    assert as_tests([a_run("print(a)\n", {"a": "x" * 5_000}, stdout="x" * 5_000)], "loud") == []


@pytest.mark.slow
async def test_without_a_model_the_runs_come_back_as_a_template(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    bench = RunBench(library, sandbox, settings)
    asked = await bench.make(*sets_of_digits(bench.runs), name="digit_sum", description="Adds up digits.")
    assert isinstance(asked, NeedsCode), asked
    assert "no JSON" in asked.why
    compile(asked.template["code"], "template", "exec")
    assert asked.template["tests"] == [
        {"arguments": {"number": number}, "expected": f"{{{total}}}"} for number, total in SEEN[:2]
    ]
    assert bench.runs.made == {}
    outcome = await bench.make(**{**asked.template, "from_run": []})
    assert isinstance(outcome, Created), outcome


@pytest.mark.slow
async def test_a_callers_own_tests_stand_in_the_template(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    bench = RunBench(library, sandbox, settings)
    tests = [{"arguments": {"number": 5}, "expected": 5}]
    asked = await bench.make(*sets_of_digits(bench.runs), name="digit_sum", tests=tests)
    assert isinstance(asked, NeedsCode), asked
    assert asked.template["tests"] == tests


@pytest.mark.slow
async def test_a_run_that_gave_nothing_is_no_tool_for_anybody(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    bench = RunBench(library, sandbox, settings)
    refused = await bench.make(bench.runs.add("x = 1\n"), name="nothing_at_all")
    assert isinstance(refused, Rejected), refused
    assert refused.reason.startswith("No tool can be made of it: ")


@pytest.mark.slow
async def test_a_caller_writes_the_function_also_where_a_model_is(bench: OpenBench) -> None:
    script = Script()
    async with bench(script) as made:
        asked = await made.make(from_run=sets_of_digits(made.runs), description="")
    assert isinstance(asked, NeedsCode), asked
    assert "no JSON" in asked.why
    assert script.asked == []


@pytest.mark.slow
async def test_no_model_is_asked_where_the_syntax_says_it_all(bench: OpenBench) -> None:
    script = Script()
    async with bench(script) as made:
        ids = made.runs.discounts(([10, 20], 10), ([5, 7, 9], 50), ([100], 3))
        outcome = await made.make(from_run=ids, name="discounted_total")
    assert isinstance(outcome, Created), outcome
    assert script.asked == []
    assert json.loads(outcome.model_dump_json())["trust"] == "provisional"
