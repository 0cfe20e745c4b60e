"""Plain scripts are told from tools."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.toolsmith.from_runs import is_script
from alita_mcp.toolsmith.requests.outcomes import NeedsCode
from alita_mcp.toolsmith.requests.request import SynthesisRequest, read_request
from tests.toolsmith.authors import GOOD, PLAIN, Script
from tests.toolsmith.bench import OpenBench

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


async def test_a_script_is_asked_for_as_a_function_and_no_model_sees_it(bench: OpenBench) -> None:
    script = Script()
    async with bench(script) as made:
        outcome = await made.make(code=CONSTANT, name="digit_sum", description="")
    assert isinstance(outcome, NeedsCode), outcome
    assert "def digit_sum(" in outcome.template["code"]
    assert outcome.rules[0].startswith("The code is a script")
    assert script.asked == []
