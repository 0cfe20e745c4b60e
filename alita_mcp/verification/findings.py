"""Findings of the gates: contract errors, and checks that passed or failed."""

from __future__ import annotations

import json
from typing import Any

from alita_mcp.errors import AlitaError
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Check, Stage

SHOWN_CHARACTERS = 2_000
"""Longer values come back cut: a check is read by a model, not replayed."""


class ContractError(AlitaError):
    """A broken tool contract; `check` says where, what and how to fix it."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.message, hint=check.fix)
        self.check = check


def refusal(message: str, fix: str, *, line: int | None = None, stage: Stage = "static") -> ContractError:
    """The error for one broken rule of the contract."""
    return ContractError(fail_check(stage, message, fix, line=line))


def fail_check(
    stage: Stage, message: str, fix: str, *, line: int | None = None, hard: bool = True, **seen: Any
) -> Check:
    """A failed check, with a line number when the code shows one; `seen` are further fields, such as `got`."""
    where = f"line {line}: " if line else ""
    return Check(stage=stage, passed=False, hard=hard, message=where + message, fix=fix, **seen)


def pass_check(stage: Stage, message: str = "") -> Check:
    """A passed check."""
    return Check(stage=stage, passed=True, message=message)


def cut_value(value: Any) -> Any:
    """A JSON value as a check carries it: whole when small, else the beginning of its JSON text."""
    text = json.dumps(value)
    if len(text) > SHOWN_CHARACTERS:
        return f"{text[:SHOWN_CHARACTERS]}… ({len(text)} characters)"
    return value if is_unicode(value) else text


def cut_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as a check carries them; each value cut by itself."""
    return {encodable(name[:100]): cut_value(value) for name, value in arguments.items()}


def json_key(value: Any) -> str:
    """The JSON text of a value with sorted keys: equal values have equal texts."""
    return json.dumps(value, sort_keys=True)


def call_facts(arguments: dict[str, Any], result: RunResult) -> dict[str, Any]:
    """Fields of a check that describe one call: its arguments, the last lines of its trace and its seconds."""
    case = cut_arguments(arguments)
    return {"case": case, "trace": result.trace[-10:], "seconds": result.wall_seconds}


def brief(value: Any, limit: int = 120) -> str:
    """A JSON value cut to fit into a sentence."""
    text = encodable(json.dumps(value, ensure_ascii=False, default=repr))
    return text if len(text) <= limit else f"{text[:limit]}…"


def is_unicode(value: Any) -> bool:
    """Whether all texts in a JSON value are valid Unicode, without halves of surrogate pairs."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def encodable(text: str) -> str:
    """The text with halves of surrogate pairs escaped, so that it can be encoded."""
    return text.encode("utf-8", "backslashreplace").decode()
