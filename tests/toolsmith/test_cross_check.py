"""Code that a caller hands in, against tests that models write without seeing it: scripted models over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.toolsmith import cross_check
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Rejected
from tests.models.openai_server import Fails, Resets
from tests.toolsmith.authors import (
    BROKEN,
    COUNT,
    EDGES,
    GOOD,
    PLAIN,
    REQUEST,
    SIGNED,
    WRONG,
    Script,
    module,
    suite_of,
)  # fmt: skip
from tests.toolsmith.bench import Bench, OpenBench

pytestmark = pytest.mark.slow

THIN = suite_of((123, 6), (40, 4))["tests"]
STRONG = suite_of((123, 6), (0, 0), (-45, 9), (99, 18), (1000, 1))["tests"]
GIVEN: dict[str, Any] = {"name": "digit_sum", "description": REQUEST, "code": PLAIN}


def answer(*tests: dict[str, Any]) -> dict[str, Any]:
    return {"tests": list(tests)}


def value(number: Any, expected: Any) -> dict[str, Any]:
    return {"arguments": {"number": number}, "expected": expected}


async def report_of(made: Bench) -> Any:
    return (await made.library.read("digit_sum")).report


def checked(made: Bench) -> list[dict[str, Any]]:
    return [row.detail for row in made.library.journal(10, "cross_check")]


async def test_code_without_tests_is_published_with_those_that_two_writers_made(bench: OpenBench) -> None:
    script = Script(suites=[GOOD, EDGES])
    async with bench(script) as made:
        outcome = await made.make(**GIVEN)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.tests, outcome.questions) == (
            "provisional", "12/12, 12 written by models", (),
        )  # fmt: skip
        assert outcome.to_raise_trust.startswith("Give at least three examples of your own")
        stored = await made.library.read("digit_sum")
        assert len(stored.examples) == 12
        assert (stored.report.usage.calls, stored.report.agreement.suites) == (2, 2)
        assert checked(made) == [{"status": "asked", "suites": 2, "tests": 12, "failing": 0}]
        assert made.library.journal(1, "synthesis")[0].detail["usage"]["calls"] == 2
    assert [kind for kind, _ in script.asked] == ["tests", "tests"]


async def test_writers_see_what_is_promised_and_not_the_code(bench: OpenBench) -> None:
    script = Script(suites=[GOOD, EDGES])
    async with bench(script) as made:
        secret = PLAIN.replace("return sum", "# hidden comment\n    return sum")
        await made.make(**{**GIVEN, "code": secret})
    assert len(script.texts("tests")) == 2
    for text in script.texts("tests"):
        assert REQUEST in text
        assert "def digit_sum(number: int) -> int" in text
        assert "number: Any whole number." in text
        for hidden in ("str(abs", "hidden comment"):
            assert hidden not in text


@pytest.mark.parametrize("code", [COUNT, module("return number")])
async def test_code_without_tests_that_most_blind_tests_contradict_is_rejected_with_questions(
    bench: OpenBench, code: str
) -> None:
    async with bench(Script(suites=[GOOD, EDGES])) as made:
        outcome = await made.make(**{**GIVEN, "code": code})
        assert isinstance(outcome, Rejected), outcome
        assert made.is_empty
    assert outcome.stage == "agreement"
    assert "that models wrote from the description fail" in outcome.reason
    assert 'for `{"number": -45}`: a test expects `9`; yours gives' in outcome.reason
    assert "of your own" in outcome.fix


async def test_a_gates_rejection_of_blind_tests_says_whose_they_are(bench: OpenBench) -> None:
    async with bench(Script(suites=[suite_of((5, 5), (50, 5))])) as made:
        outcome = await made.make(**GIVEN, mode="quick")
        assert isinstance(outcome, Rejected), outcome
    assert outcome.reason.startswith("with 2 tests that models wrote, because none were sent: ")


@pytest.mark.parametrize(("tests", "trust"), [(STRONG, "verified"), (THIN, "provisional")])
async def test_a_callers_own_tests_are_the_only_judge_and_cost_nothing(
    bench: OpenBench, tests: list[dict[str, Any]], trust: str
) -> None:
    script = Script(suites=[WRONG])
    async with bench(script) as made:
        outcome = await made.make(**GIVEN, tests=tests)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.questions) == (trust, ())
        assert (await report_of(made)).usage is None
        assert checked(made) == []
    assert script.asked == []


TORN = answer(value(3, 3), value(3, 5), value(20, 2), {"arguments": {"number": 9}, "check": "nothing == 9"})


async def test_what_the_tests_themselves_dispute_is_asked_and_is_no_example(bench: OpenBench) -> None:
    nonsense = {"tests": [1, None, {"arguments": 5}, {"expected": 3}, value([12], 3), value(-45, 9)]}
    async with bench(Script(suites=[TORN, nonsense])) as made:
        outcome = await made.make(**GIVEN)
        assert isinstance(outcome, Created), outcome
        examples = (await made.library.read("digit_sum")).examples
    assert [each.arguments["number"] for each in examples] == [20, -45]
    assert outcome.questions == ('for `{"number": 3}`: a test expects `5`; yours gives `3`',)


FAILING: list[Any] = [Fails(500), Fails(401), Resets(), "no tests", '{"tests": []}', answer(value("x", 1))]


@pytest.mark.sample(3)
@pytest.mark.parametrize("reply", FAILING, ids=str)
async def test_models_that_fail_cost_nobody_a_tool(bench: OpenBench, reply: Any) -> None:
    async with bench(Script(suites=[reply])) as made:
        outcome = await made.make(**GIVEN)
        assert isinstance(outcome, Rejected), outcome
        assert outcome.reason == "tests: none were sent, so nothing would be proved."
        assert [detail["status"] for detail in checked(made)] in (["failed"], ["asked"])


async def test_models_that_hang_are_not_waited_for(bench: OpenBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_check, "ASKED_S", 0.5)
    async with bench(Script(suites=[None])) as made:
        outcome = await made.make(**GIVEN)
        assert isinstance(outcome, Rejected), outcome
        assert "did not write tests within" in checked(made)[0]["reason"]


async def test_the_same_again_is_not_asked_again(bench: OpenBench) -> None:
    script = Script(suites=[GOOD, EDGES])
    async with bench(script) as made:
        first = await made.make(**GIVEN)
        assert isinstance(first, Created), first
        for changes in (
            {},
            {"update": True},
            {"tests": STRONG},
            {"update": True, "tests": STRONG},
            {"update": True},
        ):
            again = await made.make(**GIVEN, **changes)
            assert isinstance(again, Exists), again
        assert made.library.entry("digit_sum").versions == (1,)
    assert len(script.asked) == 2


async def test_who_sends_the_tests_that_models_wrote_makes_them_its_own(bench: OpenBench) -> None:
    async with bench(Script(suites=[GOOD, EDGES])) as made:
        first = await made.make(**GIVEN)
        assert isinstance(first, Created), first
        assert first.trust == "provisional"
        raised = await made.make(**GIVEN, tests=STRONG)
        assert isinstance(raised, Exists), raised
        assert (raised.trust_before, raised.trust) == ("provisional", "verified")
        assert "by examples that were there, and that you send, too" in raised.why
    few = suite_of((5, 5), (13, 4))
    async with bench(Script(suites=[few])) as made:
        thin = {**GIVEN, "name": "cross_total", "code": SIGNED.replace("digit_sum", "cross_total")}
        first = await made.make(**thin, mode="quick")
        assert isinstance(first, Created), first
        same = await made.make(**thin, tests=few["tests"])
        assert isinstance(same, Exists), same
        assert (same.trust, "there already" in same.why) == ("provisional", True)


async def test_what_could_never_be_published_asks_nobody(bench: OpenBench) -> None:
    script = Script(suites=[GOOD, EDGES])
    async with bench(script) as made:
        broken = await made.make(**{**GIVEN, "code": BROKEN})
        assert isinstance(broken, Rejected)
        assert broken.stage == "static"
        unfit = await made.make(**{**GIVEN, "code": "def digit_sum(number) -> int:\n    return 1\n"})
        assert isinstance(unfit, Rejected)
        missing = await made.make(**GIVEN, update=True)
        assert isinstance(missing, Rejected)
        assert "no tool" in missing.reason
        granted = await made.make(**GIVEN, network=["api.example.org"])
        assert isinstance(granted, Rejected)
        assert granted.reason.startswith("tests: none were sent")
        wrong = await made.make(**{**GIVEN, "code": COUNT}, tests=THIN)
        assert isinstance(wrong, Rejected)
    assert script.asked == []
