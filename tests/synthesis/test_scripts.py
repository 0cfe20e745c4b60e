"""Plain scripts come back as templates of typed functions."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.requests.outcomes import Created, NeedsCode, Outcome
from alita_mcp.synthesis.requests.request import SynthesisRequest, read_request
from alita_mcp.synthesis.scripts.scripts import is_script, output_of
from alita_mcp.synthesis.toolsmith import Toolsmith
from tests.synthesis.authors import GOOD, PLAIN, Script
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
    ("code", "printed"),
    [
        (CONSTANT, "6\n"),
        ("x: int = 4\nprint(x)\n", "4\n"),
        (
            "import sys\nif len(sys.argv) > 1:\n    print('x')\n    sys.exit(3)\nprint('y')\nsys.exit(0)\n",
            "y\n",
        ),
        ("import sys\nfor line in sys.stdin:\n    print(line)\nprint('end')\n", "end\n"),
        ("total = 0\ndef add():\n    global total\n    total += 1\nadd()\nprint(total)\n", "1\n"),
        ("from __future__ import annotations\nfrom math import *\nprint(floor(2.5))\n", "2\n"),
        ("if __name__ == '__main__':\n    print(__name__)\n", "__main__\n"),
        (ASKS, None),
        (FUNCTIONS, None),
        ("import sys\nprint(sys.argv[1])\n", None),
        ("import sys\nprint(1)\nsys.exit(3)\n", None),
        ("print(nothing_of_that_name)\n", None),
    ],
)
async def test_what_a_script_prints_without_input_is_known_where_it_needs_none(
    sandbox: WasmSandbox, code: str, printed: str | None
) -> None:
    assert await output_of(code, sandbox) == printed


async def test_no_model_is_asked_for_a_script(bench: OpenBench) -> None:
    script = Script()
    async with bench(script) as made:
        outcome = await made.make(code=CONSTANT, name="digit_sum", description="")
    assert isinstance(outcome, NeedsCode), outcome
    assert outcome.template["tests"] == [{"arguments": {"NUMBER": 123}, "expected": "6"}]
    assert script.asked == []


async def without_model(library: Library, sandbox: WasmSandbox, settings: Settings, **raw: Any) -> Outcome:
    async def silent(_stage: str) -> None:
        return None

    return await Toolsmith(library, sandbox, settings, lambda _manifest: ()).make(request_of(**raw), silent)


@pytest.mark.parametrize("code", [ASKS, CONSTANT, FUNCTIONS])
async def test_a_script_comes_back_as_a_filled_in_template(
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
