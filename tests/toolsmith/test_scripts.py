"""Plain scripts are told from tools."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.toolsmith.from_runs import is_script
from alita_mcp.toolsmith.requests.outcomes import NeedsCode
from alita_mcp.toolsmith.requests.request import SynthesisRequest, read_request
from tests.toolsmith.authors import PLAIN, Script
from tests.toolsmith.bench import OpenBench

pytestmark = pytest.mark.slow

ASKS = """number = int(input("Which number? "))
total = 0
for digit in str(abs(number)):
    total += int(digit)
print("The digit sum is", total)
"""
CONSTANT = "NUMBER = 123\nprint(sum(int(digit) for digit in str(abs(NUMBER))))\n"


def request_of(code: str, **more: Any) -> SynthesisRequest:
    request = read_request({"code": code, **more})
    assert isinstance(request, SynthesisRequest)
    return request


@pytest.mark.parametrize(
    ("code", "script"),
    [
        (ASKS, True),
        (CONSTANT, True),
        (f"{PLAIN}\n\nprint(digit_sum(5))\n", False),
        ("def f(:", False),
        ("", False),
    ],
)
def test_a_script_is_code_without_a_function_that_a_tool_could_be(code: str, *, script: bool) -> None:
    assert is_script(request_of(code)) is script


async def test_a_script_is_asked_for_as_a_function_and_no_model_sees_it(bench: OpenBench) -> None:
    script = Script()
    async with bench(script) as made:
        outcome = await made.make(code=CONSTANT, name="digit_sum", description="")
    assert isinstance(outcome, NeedsCode), outcome
    assert "def digit_sum(" in outcome.template["code"]
    assert outcome.rules[0].startswith("The code is a script")
    assert script.asked == []
