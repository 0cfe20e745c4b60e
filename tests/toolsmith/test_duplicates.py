from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith

pytestmark = pytest.mark.slow

WAIT_S = 300

FAHRENHEIT = '''
def celsius_to_fahrenheit(celsius: float) -> float:
    """Converts a temperature from degrees Celsius to degrees Fahrenheit.

    Args:
        celsius: The temperature.
    """
    return celsius * 9 / 5 + 32
'''
FAHRENHEIT_TESTS = [
    {"arguments": {"celsius": 0.0}, "expected": 32.0},
    {"arguments": {"celsius": 100.0}, "expected": 212.0},
    {"arguments": {"celsius": -40.0}, "expected": -40.0},
]
CELSIUS = '''
def fahrenheit_to_celsius(fahrenheit: float) -> float:
    """Converts a temperature from degrees Fahrenheit to degrees Celsius.

    Args:
        fahrenheit: The temperature.
    """
    return (fahrenheit - 32) * 5 / 9
'''
CELSIUS_TESTS = [
    {"arguments": {"fahrenheit": 32.0}, "expected": 0.0},
    {"arguments": {"fahrenheit": 212.0}, "expected": 100.0},
    {"arguments": {"fahrenheit": -40.0}, "expected": -40.0},
]
WARMTH = '''
def warmth_in_us_units(value: float) -> float:
    """Converts a temperature from degrees Celsius to degrees Fahrenheit.

    Args:
        value: The temperature.
    """
    return 32 + 1.8 * value
'''
WARMTH_TESTS = [
    {"arguments": {"value": 10.0}, "expected": 50.0},
    {"arguments": {"value": 20.0}, "expected": 68.0},
    {"arguments": {"value": 37.0}, "expected": 98.6},
]


def _named_value(test: dict[str, Any]) -> dict[str, Any]:
    return {**test, "arguments": {"value": test["arguments"]["celsius"]}}


class Smithy:
    def __init__(self, library: Library, sandbox: Any, settings: Settings) -> None:
        self.library, self.stages = library, list[str]()
        self.smith = Toolsmith(library, sandbox, settings, lambda _manifest: ())

    async def make(
        self, code: str, tests: list[dict[str, Any]], description: str = "", **more: Any
    ) -> Outcome:
        name = code.split("def ")[1].split("(", maxsplit=1)[0]
        said = description or code.split('"""')[1].splitlines()[0]
        request = read_request({"name": name, "code": code, "tests": tests, "description": said, **more})
        assert not isinstance(request, Rejected), request

        async def hear(stage: str) -> None:
            self.stages.append(stage)

        with anyio.fail_after(WAIT_S):
            return await self.smith.make(request, hear)


@pytest.fixture
async def smithy(library: Library, sandbox: WasmSandbox, settings: Settings) -> AsyncIterator[Smithy]:
    yield Smithy(library, sandbox, settings)


async def test_other_words_and_other_names_for_the_same_behaviour_exist(smithy: Smithy) -> None:
    assert isinstance(await smithy.make(FAHRENHEIT, FAHRENHEIT_TESTS), Created)
    outcome = await smithy.make(WARMTH, WARMTH_TESTS)
    assert isinstance(outcome, Exists), outcome
    assert outcome.tool == "celsius_to_fahrenheit"
    assert outcome.why.endswith("inputs; its celsius is your value")
    assert int(outcome.why.split()[3]) > 20, "generated inputs count, not the six of the examples alone"


async def test_a_provisional_tool_keeps_no_better_one_out(smithy: Smithy) -> None:
    thin = await smithy.make(FAHRENHEIT, FAHRENHEIT_TESTS[:2])
    better = await smithy.make(WARMTH, [_named_value(test) for test in FAHRENHEIT_TESTS])
    assert isinstance(thin, Created), thin
    assert isinstance(better, Created), better
    assert (thin.trust, better.trust) == ("provisional", "verified")


async def test_the_opposite_conversion_is_published(smithy: Smithy) -> None:
    assert isinstance(await smithy.make(FAHRENHEIT, FAHRENHEIT_TESTS), Created)
    outcome = await smithy.make(CELSIUS, CELSIUS_TESTS)
    assert isinstance(outcome, Created), outcome


async def test_examples_that_an_older_tool_happens_to_satisfy_do_not_swallow_a_new_one(
    smithy: Smithy,
) -> None:
    head = '(number: int) -> int:\n    """Gives a number made of another number."""\n    return number'
    double, square = f"def twice{head} * 2\n", f"def times_itself{head} * number\n"
    both = [{"arguments": {"number": 0}, "expected": 0}, {"arguments": {"number": 2}, "expected": 4}]
    assert isinstance(await smithy.make(double, both), Created)
    outcome = await smithy.make(square, both)
    assert isinstance(outcome, Created), outcome


async def test_a_tool_that_refuses_what_another_answers_is_another_one(smithy: Smithy) -> None:
    head = (
        '(text: str) -> int:\n    """Counts the words of a text.\n\n'
        '    Raises:\n        ValueError: it is empty.\n    """\n'
    )
    counted = "    return len(text.split())\n"
    lenient = f"def word_count{head}{counted}"
    strict = f"def count_of_words{head}    if not text:\n        raise ValueError('empty')\n{counted}"
    tests: list[dict[str, Any]] = [
        {"arguments": {"text": "a b"}, "expected": 2},
        {"arguments": {"text": "a b c d"}, "expected": 4},
    ]
    assert isinstance(
        await smithy.make(lenient, [*tests, {"arguments": {"text": ""}, "expected": 0}]), Created
    )
    outcome = await smithy.make(strict, [*tests, {"arguments": {"text": ""}, "raises": "ValueError"}])
    assert isinstance(outcome, Created), outcome


YEARS_AGO = '''
import datetime

def years_ago(years: int) -> str:
    """Gives the year so many years before this one.

    Args:
        years: How many.
    """
    return str(datetime.datetime.now().year - years)
'''


@pytest.mark.usefixtures("embedded")
async def test_equal_results_of_tools_that_vary_do_not_make_them_one(smithy: Smithy) -> None:
    tests = [
        {"arguments": {"years": years}, "check": f"result == str(now.year - {years})"} for years in (0, 7, -1)
    ]
    assert isinstance(await smithy.make(YEARS_AGO, tests, varies=["clock"]), Created)
    twin = YEARS_AGO.replace("years_ago", "earlier_year")
    outcome = await smithy.make(twin, tests, varies=["clock"])
    assert isinstance(outcome, Created), outcome
    assert smithy.library.entry("earlier_year").manifest.varies == ("clock",)
