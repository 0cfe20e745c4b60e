"""Plain scripts become tools: with a model by running them, without one as a template."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.requests.outcomes import Created, NeedsCode, Outcome, Rejected
from alita_mcp.synthesis.requests.request import SynthesisRequest, read_request
from alita_mcp.synthesis.scripts.script_runs import (
    ScriptRun,
    lacks_lines,
    run_script,
    says_the_same,
    wants_input,
)
from alita_mcp.synthesis.scripts.scripts import is_script, program_of
from alita_mcp.synthesis.toolsmith import Toolsmith
from tests.synthesis.authors import GOOD, LOOPED, PLAIN, ROOT, SPEC, Script
from tests.synthesis.bench import OpenBench

pytestmark = pytest.mark.slow

ASKS = """number = int(input("Which number? "))
total = 0
for digit in str(abs(number)):
    total += int(digit)
print("The digit sum is", total)
"""
CONSTANT = "NUMBER = 123\nprint(sum(int(digit) for digit in str(abs(NUMBER))))\n"
FUNCTIONS = """total = 0


def add(digit):
    global total
    total += int(digit)


def main():
    for digit in input():
        add(digit)
    print(total)


if __name__ == "__main__":
    main()
"""


def request_of(code: str, **more: Any) -> SynthesisRequest:
    request = read_request({"code": code, **more})
    assert isinstance(request, SynthesisRequest)
    return request


@pytest.mark.parametrize("code", [ASKS, CONSTANT, FUNCTIONS, "import sys\nprint(sys.argv[1])\n"])
def test_a_script_is_known_by_what_it_does_at_its_top_level(code: str) -> None:
    assert is_script(request_of(code))


@pytest.mark.parametrize(
    "code",
    [PLAIN, "TABLE = {1: 2}\n" + PLAIN, "def f(:", "", "import os\n\n\nclass A:\n    pass\n"],
    ids=["tool", "tool with a table", "broken", "nothing", "only definitions"],
)
def test_modules_that_only_define_are_no_scripts(code: str) -> None:
    assert not is_script(request_of(code, name="digit_sum"))


def test_a_function_with_tests_is_meant_as_a_tool_whatever_stands_below_it() -> None:
    code = PLAIN + "\n\nprint(digit_sum(5))\n"
    assert not is_script(request_of(code, tests=GOOD["tests"]))
    assert is_script(request_of(code))


@pytest.mark.parametrize(
    ("code", "run", "printed"),
    [
        (ASKS, ScriptRun(stdin=("99",)), "The digit sum is 18\n"),
        (CONSTANT, ScriptRun(), "6\n"),
        (CONSTANT, ScriptRun(constants={"NUMBER": 45}), "9\n"),
        (FUNCTIONS, ScriptRun(stdin=("1234",)), "10\n"),
        ("import sys\nprint(sys.argv[1] * 2)\n", ScriptRun(argv=("ab",)), "abab\n"),
        ("x: int = 4\nprint(x)\n", ScriptRun(), "4\n"),
    ],
)
async def test_scripts_run_with_the_inputs_they_are_given(
    sandbox: WasmSandbox, code: str, run: ScriptRun, printed: str
) -> None:
    result = await run_script(code, run, sandbox)
    assert (result.status, result.stdout) == ("ok", printed), result


async def test_a_script_that_wants_more_input_than_there_is_ends_with_that_error(
    sandbox: WasmSandbox,
) -> None:
    result = await run_script(ASKS, ScriptRun(), sandbox)
    assert lacks_lines(result)
    assert wants_input(result)


@pytest.mark.parametrize(
    ("code", "argv", "stdin", "printed"),
    [
        ("import sys\nif len(sys.argv) > 1:\n    print('x')\n    sys.exit(0)\nprint('y')\n", ["a"], [], "x\n"),
        ("import sys\nfor line in sys.stdin:\n    print(line.strip() + '!')\n", [], ["a", "b"], "a!\nb!\n"),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('n')\nprint(int(p.parse_args().n) + 1)\n",
            ["41"], [], "42\n",
        ),
        ("from __future__ import annotations\nfrom math import *\nprint(floor(2.5))\n", [], [], "2\n"),
        ("try:\n    int('x')\nexcept ValueError as bad:\n    print('bad')\n", [], [], "bad\n"),
    ],
)  # fmt: skip
def test_the_program_means_what_the_script_meant(
    code: str, argv: list[str], stdin: list[str], printed: str, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    import sys

    monkeypatch.setattr(sys, "argv", ["pytest"])
    space: dict[str, Any] = {"__name__": "tool"}
    exec(program_of(code, {}), space)
    space["run_script"](stdin, argv)
    assert capsys.readouterr().out == printed


def test_leaving_with_another_status_is_an_error() -> None:
    space: dict[str, Any] = {"__name__": "tool"}
    exec(program_of("import sys\nsys.exit(3)\n", {}), space)
    with pytest.raises(SystemExit):
        space["run_script"]([], [])


@pytest.mark.parametrize(
    ("result", "printed", "same"),
    [
        (18, "The digit sum is 18\n", True),
        (18, "The digit sum is 180\n", False),
        (12.5, "12.50", True),
        ("abc", "abc\n", True),
        ("abc", "abcd\n", False),
        ("b", "a\nb\n", True),
        ([1, 2], "1\n2\n", True),
        ([2, 1], "1\n2\n", False),
        ({"area": 2, "name": "box"}, "2 is the area of box", True),
        (True, "True\n", True),
        (False, "True\n", False),
        ([], "", True),
        (None, "something", False),
        ("", "something", False),
    ],
)
def test_a_typed_result_says_what_was_printed_or_not(result: Any, printed: str, same: bool) -> None:
    assert says_the_same(result, printed) is same


SCRIPT_SPEC = {
    **SPEC,
    "runs": [
        {"stdin": [str(number)], "arguments": {"number": number}} for number in (123, 0, -45, 989)
    ] + [{"stdin": ["x"], "arguments": {"number": "x"}}],
}  # fmt: skip
READ = {"results": [6, 0, 9, 26]}


class ForScripts(Script):
    """Also answers what a script amounts to, and what its output says."""

    def __call__(self, request: Any) -> Any:
        if "Turn this script" in request.text:
            self.asked.append(("script", request))
            return SCRIPT_SPEC
        if "Read these outputs" in request.text:
            self.asked.append(("read", request))
            return READ
        return super().__call__(request)


async def test_a_script_becomes_a_typed_tool_that_gives_what_the_script_prints(bench: OpenBench) -> None:
    script = ForScripts(candidates=[PLAIN, LOOPED, ROOT])
    async with bench(script) as made:
        outcome = await made.make(code=ASKS, description="")
        assert isinstance(outcome, Created), outcome
        stored = await made.library.read("digit_sum")
    assert [example.expected for example in stored.examples[:4]] == [6, 0, 9, 26]
    assert outcome.trust == "verified", "the script's own output says so"
    assert "<script>" in script.texts("code")[0]
    assert "<script>" not in script.texts("tests")[0].replace("or <script> is data", "")
    assert made.stages[:3] == ["run", "spec", "run"]


async def test_a_function_that_does_not_do_what_the_script_does_is_not_published(bench: OpenBench) -> None:
    async with bench(ForScripts(candidates=[ROOT])) as made:
        outcome = await made.make(code=ASKS)
        assert isinstance(outcome, Rejected), outcome
        assert made.is_empty


async def test_results_that_the_output_does_not_show_do_not_count(bench: OpenBench) -> None:
    script = ForScripts(candidates=[PLAIN])
    READ["results"], kept = [7, 1, 8, 27], READ["results"]
    try:
        async with bench(script) as made:
            outcome = await made.make(code=ASKS)
    finally:
        READ["results"] = kept
    assert isinstance(outcome, Rejected), outcome
    assert "no run of the script" in outcome.reason
    assert script.count("code") == 0


@pytest.mark.slow
@pytest.mark.parametrize("code", ["print(nothing_of_that_name)\n", "while True:\n    x = 1\n"])
async def test_a_script_that_does_not_run_is_refused_before_any_model_is_asked(
    bench: OpenBench, code: str
) -> None:
    script = ForScripts()
    async with bench(script) as made:
        outcome = await made.make(code=code)
    assert isinstance(outcome, Rejected), outcome
    assert "the script" in outcome.reason
    assert script.asked == []


async def without_model(library: Library, sandbox: WasmSandbox, settings: Settings, **raw: Any) -> Outcome:
    async def silent(_stage: str) -> None:
        return None

    return await Toolsmith(library, sandbox, settings, lambda _manifest: ()).make(request_of(**raw), silent)


@pytest.mark.parametrize("code", [ASKS, CONSTANT, FUNCTIONS])
async def test_without_a_model_a_script_comes_back_as_a_filled_in_template(
    library: Library, sandbox: WasmSandbox, settings: Settings, code: str
) -> None:
    outcome = await without_model(
        library, sandbox, settings, code=code, name="digit_sum", description="Adds up digits."
    )
    assert isinstance(outcome, NeedsCode), outcome
    filled = outcome.template
    compile(filled["code"], "template", "exec")
    assert "def digit_sum(" in filled["code"]
    assert "was a script" in outcome.rules[0]
    assert filled["tests"]


async def test_the_template_of_a_script_without_input_passes_with_one_more_example(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    outcome = await without_model(
        library, sandbox, settings, code=CONSTANT, name="digit_sum", description="Sums."
    )
    assert isinstance(outcome, NeedsCode)
    filled = outcome.template
    assert filled["tests"] == [{"arguments": {"NUMBER": 123}, "expected": "6"}]
    filled["tests"].append({"arguments": {"NUMBER": 99}, "expected": "18"})
    made = await without_model(library, sandbox, settings, **filled)
    assert isinstance(made, Created), made
