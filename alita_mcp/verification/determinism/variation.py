"""Causes of varying results: the clock, random numbers, the order of sets, or chance.

The call is run with all of these set, and then with each of them changed alone.
"""

from __future__ import annotations

import ast
import json
from typing import Any, Literal

from alita_mcp.sandbox.interface import RunResult
from alita_mcp.values import Check, Draft, Example, Varying
from alita_mcp.verification.code.names import Names
from alita_mcp.verification.comparison.compare import same_result
from alita_mcp.verification.examples.clock_and_seed import pinned_clock_and_seed
from alita_mcp.verification.examples.trials import RehearsedDraft, job_of, run_jobs
from alita_mcp.verification.findings import failed

Mover = Literal["clock", "random", "hash seed", "chance"]
"""`chance`: what cannot be set, such as addresses, threads and how long something took."""
_MAY_VARY = {"random", "secrets", "uuid", "time", "datetime", "os", "numpy", "calendar", "zoneinfo"}


_GENERATORS = {"random.Random", "numpy.random.default_rng", "numpy.random.RandomState"}


def generator_checks(draft: Draft, tree: ast.Module, names: Names) -> list[Check]:
    """A failure for a random generator made at import, which draws the same numbers in each later call.

    A module is imported once and each call begins from there, with the generators as the import left them.
    """
    values = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    made = (node for value in values if value for node in ast.walk(value) if isinstance(node, ast.Call))
    early = next((node for node in made if names.dotted(node.func) in _GENERATORS), None)
    if early is None or "random" not in draft.varies:
        return []
    message = "a generator made when the module is imported draws the same in every call"
    return [failed("static", message, "Make it inside the function.", line=early.lineno)]


def may_vary(imports: tuple[str, ...]) -> bool:
    """Whether a tool imports a module that gives time or random numbers."""
    return not _MAY_VARY.isdisjoint(imports)


async def moved_by(subject: RehearsedDraft, example: Example) -> set[Mover]:
    """The causes that alone change an example's result; `chance` where it changes while all are pinned.

    Raises:
        SandboxError: the sandbox failed.
    """
    one, other = (pinned_clock_and_seed(subject.draft.code, number) for number in (0, 1))
    plain = job_of(subject.draft, example, subject.environment)
    base: dict[str, Any] = {
        "clock_offset_s": 0, "moment": one.moment, "random_seed": one.seed, "hash_seed": 1, "fresh": True,
    }  # fmt: skip
    changes: dict[Mover, dict[str, Any]] = {
        "chance": {},
        "clock": {"moment": other.moment},
        "random": {"random_seed": other.seed},
        "hash seed": {"hash_seed": 2},
    }
    jobs = [plain.model_copy(update={**base, **change}) for change in ({}, *changes.values())]
    first, *changed = await run_jobs(subject.rehearsal, jobs)
    moved = {mover for mover, result in zip(changes, changed, strict=True) if _differ(first, result)}
    return {"chance"} if "chance" in moved else moved


def declaration(draft: Draft, moved: set[Mover]) -> str:
    """Advice to declare what a result varies by; empty where nothing can be declared."""
    named: set[Varying] = {
        "random" if each in ("random", "chance") else "clock" for each in moved - {"hash seed"}
    }
    missing = sorted(named - {*draft.varies})
    if not missing:
        return ""
    varies = json.dumps(sorted({*draft.varies, *missing}))
    what = {"clock": "the clock", "random": "random numbers"}
    if moved == {"chance"}:
        cause = "It changes with each call, whatever the clock and the seed"
    else:
        cause = f"It changes with {' and '.join(what[each] for each in missing)}"
    steady = "take them as arguments" if missing == ["clock"] else "seed them, or sort what comes from sets"
    steady = "take the time as an argument" if missing == ["clock"] else steady
    return f'{cause}. If that is meant, add "varies": {varies} and use `check` in the tests; else {steady}.'


def _differ(one: RunResult | None, other: RunResult | None) -> bool:
    if one is None or other is None:
        return False
    same_end = (one.status, one.error_type) == (other.status, other.error_type)
    return not (same_end and same_result(one.value, other.value))
