"""Checks of a draft's examples: against the contract, one another, and functions with a constant result."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.versions.files import mark_of
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.values import Check, Draft, Example, Schema, ToolContract, Varying
from alita_mcp.verification.comparison import cut_pair, exclude_each_other, same_result
from alita_mcp.verification.examples.conditions import NOTHING_PINNED, evaluate, read_condition
from alita_mcp.verification.examples.trials import ClockAndSeed
from alita_mcp.verification.findings import (
    ContractError,
    brief,
    cut_arguments,
    cut_value,
    fail_check,
    is_unicode,
)
from alita_mcp.verification.json_schema import (
    check_arguments,
    validate_arguments,
    validate_result,
    wrap_result,
)

MAX_EXAMPLES = 100
MIN_FOR_VERIFIED = 3
CONSTANTS: tuple[Any, ...] = (None, 0, "", [], {}, True)


def suite_checks(draft: Draft, contract: ToolContract) -> list[Check]:
    """Faults of the examples before anything runs; empty when there are none."""
    if not draft.examples:
        fix = "Send at least three: arguments and the expected result, one of them an edge or error case."
        return [fail_check("examples", "there are no examples, so nothing would be proved", fix)]
    if len(draft.examples) > MAX_EXAMPLES:
        message = f"too many examples: {len(draft.examples)}, the limit is {MAX_EXAMPLES}"
        return [fail_check("examples", message, "Keep those that differ most.")]
    numbered = list(enumerate(draft.examples, 1))
    problems = [
        check
        for number, example in numbered
        if (check := _problem(number, example, contract, draft.varies)) is not None
    ]
    if problems:
        return problems
    for number, example in numbered:
        for earlier, other in numbered[: number - 1]:
            same_call = same_result(example.arguments, other.arguments, exact=True)
            if not same_call or not contradict(example, other):
                continue
            expected, got = expectation_of(other), expectation_of(example)
            if "expected" in example.outcome_fields & other.outcome_fields:
                expected, got = cut_pair(other.expected, example.expected)
            message = f"examples {earlier} and {number} contradict each other: same arguments"
            facts = {"case": cut_arguments(example.arguments), "expected": expected, "got": got}
            return [fail_check("examples", message, "Remove the wrong one.", **facts)]
    return []


def fit_examples(examples: Sequence[Example], input_schema: Schema) -> tuple[Example, ...]:
    """Examples with arguments as calls have them, without those that fit no call."""
    fitting = []
    for example in examples:
        with suppress(InvalidArguments):
            arguments = validate_arguments(input_schema, example.arguments)
            fitting.append(example.model_copy(update={"arguments": arguments}))
    return tuple(fitting)


def distinct_examples(examples: Sequence[Example]) -> list[tuple[int, Example]]:
    """Examples with their numbers; one that repeats an earlier one word for word counts once."""
    kept: list[tuple[int, Example]] = []
    for number, example in enumerate(examples, 1):
        if not any(same_result(example.as_json(), other.as_json(), exact=True) for _, other in kept):
            kept.append((number, example))
    return kept


def own_examples(draft: Draft, examples: Sequence[Example]) -> list[Example]:
    """Examples that an author vouches for, without those that runs of the code produced."""
    marks = draft.recorded.examples if draft.recorded else ()
    return [example for example in examples if not marks or mark_of(example) not in marks]


def thin_suite_checks(draft: Draft, examples: Sequence[Example], contract: ToolContract) -> list[Check]:
    """Soft checks: reasons why passing these examples is not enough for `verified`.

    What a run merely showed does not count: wrong code shows wrong results.
    """
    own = own_examples(draft, examples)
    checks = []
    if len(own) < MIN_FOR_VERIFIED:
        message = f"{len(own)} distinct examples; `verified` needs {MIN_FOR_VERIFIED}"
        checks.append(fail_check("examples", message, "Add examples that differ in kind.", hard=False))
    if not any(is_edge(example, contract.input_schema) for example in own):
        message = "no example shows an edge or an error"
        fix = "Add one with an empty, zero, negative or omitted argument, or with `raises`."
        checks.append(fail_check("examples", message, fix, hard=False))
    if not checks or len(own) == len(examples):
        return checks
    message = (
        f"{len(examples) - len(own)} examples were only recorded, {len(own)} are a caller's own; `verified` needs "
        f"{MIN_FOR_VERIFIED}, one an edge or error"
    )
    return [fail_check("examples", message, "Send your own examples as tests.", hard=False)]


def is_edge(example: Example, input_schema: Schema) -> bool:
    """Whether an example shows an error or an argument at the edge of what can be sent."""
    if example.raises is not None:
        return True
    if input_schema["properties"].keys() - example.arguments.keys():
        return True  # an argument is left out

    def is_edge_value(value: Any) -> bool:
        match value:
            case bool():
                return False
            case int() | float():
                return value <= 0
            case str():
                return len(value.strip()) <= 1 or not value.isascii()
        return value is None or len(value) <= 1

    return any(map(is_edge_value, example.arguments.values()))


def expectation_of(example: Example) -> Any:
    """The expectation of an example as a check shows it."""
    if example.raises is not None:
        return f"raises {example.raises}"
    return f"check: {example.check}" if example.check is not None else cut_value(example.expected)


def _problem(
    number: int, example: Example, contract: ToolContract, varies: Sequence[Varying]
) -> Check | None:
    where, case = f"example {number}", cut_arguments(example.arguments)
    try:
        check_arguments(contract.input_schema, example.arguments)
    except InvalidArguments as wrong:
        fix = "Name and type the arguments like the function's parameters, or change the function."
        message = f"{where}: arguments do not fit the signature: {wrong.message}"
        return fail_check("examples", message, fix, case=case)
    if example.check is not None:
        try:
            read_condition(example, where, varies)
        except ContractError as wrong:
            return wrong.check
    if "expected" in example.outcome_fields and not is_unicode(example.expected):
        message = f"{where}: `expected` holds half of a surrogate pair, which no result can"
        return fail_check("examples", message, "Write valid Unicode text.")
    if "expected" in example.outcome_fields:
        result = wrap_result(example.expected, wraps_result=contract.wraps_result)
        misfit = validate_result(contract.output_schema, result)
        if misfit:
            message = f"{where}: the function never returns {brief(example.expected)}: {misfit}"
            fix = "Correct `expected`, or the function's return annotation."
            return fail_check("examples", message, fix, case=case)
    return None


def contradict(one: Example, other: Example) -> bool:
    """Whether two examples with the same arguments exclude each other."""
    # (1) an error and a result, (2) two errors, (3) a condition, which may hold of any result, or (4) two results
    if (one.raises is None) != (other.raises is None):
        return True
    if one.raises is not None and other.raises is not None:
        return exclude_each_other(one.raises, other.raises)
    if one.check is not None or other.check is not None:
        return False
    return not same_result(one.expected, other.expected, one.exact or other.exact)


async def constant_stub_checks(
    examples: Sequence[Example], input_schema: Schema, sandbox: Sandbox, pinned: ClockAndSeed = NOTHING_PINNED
) -> list[Check]:
    """Fails when a constant, or a function that always raises, satisfies every example.

    A constant passes examples with `expected` only when all expect the same, and never one with `raises`: no
    code has to run to know that. `check` expressions are tried on constants in the sandbox, without the tool.
    A tool without parameters may well be constant and is not held to this, and of one that varies each single result
    may be right: that it is not constant its rehearsals show. What a check admits is looked at all the same.
    """
    if not input_schema["properties"] and not pinned.is_set:
        return []
    by_result = [example for example in examples if example.raises is None]
    if not by_result:
        message = "every example raises, so a function that always raises passes them"
        return [fail_check("examples", message, "Add examples with results.")]
    conditions = [example for example in by_result if example.check is not None]
    candidates = list(CONSTANTS)  # of these, the ones that satisfy all examples with `expected`
    if values := [example for example in by_result if example.check is None]:
        first = values[0].expected
        same = all(same_result(first, each.expected, each.exact) for each in values)
        candidates = [first] if same else []
    verdicts = await evaluate(sandbox, [(each, [*CONSTANTS, *candidates]) for each in conditions], pinned)
    for example, held_by in zip(conditions, verdicts, strict=True):
        if all(held is True for held in held_by[: len(CONSTANTS)]):
            message = f"the check `{example.check}` holds for None, 0, an empty text and an empty list alike"
            return [fail_check("examples", message, "Say in the check what makes a result right.")]
    if len(by_result) < len(examples) or pinned.is_set:
        return []  # no constant raises
    for index, candidate in enumerate(candidates, len(CONSTANTS)):
        if all(held_by[index] is True for held_by in verdicts):
            return [constant_passes(candidate, len(examples))]
    return []


def constant_passes(constant: Any, count: int) -> Check:
    """The failure of a suite that one constant satisfies."""
    which = "the only example" if count == 1 else f"all {count} examples"
    message = f"a function that always returns {brief(constant)} passes {which}, so nothing is proved"
    return fail_check("examples", message, "Add an example with another result.")
