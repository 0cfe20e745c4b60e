"""Updates keep their word: the examples of the replaced version hold, or the request names what no longer does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from tests.toolsmith.test_toolsmith import CODE, TRIPLE, Bench

pytestmark = pytest.mark.slow

DOUBLE: dict[str, Any] = {
    "code": CODE.replace("3 * number", "2 * number"),
    "tests": [
        {"arguments": {"number": 2}, "expected": 4},
        {"arguments": {"number": 0}, "expected": 0},
        {"arguments": {"number": -7}, "expected": -14},
    ],
    "update": True,
}
CHANGED = [{"number": 2}, {"number": -5}]


@pytest.fixture
async def bench(library: Library, sandbox: WasmSandbox, settings: Settings) -> Bench:
    bench = Bench(library, sandbox, settings)
    assert isinstance(await bench.make(), Created)
    return bench


async def test_an_update_that_fails_an_example_of_what_it_replaces_is_rejected_with_the_first_case_that_changed(
    bench: Bench,
) -> None:
    outcome = await bench.make(**DOUBLE)
    assert isinstance(outcome, Rejected), outcome
    assert (outcome.stage, outcome.case, outcome.expected, outcome.got) == ("examples", {"number": 2}, 6, 4)
    assert "2 examples of triple v1 would no longer hold" in outcome.reason
    assert [*outcome.breaks] == CHANGED
    assert bench.library.entry("triple").versions == (1,)


async def test_what_is_named_may_break_and_stands_in_the_answer_and_in_the_journal(bench: Bench) -> None:
    outcome = await bench.make(**DOUBLE, breaks=CHANGED)
    assert isinstance(outcome, Created), outcome
    assert [(each.arguments, each.expected, each.got) for each in outcome.breaks] == [
        ({"number": 2}, 6, 4),
        ({"number": -5}, -15, -10),
    ]
    assert bench.library.entry("triple").manifest.version == 2
    detail = bench.library.journal(1, "synthesis")[0].detail
    assert [each["arguments"] for each in detail["breaks"]] == CHANGED


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "breaks", [CHANGED[:1], CHANGED[1:], [*CHANGED, {"number": 3}], [{"number": 2.5}], [{}]]
)
async def test_naming_too_little_or_what_is_no_example_is_rejected(
    bench: Bench, breaks: list[dict[str, Any]]
) -> None:
    outcome = await bench.make(**DOUBLE, breaks=breaks)
    assert isinstance(outcome, Rejected), outcome
    assert outcome.stage == "examples"
    assert bench.library.entry("triple").versions == (1,)


async def test_an_example_that_is_named_and_still_holds_is_kept_and_not_called_broken(bench: Bench) -> None:
    outcome = await bench.make(**DOUBLE, breaks=[*CHANGED, {"number": 0}])
    assert isinstance(outcome, Created), outcome
    assert [each.arguments for each in outcome.breaks] == CHANGED
    kept = (await bench.library.read("triple")).examples
    assert [each.arguments for each in kept] == [{"number": 0}, {"number": 2}, {"number": -7}]


async def test_examples_cannot_be_shed_by_two_updates_one_after_the_other(bench: Bench) -> None:
    few = [{"arguments": {"number": 0}, "expected": 0}, {"arguments": {"number": 9}, "expected": 27}]
    thinned = await bench.make(tests=few, update=True, code=CODE.replace("3 * number", "number * 3"))
    assert isinstance(thinned, Created), thinned
    assert [each.arguments["number"] for each in (await bench.library.read("triple")).examples] == [
        2,
        0,
        -5,
        9,
    ]
    outcome = await bench.make(**DOUBLE)
    assert isinstance(outcome, Rejected), outcome
    assert "examples of triple v2 would no longer hold" in outcome.reason


async def test_a_new_signature_that_old_arguments_do_not_fit_breaks_them(bench: Bench) -> None:
    renamed = CODE.replace("number", "value")
    tests = [{"arguments": {"value": n}, "expected": 3 * n} for n in (0, 2, -5)]
    outcome = await bench.make(code=renamed, tests=tests, update=True)
    assert isinstance(outcome, Rejected), outcome
    assert "do not fit the new signature" in outcome.reason
    breaks = [test["arguments"] for test in TRIPLE["tests"]]
    again = await bench.make(code=renamed, tests=tests, update=True, breaks=breaks)
    assert isinstance(again, Created), again
    assert len(again.breaks) == 3


async def test_code_that_never_ends_for_what_it_gives_up_is_still_held_to_the_rest(bench: Bench) -> None:
    loops = "    while number == 2:\n        pass\n    return -number"
    code = CODE.replace("    return 3 * number", loops)
    tests = [{"arguments": {"number": n}, "expected": -n} for n in (0, 5, -6)]
    outcome = await bench.make(code=code, tests=tests, update=True, breaks=[{"number": 2}])
    assert isinstance(outcome, Rejected), outcome
    assert outcome.case == {"number": -5}


async def test_breaks_goes_with_an_update_only(bench: Bench) -> None:
    outcome = await bench.make(name="other_tool", code=CODE.replace("triple", "other_tool"), breaks=CHANGED)
    assert isinstance(outcome, Rejected)
    assert "breaks" in outcome.reason
    strange = read_request({**TRIPLE, "update": True, "breaks": "all"})
    assert isinstance(strange, Rejected)


async def test_an_update_of_lower_trust_is_kept_and_the_answer_says_that_it_is_not_current(
    bench: Bench,
) -> None:
    thin = CODE.replace("return 3 * number", "return 3 * number if number < 1000 else number")
    outcome = await bench.make(code=thin, update=True)
    assert isinstance(outcome, Created), outcome
    assert (outcome.version, outcome.trust) == (2, "provisional")
    assert outcome.kept == "v1 stays current: it is verified, v2 provisional"
    assert bench.library.entry("triple").manifest.version == 1
    again = await bench.make(code=thin, update=True)
    assert isinstance(again, Exists)
    assert (again.version, bench.library.entry("triple").versions) == (2, (1, 2))


async def test_after_a_persons_rollback_an_update_is_kept_and_says_how_a_person_makes_it_current(
    bench: Bench,
) -> None:
    assert isinstance(await bench.make(update=True, description="Triples any whole number."), Created)
    await bench.library.rollback("triple")
    outcome = await bench.make(update=True, description="Triples every whole number.")
    assert isinstance(outcome, Created), outcome
    assert "a person decides; `alita tool rollback triple 3`" in outcome.kept
    assert bench.library.entry("triple").manifest.version == 1
    assert json.loads(outcome.model_dump_json())["kept"]
