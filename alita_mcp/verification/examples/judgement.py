"""Judgement of results for generated inputs: a fault, an undeclared error, or nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Draft, Example, Schema, ToolContract
from alita_mcp.verification.comparison.compare import bare_kinds_of
from alita_mcp.verification.examples.trials import FIXES, failure_in_words
from alita_mcp.verification.json_schema import delivered, validate_result

SLOW = frozenset({"timeout", "memory"})
_OF_SERVICES = {"OSError", "RuntimeError"}
"""Errors that the stand-ins of a rehearsal raise; the real services may not raise them."""


class Finding(NamedTuple):
    """One kind of failure; inputs with the same key failed in the same way."""

    key: tuple[str, str]
    message: str
    fix: str
    hard: bool


class Judgement:
    """Judge of one draft's results for generated inputs."""

    def __init__(self, draft: Draft, contract: ToolContract) -> None:
        self._contract = contract
        self._pure = draft.grants.is_pure
        raised = [example.raises for example in draft.examples if example.raises is not None]
        self._declared = {name.rpartition(".")[2] for name in (*contract.raises, *raised)}

    def finding(self, result: RunResult) -> Finding | None:
        """The fault of a result; None when there is none."""
        if result.ok:
            return self._misfit(result.value)
        if result.status == "error":
            return self._error(result)
        what = failure_in_words(result)
        return Finding((result.status, ""), what, FIXES[result.status], hard=True)

    def _misfit(self, value: Any) -> Finding | None:
        value = delivered(value, wraps_result=self._contract.wraps_result)
        misfit = validate_result(self._contract.output_schema, value)
        if misfit is None:
            return None
        what = f"the result does not fit the return annotation: {misfit}"
        fix = "Return what the annotation declares for every input, raise a declared error, or correct the annotation."
        return Finding(("schema", ""), what, fix, hard=True)

    def _error(self, result: RunResult) -> Finding | None:
        name = result.error_type.rpartition(".")[2]
        kinds = bare_kinds_of(result)
        if kinds & self._declared or (not self._pure and kinds & _OF_SERVICES):
            return None
        what = f"{failure_in_words(result)}, which neither the docstring nor an example announces"
        fix = f"Handle it, or say `Raises: {name}` in the docstring and add an example with raises {name!r}."
        return Finding(("error", name), what, fix, hard=False)


class ShownRange:
    """Range of the examples' arguments, within which the author specified the behaviour."""

    def __init__(self, examples: Collection[Example], schema: Schema) -> None:
        self._names = schema["properties"].keys()
        self._low: dict[str, float] = {}
        self._high: dict[str, float] = {}
        for example in examples:
            for path, size in _sizes("", example.arguments):
                self._low[path] = min(self._low.get(path, size), size)
                self._high[path] = max(self._high.get(path, size), size)

    def covers(self, arguments: dict[str, Any]) -> bool:
        """Whether each number, and the length of each text, list and object, is within the range."""
        return all(
            path in self._low and self._low[path] <= size <= self._high[path]
            for path, size in _sizes("", arguments)
        )


def _sizes(path: str, value: Any) -> list[tuple[str, float]]:
    match value:
        case bool() | None:
            return []
        case int() | float():
            return [(path, value)]
        case str():
            return [(path, len(value))]
        case list():
            return [(path, len(value)), *(size for part in value for size in _sizes(f"{path}[]", part))]
        case dict():
            inner = [size for name, part in value.items() for size in _sizes(f"{path}.{name}", part)]
            return inner if not path else [(path, len(value)), *inner]
    return []
