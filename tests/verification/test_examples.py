"""The examples gate, against a sandbox whose answers are scripted."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.values import Check, Draft, Example
from alita_mcp.verification.code.contract import read_contract
from alita_mcp.verification.examples.examples import ExamplesFound, examples_gate
from alita_mcp.verification.examples.trials import AT_ONCE, RehearsedDraft
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from tests.scripted_sandbox import ScriptedSandbox
from tests.verification.drafts import SHOUT_EXAMPLES, behaves_as, draft, shout


async def gate(candidate: Draft, sandbox: Any) -> ExamplesFound:
    contract = read_contract(candidate.code, candidate.name, candidate.description)
    with anyio.fail_after(60):
        return await examples_gate(RehearsedDraft(candidate, contract, None, Rehearsal(sandbox)))


def suite(*examples: Example | dict[str, Any]) -> Draft:
    made = tuple(each if isinstance(each, Example) else Example(**each) for each in examples)
    return draft(examples=made)


async def refusal(candidate: Draft, sandbox: Any) -> Check:
    found = await gate(candidate, sandbox)
    check = next(check for check in found.checks if not check.passed and check.hard)
    assert check.fix
    return check


async def unrun(*examples: Example | dict[str, Any]) -> Check:
    """The refusal of a suite of which the tool's code never hears."""
    sandbox = behaves_as(shout)
    found = await refusal(suite(*examples), sandbox)
    assert not [job for job in sandbox.jobs if job.function != "check"]
    return found


async def test_good_examples_pass_and_the_tool_never_sees_what_is_expected() -> None:
    sandbox = behaves_as(shout)
    found = await gate(draft(), sandbox)
    assert [check.passed for check in found.checks] == [True, True, True]
    assert (found.passed, len(found.trials)) == (3, 3)
    assert found.checks[0].message == "example 1"
    assert found.checks[0].case == {"text": "hey"}
    assert found.checks[0].seconds == 0.25
    assert [job.arguments for job in sandbox.jobs] == [example.arguments for example in SHOUT_EXAMPLES]
    assert all("HEY!" not in job.model_dump_json() for job in sandbox.jobs)


async def test_a_wrong_result_is_shown_with_what_was_expected() -> None:
    found = await gate(draft(), behaves_as(lambda text, times=1: text.upper() + "?"))
    first = next(check for check in found.checks if not check.passed)
    assert first.message == "example 1: it returned another result"
    assert (first.case, first.expected, first.got) == ({"text": "hey"}, "HEY!", "HEY?")
    assert found.passed == 0


async def test_an_unexpected_error_is_shown_with_its_trace() -> None:
    def broken(text: str, times: int = 1) -> str:
        raise KeyError("times")

    check = await refusal(draft(), behaves_as(broken))
    assert check.message == "example 1: it raised KeyError: 'times'"
    assert len(check.trace) == 10
    assert "raises" in check.fix


async def test_the_right_error_must_be_raised() -> None:
    only_error = suite(*SHOUT_EXAMPLES[:2], {"arguments": {"text": ""}, "raises": "my.errors.TypeError"})
    check = await refusal(only_error, behaves_as(shout))
    assert check.message == "example 3: it raised ValueError: text is empty"
    assert check.expected == "raises my.errors.TypeError"
    quiet = await refusal(draft(), behaves_as(lambda text, times=1: text.upper() + "!" * times))
    assert quiet.message == "example 3: it returned a result"
    assert quiet.got == "!"


def failing(text: str, times: int = 1) -> str:
    """Refuses an empty text by a library's own error."""
    return shout(text, times) if text else json.loads(text)


@pytest.mark.parametrize(
    "name", ["ValueError", "JSONDecodeError", "json.JSONDecodeError", "builtins.ValueError"]
)
async def test_an_error_of_the_class_asked_for_is_one_of_a_kind_of_it(name: str) -> None:
    examples = (*SHOUT_EXAMPLES[:2], Example(arguments={"text": ""}, raises=name))
    found = await gate(suite(*examples), behaves_as(failing))
    assert [check.passed for check in found.checks] == [True, True, True]


async def test_the_error_to_ask_for_is_told_with_its_module() -> None:
    examples = (*SHOUT_EXAMPLES[:2], Example(arguments={"text": ""}, raises="KeyError"))
    check = await refusal(suite(*examples), behaves_as(failing))
    assert check.fix == "Raise KeyError, or say raises 'json.decoder.JSONDecodeError' in the example."


