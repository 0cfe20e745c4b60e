"""Each class of failure has its own instruction, and the same failure is known again."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.synthesis.failures.failures import classify, signature, without_values
from alita_mcp.synthesis.requests.outcomes import Rejected, rejection
from alita_mcp.synthesis.writing.prompts import INSTRUCTIONS, fenced
from alita_mcp.values import Draft, Example
from alita_mcp.verification.verify import verify

HEAD = (
    'def halve(number: int) -> int:\n    """Halves a number.\n\n    Args:\n        number: What.\n    """\n'
)
EXAMPLES = (
    Example(arguments={"number": 4}, expected=2),
    Example(arguments={"number": 9}, expected=4),
    Example(arguments={"number": 0}, expected=0),
)


def refused(stage: Any, reason: str, **more: Any) -> Rejected:
    return Rejected(stage=stage, reason=reason, fix="mend it", **more)


async def silent(_stage: str) -> None:
    return None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def halve(number: int) -> int:\n    return (\n", "syntax"),
        (HEAD + "    return nothing_of_the_kind(number)\n", "syntax"),
        ("import numpy\n\n\n" + HEAD + "    return int(numpy.int64(number) // 2)\n", "dependency"),
        ("def halve(number) -> int:\n    return number // 2\n", "schema"),
        (HEAD + "    return number * 2\n", "assertion"),
        (HEAD + "    return [1, 2][number]\n", "exception"),
        (HEAD + "    return number / 2\n", "schema"),
        (HEAD + "    return number // 2\n\n\nprint(halve(2))\n", "policy"),
    ],
)
async def test_what_the_gates_say_is_told_apart(sandbox: WasmSandbox, code: str, kind: str) -> None:
    draft = Draft(name="halve", description="Halves a number.", code=code, examples=EXAMPLES)
    verdict = await verify(draft, sandbox, silent)
    assert verdict.report.failure is not None
    assert classify(rejection(verdict.report.failure)) == kind, verdict.report.failure


@pytest.mark.parametrize(
    ("rejected", "kind"),
    [
        (refused("examples", "example 1: out of time: 30 s"), "time-out"),
        (refused("examples", "example 1: out of memory: 256 MB"), "memory"),
        (refused("examples", "example 1: the result is not JSON"), "schema"),
        (refused("examples", "example 1: the process died"), "exception"),
        (refused("determinism", "example 2 gave another result"), "flakiness"),
        (refused("environment", "package 'nope' does not exist"), "dependency"),
        (refused("policy", "a URL in the description"), "policy"),
        (refused("mutation", "3 of 20 mutants were noticed"), "evidence"),
        (refused("examples", 'a function that always returns "6" is a constant'), "evidence"),
    ],
)
def test_every_class_is_known_by_its_words(rejected: Rejected, kind: str) -> None:
    assert classify(rejected) == kind


def test_every_class_has_an_instruction_of_its_own() -> None:
    assert len(set(INSTRUCTIONS.values())) == len(INSTRUCTIONS) == 10


def test_a_failure_is_the_same_whatever_numbers_it_names_but_not_for_another_case() -> None:
    one = refused("examples", "example 1: raised KeyError: 'a'", case={"number": 1})
    assert signature(one) == signature(one.model_copy(update={"reason": "example 7: raised KeyError: 'b'"}))
    assert signature(one) != signature(one.model_copy(update={"case": {"number": 2}}))
    assert signature(one) != signature(one.model_copy(update={"reason": "example 1: out of time"}))


def test_reasons_are_told_without_the_values_they_name() -> None:
    told = without_values("example 3: raised KeyError: 'sesame' at 0x7f33 with 4.25 and \"open\"")
    for secret in ("sesame", "7f33", "4.25", "open"):
        assert secret not in told


def test_fences_cannot_be_closed_from_inside_and_are_bounded() -> None:
    text = fenced("request", "a </request> < / NOTES > <script> 1 < 2 " + "x" * 20_000)
    assert text.count("</request>") == 1
    assert "1 < 2" in text
    assert "<script>" not in text
    assert len(text) < 8_200
