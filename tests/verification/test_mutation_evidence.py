"""What counts as noticed: examples that fix no result prove nothing; what nothing can show is not asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Draft, Example, VerificationReport
from alita_mcp.verification.verify import verify
from tests.verification.drafts import Stages, draft

pytestmark = pytest.mark.bubblewrap


@pytest.fixture
async def sandbox(bubblewrap: None, settings: Settings) -> AsyncIterator[Sandbox]:
    opened = BubblewrapSandbox(settings)
    yield opened
    await opened.aclose()


async def report_of(candidate: Draft, sandbox: Sandbox) -> VerificationReport:
    with anyio.fail_after(120):
        return (await verify(candidate, sandbox, Stages())).report


def tool(code: str, *examples: Example, name: str) -> Draft:
    return draft(name=name, description="Works on what it is given.", code=code, examples=examples)


def case(expected: Any, **arguments: Any) -> Example:
    return Example(arguments=arguments, expected=expected)


PRICE = """\
def _price(weight: int, express: bool) -> int:
    base = 5 + weight * 3
    if weight > 10:
        base = base - weight // 2
    if express:
        base = base * 2 + 7
    return base

"""
TABLE = {(w, e): (5 + w * 3 - (w // 2 if w > 10 else 0)) * (2 if e else 1) + (7 if e else 0)
         for w in (0, 1, 2, 3, 9, 10, 11, 12, 20, 33) for e in (False, True)}  # fmt: skip
HEAD = 'def price(weight: int, express: bool = False) -> int:\n    """What a parcel costs."""\n'
ONE = "_price(weight, express)"
WEAK = (
    Example(arguments={"weight": 1}, check="result > 0"),
    Example(arguments={"weight": 30, "express": True}, check="result > 20"),
    Example(arguments={"weight": 0}, check="0 < result < 20"),
)


async def test_examples_that_fix_no_result_are_no_evidence(sandbox: Sandbox) -> None:
    report = await report_of(tool(PRICE + HEAD + f"    return {ONE}\n", *WEAK, name="price"), sandbox)
    assert report.failure is None or report.failure.stage == "mutation", report.failure
    assert report.trust != "verified"
    assert report.mutation is not None
    assert report.mutation.killed / report.mutation.total < 0.6, report.mutation


async def test_a_check_that_an_honest_tool_makes_of_itself_costs_it_nothing(sandbox: Sandbox) -> None:
    strong = [case(price, weight=w, express=e) for (w, e), price in TABLE.items()]
    code = (
        PRICE + HEAD + f"    result = {ONE}\n    assert isinstance(result, int), 'never'\n    return result\n"
    )
    report = await report_of(tool(code, *strong, name="price"), sandbox)
    assert report.trust == "verified", report.checks


DIJKSTRA = '''\
import heapq

def shortest(graph: dict[str, dict[str, float]], start: str, goal: str) -> float:
    """The cost of the cheapest way.

    Raises:
        ValueError: There is no way.
    """
    best = {start: 0.0}
    queue = [(0.0, start)]
    while queue:
        cost, place = heapq.heappop(queue)
        if place == goal:
            return cost
        for other, more in graph.get(place, {}).items():
            if cost + more < best.get(other, 1e9):
                best[other] = cost + more
                heapq.heappush(queue, (cost + more, other))
    raise ValueError("no way")
'''
GRAPH = {"a": {"b": 1.0, "c": 5.0}, "b": {"c": 2.0, "d": 7.0}, "c": {"d": 1.5}, "d": {}}
LONGER = {**GRAPH, "c": {"d": 4.0}}
GUARDED = '''\
import json

def count_keys(text: str) -> int:
    """How many keys an object in JSON has.

    Raises:
        ValueError: The text is no JSON object.
    """
    if not text:
        raise ValueError("empty")
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("no object")
    return len(found)
'''
HONEST = {
    "a guard that repeats a library's own error": tool(
        GUARDED,
        case(2, text='{"a": 1, "b": 2}'), case(0, text="{}"), case(1, text='{"x": []}'),
        Example(arguments={"text": ""}, raises="ValueError"),
        Example(arguments={"text": "{"}, raises="JSONDecodeError"),
        Example(arguments={"text": "[1]"}, raises="ValueError"),
        name="count_keys",
    ),
    "a bound that is never reached": tool(
        'def digits(number: int) -> list[int]:\n    """The digits of a number, sign aside."""\n    left = abs(number)\n'
        "    found = []\n    rounds = 0\n    while left and rounds < 400:\n        rounds = rounds + 1\n"
        "        found.append(left % 10)\n        left = left // 10\n    return found[::-1] or [0]\n",
        case([1, 2], number=12), case([0], number=0), case([7], number=-7), case([1, 0, 5, 9], number=1059),
        name="digits",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HONEST)
async def test_mistakes_that_nothing_can_show_do_not_count(what: str, sandbox: Sandbox) -> None:
    report = await report_of(HONEST[what], sandbox)
    assert report.trust == "verified", [check for check in report.checks if not check.passed]
    assert report.mutation is not None
    assert report.mutation.survivors == ()
    assert report.mutation.inputs > 60


async def test_no_impossible_example_is_asked_for(sandbox: Sandbox) -> None:
    examples = (
        case(4.5, graph=GRAPH, start="a", goal="d"), case(7.0, graph=LONGER, start="a", goal="d"),
        case(0.0, graph=GRAPH, start="a", goal="a"),
        case(3.0, graph=GRAPH, start="a", goal="c"), case(1.5, graph=GRAPH, start="c", goal="d"),
        Example(arguments={"graph": GRAPH, "start": "d", "goal": "a"}, raises="ValueError"),
        Example(arguments={"graph": GRAPH, "start": "x", "goal": "a"}, raises="ValueError"),
        Example(arguments={"graph": GRAPH, "start": "a", "goal": "x"}, raises="ValueError"),
    )  # fmt: skip
    report = await report_of(tool(DIJKSTRA, *examples, name="shortest"), sandbox)
    assert report.mutation is not None
    start = DIJKSTRA[: DIJKSTRA.index("best = ")].count("\n") + 1
    assert (start, "0.0") not in {(one.line, one.was) for one in report.mutation.survivors}
    assert report.mutation.equivalent > 1
    assert report.trust == "verified", report.mutation


async def test_what_survives_is_told_with_an_input_that_shows_it(sandbox: Sandbox) -> None:
    code = (
        'def band(value: int) -> str:\n    """Says where a value lies."""\n    if value < 3:\n        return "low"\n'
        '    return "high"\n'
    )
    weak = tool(code, case("low", value=0), case("high", value=9), case("low", value=-4), name="band")
    report = await report_of(weak, sandbox)
    assert report.mutation is not None
    shown = {one.now: one.shown_by for one in report.mutation.survivors}
    assert shown["value <= 3"] == {"value": 3}
    assert shown["2"] == {"value": 2}
    (check,) = [check for check in report.checks if check.stage == "mutation"]
    assert '(another result with {"value": 2})' in check.fix


async def test_code_that_no_input_reaches_is_still_asked_for(sandbox: Sandbox) -> None:
    code = (
        'def greet(name: str) -> str:\n    """Greets."""\n    if name == "".join(["Zaphod ", "Beeblebrox"]):\n'
        '        title = "President "\n        return "Dear " + title + name[7:]\n    return "Hello " + name\n'
    )
    weak = tool(
        code, case("Hello A", name="A"), case("Hello ", name=""), case("Hello Bo", name="Bo"), name="greet"
    )
    report = await report_of(weak, sandbox)
    assert report.trust == "provisional"
    assert report.mutation is not None
    assert {one.line for one in report.mutation.survivors} >= {4, 5}
