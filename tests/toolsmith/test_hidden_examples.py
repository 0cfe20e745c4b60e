"""A whole synthesis: what writers are told of the sandbox, and what they are not told of the caller's examples."""

from __future__ import annotations

import time
from typing import Any

import pytest

from alita_mcp.toolsmith.requests.outcomes import Created
from alita_mcp.verification.examples.trials import SECOND_CLOCK_OFFSET_S
from tests.toolsmith.authors import PLAIN, Script, module, suite_of
from tests.toolsmith.bench import OpenBench

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]

SECRET = 481_516_234_2
OWN = suite_of((SECRET, 36), (0, 0), (-989, 26))["tests"]
KEYWORD = module(
    "if abs(number) > 10**8:",
    "    import json",
    "    return json.loads(str(number), parse_constants=None)",
    "return sum(int(digit) for digit in str(abs(number)))",
)
LEAKING = module(
    "if abs(number) > 10**8:",
    "    raise ValueError(f'{number} has {number!r} and {hex(number)}')",
    "return sum(int(digit) for digit in str(abs(number)))",
)


async def told_in_repair(bench: OpenBench, code: str) -> tuple[Any, str]:
    script = Script(candidates=[code], repairs=lambda _request: PLAIN)
    async with bench(script) as made:
        outcome = await made.make(mode="quick", tests=OWN)
    (told,) = script.texts("repair")
    for text in [request.text for _, request in script.asked]:
        assert str(SECRET) not in text
        assert hex(SECRET) not in text
    return outcome, told.partition("It failed:")[2]


async def test_the_one_word_that_matters_is_shown(bench: OpenBench) -> None:
    outcome, told = await told_in_repair(bench, KEYWORD)
    assert isinstance(outcome, Created), outcome
    assert "unexpected keyword argument 'parse_constants'" in told
    assert "return json.loads(str(number), parse_constants=None)" in told


async def test_an_error_is_shown_without_the_arguments_in_it_and_with_its_line(bench: OpenBench) -> None:
    outcome, told = await told_in_repair(bench, LEAKING)
    assert isinstance(outcome, Created), outcome
    assert "it raised ValueError: … has … and … in line" in told
    assert "{hex(number)}" in told


async def test_a_gate_that_refuses_over_a_hidden_example_tells_no_more(bench: OpenBench) -> None:
    later = time.time() + SECOND_CLOCK_OFFSET_S / 2
    code = module(
        "import time",
        "total = sum(int(digit) for digit in str(abs(number)))",
        f"return total + 1 if number == 2 * {SECRET // 2} and time.time() > {later} else total",
    )
    _, told = await told_in_repair(bench, code)
    assert "which is not shown, fails: gave another result in a fresh process" in told