async def test_an_example_that_any_mistake_would_meet_earns_less_trust() -> None:
    examples = (*SHOUT_EXAMPLES[:2], Example(arguments={"text": ""}, raises="Exception"))
    found = await gate(suite(*examples), behaves_as(shout))
    assert found.passed == 3
    (soft,) = [check for check in found.checks if not check.passed]
    assert (soft.hard, soft.fix) == (False, "Say raises 'ValueError', which it raised.")

    def plain(text: str, times: int = 1) -> str:
        if not text:
            raise Exception("empty")  # noqa: TRY002 - as a tool may
        return shout(text, times)

    assert all(check.passed for check in (await gate(suite(*examples), behaves_as(plain))).checks)


async def test_an_error_may_be_named_with_its_module() -> None:
    examples = (*SHOUT_EXAMPLES[:2], Example(arguments={"text": ""}, raises="builtins.ValueError"))
    assert (await gate(suite(*examples), behaves_as(shout))).passed == 3


@pytest.mark.parametrize(
    ("result", "message", "fix"),
    [
        (
            RunResult(status="load_failed", error_type="NameError", message="x"),
            "does not load: NameError: x",
            "import",
        ),
        (RunResult(status="bad_result", message="a set"), "not JSON: a set", "Return JSON"),
        (RunResult(status="memory", message="256 MB"), "out of memory: 256 MB", "Use less"),
        (RunResult(status="output_flood"), "printed too much", "print"),
        (RunResult(status="crashed", message="signal 11"), "the process died: signal 11", "process"),
        (RunResult(status="timeout", message="30 s of wall time"), "out of time: 30 s", "faster"),
        (RunResult(status="error", error_type="E"), "it raised E", "raises"),
    ],
)
async def test_every_way_to_fail_has_its_words_and_its_fix(result: RunResult, message: str, fix: str) -> None:
    check = await refusal(draft(), ScriptedSandbox(lambda job: result))
    assert message in check.message
    assert fix in check.fix


async def test_a_time_out_ends_the_rest() -> None:
    many = [{"arguments": {"text": f"t{n}"}, "expected": f"T{n}!"} for n in range(60)]

    class Slow(ScriptedSandbox):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            if job.arguments["text"] != "t1":
                await anyio.sleep_forever()
            return await super().run(job)

    found = await gate(suite(*many), Slow(lambda job: RunResult(status="timeout", message="1 s")))
    assert [check.message for check in found.checks] == ["example 2: out of time: 1 s"]
    assert len(found.trials) == 60


async def test_few_jobs_run_at_once_and_a_failing_sandbox_is_no_verdict() -> None:
    running, peak = 0, 0

    class Counting(ScriptedSandbox):
        async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
            nonlocal running, peak
            running += 1
            peak = max(peak, running)
            await anyio.lowlevel.checkpoint()
            running -= 1
            return await super().run(job)

    many = [{"arguments": {"text": f"t{n}"}, "expected": f"T{n}!"} for n in range(20)]
    sandbox = Counting(lambda job: RunResult(status="ok", value=shout(**job.arguments)))
    assert (await gate(suite(*many), sandbox)).passed == 20
    assert peak == AT_ONCE
    for error in (SandboxError("broken pipe"), SandboxRefused("no yield here")):
        failing = ScriptedSandbox(_raises(error))
        with pytest.raises(type(error)) as caught:
            await gate(suite(*many), failing)
        assert caught.value is error


def _raises(error: Exception) -> Any:
    def answer(job: Job) -> RunResult:
        raise error

    return answer


async def test_results_must_fit_the_return_annotation() -> None:
    check = await refusal(draft(), behaves_as(lambda text, times=1: [text]))
    assert check.stage == "schema"
    assert "result: ['hey'] is not a string" in check.message
    assert "annotation" in check.fix


async def test_examples_are_needed_and_not_too_many() -> None:
    assert "no examples" in (await unrun()).message
    many = [{"arguments": {"text": f"t{n}"}, "expected": f"T{n}!"} for n in range(101)]
    assert "too many examples: 101" in (await unrun(*many)).message


