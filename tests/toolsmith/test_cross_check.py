"""Code that a caller hands in, against tests that models write without seeing it: scripted models over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import FixedLimits
from alita_mcp.toolsmith import cross_check
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Rejected
from tests.models.openai_server import Fails, Resets
from tests.toolsmith.authors import (
    BROKEN,
    COUNT,
    EDGES,
    GOOD,
    LISTED,
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


async def test_writers_see_what_is_promised_and_neither_the_code_nor_the_tests(bench: OpenBench) -> None:
    script = Script(suites=[GOOD, EDGES])
    tests = [value(987654, 39), value(5, 5)]
    async with bench(script) as made:
        secret = PLAIN.replace("return sum", "# hidden comment\n    return sum")
        await made.make(**{**GIVEN, "code": secret}, tests=tests)
    assert len(script.texts("tests")) == 2
    for text in script.texts("tests"):
        assert REQUEST in text
        assert "def digit_sum(number: int) -> int" in text
        assert "number: Any whole number." in text
        for hidden in ("str(abs", "hidden comment", "987654"):
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
    assert "that 2 writers wrote from the description fail" in outcome.reason
    assert "for `-45`: tests of 1 writer expect `9`; yours returns" in outcome.reason
    assert "of your own" in outcome.fix


async def test_what_no_second_writer_upholds_is_no_example(bench: OpenBench) -> None:
    both = [value(3, 3), value(20, 2)]
    suites = [answer(*both, value(7, 8), value(11, 2)), answer(*both, value(9, 1), value(12, 3))]
    async with bench(Script(suites=suites)) as made:
        outcome = await made.make(**GIVEN)
        assert isinstance(outcome, Created), outcome
        assert [each.arguments["number"] for each in (await made.library.read("digit_sum")).examples] == [
            3, 20,
        ]  # fmt: skip
    assert outcome.questions == (
        "for `7`: tests of 1 writer expect `8`; yours returns `7`",
        "for `9`: tests of 1 writer expect `1`; yours returns `9`",
    )


async def test_code_without_tests_that_no_whole_suite_supports_is_rejected(bench: OpenBench) -> None:
    suite = answer(value(3, 3), value(20, 2), value(7, 8))
    async with bench(Script(suites=[suite])) as made:
        outcome = await made.make(**GIVEN, mode="quick")
        assert isinstance(outcome, Rejected), outcome
    assert "1 of 3 that a model wrote from the description fail" in outcome.reason
    assert "for `7`" in outcome.reason


async def test_a_gates_rejection_of_blind_tests_says_whose_they_are(bench: OpenBench) -> None:
    async with bench(Script(suites=[suite_of((5, 5), (50, 5))])) as made:
        outcome = await made.make(**GIVEN, mode="quick")
        assert isinstance(outcome, Rejected), outcome
    assert outcome.reason.startswith("with 2 tests that models wrote, because none were sent: ")


async def test_thin_tests_stay_the_judge_and_what_contradicts_is_asked(bench: OpenBench) -> None:
    async with bench(Script(suites=[GOOD, suite_of((-45, 9), (-100, 1), (31, 4))])) as made:
        outcome = await made.make(**{**GIVEN, "code": SIGNED}, tests=THIN)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.tests) == ("provisional", "2/2")
        assert outcome.questions == (
            "for `-45`: tests of 2 writers expect `9`; yours returns `-9`",
            "for `-100`: tests of 1 writer expect `1`; yours returns `-1`",
        )
        report = await report_of(made)
        assert [each.test["arguments"] for each in report.agreement.contradicting] == [
            {"number": -45}, {"number": -45}, {"number": -100},
        ]  # fmt: skip
        assert (report.usage.calls, len((await made.library.read("digit_sum")).examples)) == (2, 2)


async def test_tests_that_prove_enough_cost_nothing(bench: OpenBench) -> None:
    script = Script(suites=[WRONG])
    async with bench(script) as made:
        outcome = await made.make(**GIVEN, tests=STRONG)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.questions) == ("verified", ())
        assert (await report_of(made)).usage is None
        assert checked(made) == []
    assert script.asked == []


async def test_blind_tests_that_all_agree_raise_thin_ones(bench: OpenBench) -> None:
    async with bench(Script(suites=[GOOD, EDGES])) as made:
        outcome = await made.make(**GIVEN, tests=THIN)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.tests) == ("verified", "13/13, 11 written by models")
        stored = await made.library.read("digit_sum")
        assert stored.manifest.trust == "verified"
        assert [example.as_json() for example in stored.examples[:2]] == THIN
        assert any("2 writers wrote blind to the code" in check.message for check in stored.report.checks)


HOSTILE = {
    "wrong": WRONG,
    "other arguments": answer({"arguments": {"text": "x"}, "expected": 1}, value("12", 3)),
    "another result": answer(value(12, "three"), value(13, [4]), value(14, None)),
    "nonsense": {"tests": [1, None, {"arguments": 5}, {"expected": 3}, value(3, 3)]},
    "large": answer({"arguments": {"number": 3}, "check": "result == 3 or 'x' * 9" + "9" * 1_000}, value(3, 3)),
    "torn": answer(value(3, 4), value(3, 5), value(5, 5)),
}  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", HOSTILE)
async def test_right_code_is_never_lost_or_demoted_by_wrong_testers(bench: OpenBench, kind: str) -> None:
    async with bench(Script(suites=[HOSTILE[kind]])) as made:
        outcome = await made.make(**GIVEN, tests=THIN)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.tests) == ("provisional", "2/2")
        assert bool(outcome.questions) == (kind == "wrong")
        raised = await made.make(**GIVEN, tests=STRONG)
        assert isinstance(raised, Exists), raised
        assert raised.trust == "verified", "their own tests decide, whatever was asked"


FAILING: list[Any] = [Fails(500), Fails(401), Resets(), "no tests", '{"tests": []}', answer(value("x", 1))]


@pytest.mark.sample(3)
@pytest.mark.parametrize("reply", FAILING, ids=str)
async def test_models_that_fail_cost_nobody_a_tool(bench: OpenBench, reply: Any) -> None:
    async with bench(Script(suites=[reply])) as made:
        outcome = await made.make(**GIVEN)
        assert isinstance(outcome, Rejected), outcome
        assert outcome.reason == "tests: none were sent, so nothing would be proved."
        outcome = await made.make(**GIVEN, tests=THIN)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.tests, outcome.questions) == ("provisional", "2/2", ())
        assert [detail["status"] for detail in checked(made)] == ["failed", "failed"]
        assert all(detail["reason"] for detail in checked(made))
        report = await report_of(made)
        assert (report.agreement, report.usage.calls > 0) == (None, True)


async def test_a_budget_that_is_spent_asks_nothing(bench: OpenBench) -> None:
    async with bench(Script(suites=[WRONG]), limits=FixedLimits(synthesis_calls=1)) as made:
        outcome = await made.make(**GIVEN, tests=THIN)
        assert isinstance(outcome, Created), outcome
        assert outcome.questions == ()
        (detail,) = checked(made)
        assert "budget" in detail["reason"]


async def test_models_that_hang_are_not_waited_for(bench: OpenBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_check, "ASKED_S", 0.5)
    async with bench(Script(suites=[None])) as made:
        outcome = await made.make(**GIVEN, tests=THIN)
        assert isinstance(outcome, Created), outcome
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


async def test_a_sandbox_that_fails_at_blind_tests_costs_nobody_a_tool(
    bench: OpenBench, sandbox: WasmSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sandbox.run

    async def run(job: Job, broker: Broker | None = None) -> RunResult:
        if job.limits.wall_seconds == cross_check.ONE_CALL_S:
            raise SandboxError("it went away")
        return await real(job, broker)

    monkeypatch.setattr(sandbox, "run", run)
    async with bench(Script(suites=[GOOD, EDGES])) as made:
        with pytest.raises(SandboxError):
            await made.make(**GIVEN)
        assert made.is_empty
        outcome = await made.make(**GIVEN, tests=THIN)
        assert isinstance(outcome, Created), outcome
        assert (outcome.trust, outcome.tests) == ("provisional", "2/2")
        assert checked(made) == [{"status": "failed", "reason": "it went away"}]


async def test_an_update_is_held_to_old_examples_and_asked_about_like_any_code(bench: OpenBench) -> None:
    script = Script(suites=[GOOD, EDGES])
    async with bench(script) as made:
        await made.make(**GIVEN, tests=THIN)
        outcome = await made.make(**{**GIVEN, "code": LISTED}, update=True)
        assert isinstance(outcome, Created), outcome
        assert (outcome.version, outcome.trust) == (2, "provisional")
        assert outcome.kept.startswith("v1 stays current")
        worse = await made.make(
            **{**GIVEN, "code": SIGNED}, update=True, tests=THIN, breaks=[{"number": -45}]
        )
        assert isinstance(worse, Rejected), worse
        assert worse.breaks


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
