"""A published tool and what is wrong with it: the next version from the old code, its examples and the complaint."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.toolsmith.requests.outcomes import Created, Exists, NeedsApproval, Rejected
from tests.toolsmith.authors import BROKEN, COUNT, PLAIN, coded, suite_of
from tests.toolsmith.bench import Bench, OpenBench
from tests.toolsmith.revisers import COMPLAINT, FAILING, FLAT, NEGATIVE, OWN, Reviser, publish, with_rules

pytestmark = pytest.mark.slow

SPECIAL = FLAT.replace("    digits =", "    if number == -45:\n        return 9\n    digits =")
"""Right for the case that was shown and for no other."""
TEXT = PLAIN.replace("-> int", "-> str").replace("return sum(", "return str(sum(").replace("))\n", ")))\n")


async def complain(made: Bench, **changes: Any) -> Any:
    asked = {"name": "digit_sum", "update": True, "description": COMPLAINT, "tests": FAILING}
    return await made.make(**{**asked, **changes})


async def test_a_complaint_and_a_failing_example_make_the_next_version(bench: OpenBench) -> None:
    script = Reviser(
        revision=with_rules(PLAIN, "negative numbers: the sign does not count"), suites=[NEGATIVE]
    )
    async with bench(script) as made:
        before = await publish(made, FLAT, use_when=["cross total"])
        outcome = await complain(made)
        assert isinstance(outcome, Created), outcome
        stored = await made.library.read("digit_sum")
    assert (before.trust, outcome.version, outcome.trust, stored.manifest.version) == (
        "verified",
        2,
        "verified",
        2,
    )
    assert stored.code == PLAIN
    assert stored.manifest.description == "Adds up the digits.", "a complaint is no description"
    assert stored.manifest.use_when == ("cross total",)
    assert [test.as_json() for test in stored.examples[: len(OWN) + 1]] == [*OWN, *FAILING]
    assert [kind for kind, _ in script.asked].count("tests") == 1
    assert sorted(kind for kind, _ in script.asked) == ["revise", "tests"], "two questions, no planner"
    assert stored.report.written_from is not None
    assert stored.report.written_from.rules == ("negative numbers: the sign does not count",)
    assert COMPLAINT in stored.report.written_from.request


async def test_the_coder_sees_code_and_examples_the_tester_neither(bench: OpenBench) -> None:
    script = Reviser(revision=PLAIN, suites=[NEGATIVE])
    async with bench(script) as made:
        await publish(made, FLAT)
        await complain(made)
    coder, tester = script.texts("revise")[0], script.texts("tests")[0]
    assert FLAT.rstrip() in coder
    assert '"number": 123' in coder
    assert '"now": 0' in coder
    assert COMPLAINT in coder
    assert COMPLAINT in tester
    assert "signature: def digit_sum(number: int) -> int" in tester
    assert "digits = " not in tester
    assert "123" not in tester
    assert "-45" not in tester


async def test_code_that_treats_the_shown_case_alone_is_sent_back_and_never_verified(
    bench: OpenBench,
) -> None:
    script = Reviser(revision=SPECIAL, suites=[NEGATIVE], repairs=lambda _: PLAIN)
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made)
        assert isinstance(outcome, Created), outcome
        code = (await made.library.read("digit_sum", 2)).code
    assert "4 of 6" not in script.texts("repair")[0]
    assert "of 6 tests that were written blind to the code hold" in script.texts("repair")[0]
    assert (code, outcome.trust) == (PLAIN, "provisional"), "its writer saw a blind test"
    assert outcome.kept, "a provisional version does not replace a verified one"


@pytest.mark.sample(1)
@pytest.mark.parametrize("suite", [NEGATIVE, suite_of((7, 7), (10, 1), (12, 3), (34, 7), (56, 11), (-1, 1))])
async def test_a_writer_that_insists_on_the_special_case_is_trusted_with_little(
    bench: OpenBench, suite: dict[str, Any]
) -> None:
    script = Reviser(revision=SPECIAL, suites=[suite], repairs=lambda _: SPECIAL)
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made)
        current = made.library.entry("digit_sum").manifest
    assert script.count("repair") == 1, "the same answer twice is not asked for a third time"
    assert current.version == 1
    if suite is NEGATIVE:
        assert isinstance(outcome, Rejected), outcome
        assert outcome.reason.startswith("3 of 6 tests that were written blind to the code hold")
    else:
        assert isinstance(outcome, Created), outcome
        assert outcome.trust == "provisional"
        assert outcome.kept


async def test_what_worked_and_works_no_longer_is_refused_though_the_complaint_is_met(
    bench: OpenBench,
) -> None:
    broken = PLAIN.replace("return ", "return 1 if number == 77 else ")
    script = Reviser(revision=broken, suites=[NEGATIVE], repairs=lambda _: broken)
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made)
        assert isinstance(outcome, Rejected), outcome
        assert made.library.entry("digit_sum").versions == (1,)
    assert outcome.case == {"number": 77}
    assert "send this case with its result in tests" in outcome.fix


async def test_what_the_caller_decides_no_blind_test_overrules(bench: OpenBench) -> None:
    wrong = {"tests": [*NEGATIVE["tests"], *suite_of((-45, -9), (123, 7))["tests"]]}
    script = Reviser(revision=PLAIN, suites=[wrong])
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made)
    assert isinstance(outcome, Created), outcome
    assert script.count("repair") == 0


async def test_examples_that_would_break_are_named_and_break_once_the_request_names_them(
    bench: OpenBench,
) -> None:
    script = Reviser(revision=PLAIN, suites=[NEGATIVE], repairs=lambda _: PLAIN)
    tests = [*OWN, *suite_of((-12, 0))["tests"]]
    async with bench(script) as made:
        await publish(made, FLAT, tests)
        refused = await complain(made)
        assert isinstance(refused, Rejected), refused
        assert refused.breaks == ({"number": -12},)
        assert "as `breaks`" in refused.fix
        outcome = await complain(made, breaks=[{"number": -12}])
        assert isinstance(outcome, Created), outcome
    assert [each.arguments for each in outcome.breaks] == [{"number": -12}]
    assert "`breaks`" not in script.texts("repair")[0], "that is for the caller, not for the writer of code"


async def test_an_example_that_contradicts_an_old_one_is_asked_about_before_any_model(
    bench: OpenBench,
) -> None:
    script = Reviser(revision=PLAIN)
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made, tests=suite_of((123, 7))["tests"])
    assert isinstance(outcome, Rejected), outcome
    assert outcome.breaks == ({"number": 123},)
    assert not script.asked


async def test_a_complaint_that_the_version_meets_already_publishes_nothing(bench: OpenBench) -> None:
    script = Reviser(revision=PLAIN.replace("Adds up", "Sums up"), suites=[NEGATIVE])
    async with bench(script) as made:
        await publish(made, PLAIN)
        outcome = await complain(made)
        alone = await complain(made, tests=[])
        assert made.library.entry("digit_sum").versions == (1,)
    assert isinstance(outcome, Exists), outcome
    assert "your examples hold with it, and the model found nothing to fix" in outcome.why
    assert isinstance(alone, Exists), alone
    assert "send an example that fails" in alone.why


async def test_the_same_code_is_no_answer_where_the_example_fails(bench: OpenBench) -> None:
    script = Reviser(revision=FLAT, suites=[NEGATIVE], repairs=lambda _: FLAT)
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made)
    assert isinstance(outcome, Rejected), outcome
    assert "the code is unchanged" in outcome.reason
    assert (outcome.case, outcome.expected, outcome.got) == ({"number": -45}, 9, 0)


async def test_the_same_code_is_asked_about_once_where_a_blind_test_fails(bench: OpenBench) -> None:
    script = Reviser(revision=FLAT, suites=[NEGATIVE], repairs=lambda _: PLAIN)
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made, tests=[])
    assert isinstance(outcome, Created), outcome
    assert outcome.trust == "provisional"
    assert script.count("repair") == 1


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("code", "stage"),
    [
        (BROKEN, "static"),
        (PLAIN.replace("digit_sum", "other_name"), "static"),
        (COUNT, "examples"),
    ],
    ids=["broken", "another name", "wrong"],
)
async def test_answers_that_are_no_next_version_are_refused(bench: OpenBench, code: str, stage: str) -> None:
    script = Reviser(revision=coded(code), suites=[NEGATIVE], repairs=lambda _: coded(code))
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made)
        assert made.library.entry("digit_sum").versions == (1,)
    assert isinstance(outcome, Rejected), outcome
    assert outcome.stage == stage, outcome
    assert not outcome.breaks


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "code",
    [
        PLAIN.replace("number: int)", "number: int, base: int)").replace(
            "whole number.\n    ", "whole number.\n        base: Not used.\n    "
        ),
        PLAIN.replace("(number: int)", "(number: str)").replace("abs(number)", "abs(int(number))"),
        TEXT,
    ],
    ids=["one parameter more", "another type", "another result"],
)
async def test_another_signature_is_sent_back_and_says_what_would_break(bench: OpenBench, code: str) -> None:
    script = Reviser(revision=code, suites=[NEGATIVE], repairs=lambda _: code)
    async with bench(script) as made:
        await publish(made, FLAT)
        outcome = await complain(made, tests=[])
        assert made.library.entry("digit_sum").versions == (1,)
    assert isinstance(outcome, Rejected), outcome
    assert outcome.breaks == tuple(test["arguments"] for test in OWN)
    assert "cannot be called like digit_sum v1" in script.texts("repair")[0]
    assert "Keep `def digit_sum(number: int) -> int`" in script.texts("repair")[0]


@pytest.mark.exhaustive
async def test_a_parameter_that_no_example_uses_does_not_go_unnoticed(bench: OpenBench) -> None:
    wide = FLAT.replace("number: int)", "number: int, base: int = 10)").replace(
        "int(digit)", "int(digit) % base"
    )
    wide = wide.replace("whole number.\n    ", "whole number.\n        base: Of the digits.\n    ")
    script = Reviser(revision=PLAIN, suites=[NEGATIVE], repairs=lambda _: PLAIN)
    async with bench(script) as made:
        await publish(made, wide)
        outcome = await complain(made)
        assert made.library.entry("digit_sum").versions == (1,)
    assert isinstance(outcome, Rejected), outcome
    assert (outcome.stage, outcome.breaks) == ("schema", ())


@pytest.mark.parametrize("name", ["", "no_such_tool", "Nö!", "run_tool"])
async def test_a_complaint_about_no_tool_asks_no_model(bench: OpenBench, name: str) -> None:
    script = Reviser(revision=PLAIN)
    async with bench(script) as made:
        outcome = await complain(made, name=name)
        assert made.is_empty
    assert isinstance(outcome, Rejected), outcome
    assert not script.asked


async def test_what_people_disabled_or_deleted_no_complaint_revives(bench: OpenBench) -> None:
    script = Reviser(revision=PLAIN)
    async with bench(script) as made:
        await publish(made, FLAT)
        await made.library.disable("digit_sum")
        disabled = await complain(made)
        await made.library.delete("digit_sum")
        deleted = await complain(made)
    assert isinstance(disabled, Rejected), disabled
    assert "disabled" in disabled.reason
    assert isinstance(deleted, Rejected), deleted
    assert not script.asked


async def test_grants_stay_those_of_the_old_version_and_wait_again(bench: OpenBench) -> None:
    async with bench(Reviser(revision=PLAIN, suites=[NEGATIVE])) as made:
        waiting = await made.make(
            name="digit_sum", description="Adds up the digits.", code=FLAT, tests=OWN, workspace="read"
        )
        assert isinstance(waiting, NeedsApproval), waiting
        outcome = await complain(made)
        assert isinstance(outcome, NeedsApproval), outcome
        grants = (await made.library.read("digit_sum", 2)).manifest.grants
        more = await complain(made, workspace="write")
        assert isinstance(more, NeedsApproval), more
        asked = (await made.library.read("digit_sum", more.version)).manifest.grants
    assert (grants.workspace, asked.workspace) == ("read", "write")


async def test_a_damaged_version_is_shown_to_no_model(bench: OpenBench) -> None:
    script = Reviser(revision=PLAIN, suites=[NEGATIVE])
    async with bench(script) as made:
        await publish(made, FLAT)
        path = made.library.home / "generated_tools" / "digit_sum" / "v1" / "tool.py"
        path.chmod(0o644)
        path.write_text(path.read_text() + "# changed\n")
        outcome = await complain(made)
    assert isinstance(outcome, Rejected), outcome
    assert "send the whole code" in outcome.fix.lower()
    assert not script.asked