async def test_arguments_are_checked_before_anything_runs() -> None:
    check = await unrun(SHOUT_EXAMPLES[0], {"arguments": {"txt": "a"}, "expected": "A!"})
    assert check.message.startswith("example 2: arguments do not fit the signature")
    assert "did you mean 'text'" in check.message
    assert check.case == {"txt": "a"}
    for meant in ({"text": None}, {"text": "a", "times": "2"}, {"text": "a", "times": None}):
        assert (
            "do not fit" in (await unrun(SHOUT_EXAMPLES[0], {"arguments": meant, "expected": "A!"})).message
        )


async def test_an_expected_value_that_the_function_never_returns_is_found_before_anything_runs() -> None:
    check = await unrun(SHOUT_EXAMPLES[0], {"arguments": {"text": "a"}, "expected": 5})
    assert check.message == "example 2: the function never returns 5: result: 5 is not a string"


async def test_contradictions_are_found_before_anything_runs() -> None:
    text = {"arguments": {"text": "a"}}
    for one, other in (
        ({"expected": "A!"}, {"expected": "B!"}),
        ({"expected": "A!"}, {"raises": "ValueError"}),
        ({"raises": "TypeError"}, {"raises": "ValueError"}),
        ({"raises": "LookupError"}, {"raises": "builtins.ValueError"}),
        ({"check": "result"}, {"raises": "ValueError"}),
    ):
        check = await unrun(SHOUT_EXAMPLES[0], {**text, **one}, {**text, **other})
        assert check.message == "examples 2 and 3 contradict each other: same arguments"
        assert check.case == {"text": "a"}


async def test_a_suite_that_a_constant_passes_proves_nothing() -> None:
    one = {"arguments": {"text": "a"}, "expected": "A!"}
    assert "passes the only example" in (await unrun(one)).message
    same = await unrun(
        {"arguments": {"text": "a"}, "expected": "A!"}, {"arguments": {"text": "A"}, "expected": "A!"}
    )
    assert same.message == 'a function that always returns "A!" passes all 2 examples, so nothing is proved'
    assert same.fix == "Add an example with another result."
    mixed = await unrun(one, {"arguments": {"text": "b"}, "check": "result.endswith('!')"})
    assert "always returns" in mixed.message
    errors = await unrun({"arguments": {"text": ""}, "raises": "ValueError"})
    assert "always raises" in errors.message


async def test_checks_run_where_the_tool_is_not() -> None:
    sandbox = behaves_as(shout)
    found = await gate(
        suite(
            {"arguments": {"text": "abc"}, "check": "result.startswith(arguments['text'].upper())"},
            {"arguments": {"text": "de"}, "check": "len(result) == 3"},
            {"arguments": {"text": "abc", "times": 0}, "expected": "ABC"},
            {"arguments": {"text": "abc", "times": 2}, "expected": "ABC!!"},
        ),
        sandbox,
    )
    assert found.passed == 4
    checks = [job for job in sandbox.jobs if job.function == "check"]
    assert checks
    assert all("text is empty" not in job.code for job in checks)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("len(result", "does not parse"),
        ("x = 1", "does not parse"),
        ("import os", "does not parse"),
        ("True", "does not look at the result"),
        ("(result := 5)", "more than a plain expression"),
        ("result > 0x" + "f" * 1_900, None),
        ("0x" + "9" * 1_900 + " * 99 ** 999 > result.x", None),
        ("result == " + "(" * 1_500, "does not parse"),
        ("result\x00", "hidden character"),
        ("result.\u202e", "hidden character"),
        ("yield result", "does not parse"),
        ("(yield result)", "more than a plain expression"),
        ("statistics.mean([result]) > 0", "names 'statistics'"),
        ("output == 'XYZ!'", "names 'output'"),
        ("[text for text in result if tex]", "names 'tex'"),
        ("text < result", "names 'text'"),
        ("result < str(now)", "names 'now'"),
    ],
)
async def test_a_check_is_one_expression_over_the_result(condition: str, message: str | None) -> None:
    sandbox = behaves_as(shout)
    found = await gate(suite(*SHOUT_EXAMPLES, {"arguments": {"text": "xyz"}, "check": condition}), sandbox)
    check = next(check for check in found.checks if not check.passed and check.hard)
    assert "example 4" in check.message
    assert (message is None) == bool(sandbox.jobs)
    assert message is None or message in check.message
    if message and "names" in message:
        assert check.fix.startswith("A check may use result, arguments, math and Python's builtins.")
        assert ("arguments['text']" in check.fix) == ("'text'" in message)
        assert ('"varies": ["clock"]' in check.fix) == ("now" in message)


