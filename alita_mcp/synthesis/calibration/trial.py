"""Trial of a model on one calibration task: two blind suites and one module, judged by the known truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from pydantic import BaseModel

from alita_mcp.errors import ModelError, SandboxError
from alita_mcp.models.interface import Message
from alita_mcp.models.roles import Models, Role
from alita_mcp.models.structured.asking import Unreadable, ask
from alita_mcp.synthesis.calibration.tasks import CalibrationTask
from alita_mcp.synthesis.model_records.result import MAX_TESTS_OF_A_TASK, TaskResult
from alita_mcp.synthesis.requests.modes import CANDIDATE_TEMPERATURES, TESTER_TEMPERATURES, seed
from alita_mcp.synthesis.specification.values import Suite, WrittenCode
from alita_mcp.synthesis.writing import prompts
from alita_mcp.synthesis.writing.candidate_sampler import side_by_side
from alita_mcp.synthesis.writing.prompts import Brief
from alita_mcp.synthesis.writing.rounds import specified
from alita_mcp.values import Example
from alita_mcp.verification.agreement.matrix import PassMatrix, prepare, run_matrix
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

SUITES = 2
MAX_TESTS_OF_A_SUITE = MAX_TESTS_OF_A_TASK // SUITES
CALLS = SUITES + 1
"""Questions of one task, where no answer has to be asked for again."""
AGREES = 0.9
"""A module that passes so much of its own model's tests agrees with them."""

V = TypeVar("V", bound=BaseModel)


@dataclass(frozen=True)
class Written:
    """Module and suites that a model wrote for one task; None where a module could not be read."""

    code: WrittenCode | None
    suites: tuple[tuple[Example, ...], ...]


async def tried(task: CalibrationTask, models: Models, rehearsal: Rehearsal, brief: Brief) -> TaskResult:
    """Runs one task with a model and returns what it got right.

    Raises:
        ModelError: the model did not answer; an answer that cannot be read is a wrong one instead.
        SandboxError: the sandbox failed.
    """
    return await judged(task, await written(models, brief), rehearsal)


async def written(models: Models, brief: Brief) -> Written:
    """Asks for the module and the suites side by side, with the prompts of every synthesis.

    Raises:
        ModelError: the model did not answer.
    """
    both = partial(side_by_side, partial(_suite, models, brief, 0), partial(_suite, models, brief, 1))
    suites, code = await side_by_side(both, partial(_module, models, brief))
    return Written(code, suites)


async def _suite(models: Models, brief: Brief, index: int) -> tuple[Example, ...]:
    asked, heat = prompts.write_tests(brief, index), TESTER_TEMPERATURES[index]
    suite = await _read(models, "tester", asked, Suite, heat, seed(1, index))
    return suite.fitting(specified(brief).contract())[:MAX_TESTS_OF_A_SUITE] if suite is not None else ()


async def _module(models: Models, brief: Brief) -> WrittenCode | None:
    asked, heat = prompts.write_code(brief, 0), CANDIDATE_TEMPERATURES[0]
    return await _read(models, "coder", asked, WrittenCode, heat, seed(1, 0))


async def judged(task: CalibrationTask, answer: Written, rehearsal: Rehearsal) -> TaskResult:
    """Judges the module by the hidden examples and the tests by the reference, all in the sandbox."""
    reference = await prepare(task.draft(task.reference), rehearsal, _silent)
    candidate = None
    if answer.code is not None:
        candidate = await prepare(task.draft(answer.code.code, answer.code.packages), rehearsal, _silent)
    rows = [reference, *([candidate] if candidate is not None else [])]
    matrix = await run_matrix(rows, [task.hidden, *answer.suites], rehearsal)
    known = _passes(matrix, 0)
    if not all(known.get(test) for test in matrix.suites[0]):
        raise SandboxError(
            f"The reference of the calibration task {task.name!r} fails in this sandbox.",
            hint="Try again when the machine is less busy; `alita doctor` tries the sandbox.",
        )
    own = frozenset().union(*matrix.suites[1:])
    passes = _passes(matrix, 1) if candidate is not None else {}
    agreed = len([test for test in own if passes.get(test)])
    ran = [test for test in own if test in known]
    return TaskResult(
        right=bool(passes) and all(passes.get(test) for test in matrix.suites[0]),
        tests_right=sum(known[test] for test in ran),
        tests_wrong=sum(not known[test] for test in ran),
        agreed=bool(own) and agreed >= AGREES * len(own),
    )


def _passes(matrix: PassMatrix, number: int) -> dict[int, bool]:
    """What one module does with each test that it was run with: a test behind a time-out was not."""
    row = matrix.rows[number]
    checks = row.checks if row is not None else ()
    return {place: check.passed for place, check in enumerate(checks) if check is not None}


async def _read(
    models: Models, role: Role, asked: list[Message], shape: type[V], heat: float, number: int
) -> V | None:
    """An answer; None where it was given twice and could not be read."""
    try:
        return (await ask(models.role(role), asked, shape, temperature=heat, seed=number)).value
    except ModelError as failure:
        if isinstance(failure.__cause__, Unreadable):
            return None
        raise


async def _silent(_stage: str) -> None:
    """Ignores the progress."""
