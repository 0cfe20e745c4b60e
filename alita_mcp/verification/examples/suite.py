"""Static checks of a draft's examples: against the contract, and against one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alita_mcp.errors import InvalidArguments
from alita_mcp.library.versions.files import mark_of
from alita_mcp.values import Check, Draft, Example, Schema, ToolContract
from alita_mcp.verification.comparison.compare import exclude_each_other, same_result
from alita_mcp.verification.comparison.difference import shown_pair
from alita_mcp.verification.examples.conditions import read_condition
from alita_mcp.verification.findings import ContractError, brief, failed, is_unicode, shown, shown_arguments
from alita_mcp.verification.json_schema import delivered, validate_arguments, validate_result

MAX_EXAMPLES = 100
MIN_FOR_VERIFIED = 3


def suite_checks(draft: Draft, contract: ToolContract) -> list[Check]:
    """Faults of the examples before anything runs; empty when there are none."""
    if not draft.examples:
        fix = "Give at least three: arguments and the expected result, one of them an edge or error case."
        return [failed("examples", "there are no examples, so nothing would be proved", fix)]
    if len(draft.examples) > MAX_EXAMPLES:
        message = f"{len(draft.examples)} examples, the limit is {MAX_EXAMPLES}"
        return [failed("examples", message, "Keep those that differ most.")]
    problems = (_problem(number, example, contract) for number, example in enumerate(draft.examples, 1))
    return [each for each in problems if each is not None] or _contradictions(draft.examples)


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
    if len(own) == len(examples):
        return _thin(examples, contract)
    if not _thin(own, contract):
        return []
    message = (
        f"{len(examples) - len(own)} examples were only recorded, {len(own)} are a caller's own; `verified` needs "
        f"{MIN_FOR_VERIFIED}, one an edge or error"
    )
    return [
        failed(
            "examples",
            message,
            "Send your own examples as tests.",
            hard=False,
        )
    ]


def _thin(examples: Sequence[Example], contract: ToolContract) -> list[Check]:
    checks = []
    if len(examples) < MIN_FOR_VERIFIED:
        message = f"{len(examples)} distinct examples; `verified` needs {MIN_FOR_VERIFIED}"
        checks.append(failed("examples", message, "Add examples that differ in kind.", hard=False))
    if not any(is_edge(example, contract.input_schema) for example in examples):
        message = "no example shows an edge or an error"
        fix = "Add one with an empty, zero, negative or omitted argument, or with `raises`."
        checks.append(failed("examples", message, fix, hard=False))
    return checks


def is_edge(example: Example, input_schema: Schema) -> bool:
    """Whether an example shows an error or an argument at the edge of what can be sent."""
    if example.raises is not None:
        return True
    omitted = input_schema["properties"].keys() - example.arguments.keys()
    return bool(omitted) or any(_is_edge_value(value) for value in example.arguments.values())


def wanted(example: Example) -> Any:
    """The expectation of an example as a check shows it."""
    if example.raises is not None:
        return f"raises {example.raises}"
    return f"check: {example.check}" if example.check is not None else shown(example.expected)


def _is_edge_value(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return value <= 0
    if isinstance(value, str):
        return len(value.strip()) <= 1 or not value.isascii()
    return value is None or len(value) <= 1


def _problem(number: int, example: Example, contract: ToolContract) -> Check | None:
    where, case = f"example {number}", shown_arguments(example.arguments)
    try:
        validate_arguments(contract.input_schema, example.arguments)
    except InvalidArguments as wrong:
        fix = "Send arguments as the function's parameters are named and typed, or change the function."
        message = f"{where}: arguments do not fit the signature: {wrong.message}"
        return failed("examples", message, fix, case=case)
    if example.check is not None:
        try:
            read_condition(example.check, where)
        except ContractError as wrong:
            return wrong.check
    if "expected" in example.outcome_fields and not is_unicode(example.expected):
        message = f"{where}: `expected` holds half of a surrogate pair, which no result can"
        return failed("examples", message, "Write valid Unicode text.")
    if "expected" in example.outcome_fields:
        result = delivered(example.expected, wraps_result=contract.wraps_result)
        misfit = validate_result(contract.output_schema, result)
        if misfit:
            message = f"{where}: the function never returns {brief(example.expected)}: {misfit}"
            fix = "Correct `expected`, or the function's return annotation."
            return failed("examples", message, fix, case=case)
    return None


def _contradictions(examples: Sequence[Example]) -> list[Check]:
    for number, example in enumerate(examples, 1):
        for earlier, other in enumerate(examples[: number - 1], 1):
            if not same_result(example.arguments, other.arguments, exact=True):
                continue
            if contradict(example, other):
                message = f"examples {earlier} and {number} contradict each other: same arguments"
                expected, got = wanted(other), wanted(example)
                if "expected" in example.outcome_fields & other.outcome_fields:
                    expected, got = shown_pair(other.expected, example.expected)
                seen = {"case": shown_arguments(example.arguments), "expected": expected, "got": got}
                return [failed("examples", message, "Remove the wrong one.", **seen)]
    return []


def contradict(one: Example, other: Example) -> bool:
    """Whether two examples with the same arguments exclude each other."""
    if (one.raises is None) != (other.raises is None):
        return True
    if one.raises is not None and other.raises is not None:
        return exclude_each_other(one.raises, other.raises)
    if one.check is not None or other.check is not None:
        return False
    return not same_result(one.expected, other.expected, one.exact or other.exact)