async def test_a_check_has_math_and_the_names_that_it_binds() -> None:
    condition = "math.isclose(sum(map(lambda n, /, *more: n, [len(each) for each in result])), len(result))"
    examples = (*SHOUT_EXAMPLES, Example(arguments={"text": "xyz"}, check=condition))
    assert (await gate(suite(*examples), behaves_as(shout))).passed == len(examples)


async def test_a_check_that_fails_or_raises_is_shown() -> None:
    examples = (*SHOUT_EXAMPLES, Example(arguments={"text": "xyz"}, check="len(result) == 9"))
    check = await refusal(suite(*examples), behaves_as(shout))
    assert check.message == "example 4: the check does not hold"
    assert (check.expected, check.got) == ("check: len(result) == 9", "XYZ!")
    examples = (*SHOUT_EXAMPLES, Example(arguments={"text": "xyz"}, check="result.nothing"))
    check = await refusal(suite(*examples), behaves_as(shout))
    assert "the check raised AttributeError" in check.message


async def test_a_check_that_everything_passes_is_refused() -> None:
    examples = (*SHOUT_EXAMPLES, Example(arguments={"text": "xyz"}, check="result == result"))
    assert "holds for None, 0" in (await unrun(*examples)).message


async def test_checks_that_one_result_passes_are_refused() -> None:
    loose = await refusal(
        suite(
            {"arguments": {"text": "abc"}, "check": "len(result) > 1"},
            {"arguments": {"text": "abcd"}, "check": "result"},
        ),
        behaves_as(shout),
    )
    assert (
        loose.message == 'a function that always returns "ABC!" passes all 2 examples, so nothing is proved'
    )
    alone = await unrun(*[{"arguments": {"text": text}, "check": "result in (None, True)"} for text in "abc"])
    assert "always returns null" in alone.message
    good = suite(
        {"arguments": {"text": "abc"}, "check": "result == 'ABC!'"},
        {"arguments": {"text": "abcd"}, "check": "result == 'ABCD!'"},
    )
    assert (await gate(good, behaves_as(shout))).passed == 2


async def test_a_check_whose_sandbox_job_fails_is_a_failed_check() -> None:
    def answer(job: Job) -> RunResult:
        if job.function == "check":
            return replies.pop(0)
        return RunResult(status="ok", value=shout(**job.arguments))

    examples = (*SHOUT_EXAMPLES[:2], Example(arguments={"text": "xyz"}, check="result"))
    for reply in (
        RunResult(status="timeout", message="30 s"),
        RunResult(status="ok", value=[1, 2]),
        RunResult(status="ok"),
    ):
        replies = [reply, reply]
        check = await refusal(suite(*examples), ScriptedSandbox(answer))
        assert check.message.startswith("example 3: the check raised")


async def test_few_or_plain_examples_lower_the_trust_and_say_so() -> None:
    plain = [
        {"arguments": {"text": text, "times": 2}, "expected": f"{text.upper()}!!"} for text in ("ab", "cd")
    ]
    found = await gate(suite(*plain), behaves_as(shout))
    few, no_edge = [check for check in found.checks if not check.passed]
    assert not few.hard
    assert not no_edge.hard
    assert few.message == "2 distinct examples; `verified` needs 3"
    assert no_edge.message == "no example shows an edge or an error"


async def test_large_values_that_differ_late_are_shown_where_they_differ() -> None:
    late = suite(
        SHOUT_EXAMPLES[0], {"arguments": {"text": "x" * 9_000 + "a"}, "expected": "X" * 9_000 + "B!"}
    )
    check = await refusal(late, behaves_as(shout))
    assert check.expected == f'at character 9001: …{"X" * 60}B!" (9004 characters)'
    assert check.got == f'at character 9001: …{"X" * 60}A!" (9004 characters)'


async def test_half_characters_are_refused_before_anything_runs() -> None:
    for example in (
        {"arguments": {"text": "\ud800"}, "expected": "A!"},
        {"arguments": {"\ud800": "a"}, "expected": "A!"},
        {"arguments": {"text": "a"}, "expected": "\ud800"},
    ):
        check = await unrun(SHOUT_EXAMPLES[0], example)
        assert check.message.startswith("example 2")
        check.model_dump_json()
