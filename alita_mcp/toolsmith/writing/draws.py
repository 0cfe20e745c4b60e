"""Draws of what models write for one synthesis: specification, suites and candidates, each drawn apart."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import anyio

from alita_mcp.errors import AlitaError, BudgetSpent, ModelError
from alita_mcp.models.interface import Message
from alita_mcp.models.roles import Models
from alita_mcp.models.structured.typed_answers import ask_model
from alita_mcp.toolsmith.requests.modes import (
    CANDIDATE_TEMPERATURES,
    REPAIR_TEMPERATURE,
    TESTER_TEMPERATURES,
    seed,
)
from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.toolsmith.specification import Suite, WrittenCode
from alita_mcp.toolsmith.writing import prompts
from alita_mcp.toolsmith.writing.prompts import Brief

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class CandidateCode:
    """Code of one candidate as a model wrote it, with the conversation that led to it for repairs."""

    index: int
    written: WrittenCode
    messages: tuple[Message, ...]
    text: str
    repairs: int = 0


async def draw_suites(models: Models, brief: Brief, numbers: range) -> list[Suite]:
    """The suites of these numbers, blind to code and to one another; one that fails is left out.

    Raises:
        ModelError: not one could be had, or the budget is spent.
    """
    specified = brief.specification
    schema = None if specified is None else Suite.schema_for(specified.contract())

    async def draw(place: int) -> Suite:
        index = numbers[place]
        heat = TESTER_TEMPERATURES[index % len(TESTER_TEMPERATURES)]
        messages = prompts.write_tests(brief, index)
        tester = models.role("tester")
        answer = await ask_model(tester, messages, Suite, temperature=heat, seed=seed(index), schema=schema)
        return answer.value

    return await draw_all(draw, len(numbers))


async def draw_candidate(models: Models, brief: Brief, index: int) -> CandidateCode:
    """One module, blind to tests and to other candidates.

    Raises:
        ModelError: the model did not answer.
    """
    messages = prompts.write_code(brief, index)
    heat = CANDIDATE_TEMPERATURES[index % len(CANDIDATE_TEMPERATURES)]
    answer = await ask_model(models.role("coder"), messages, WrittenCode, temperature=heat, seed=seed(index))
    return CandidateCode(index=index, written=answer.value, messages=tuple(messages), text=answer.text)


async def repair(models: Models, candidate: CandidateCode, rejected: Rejected) -> CandidateCode:
    """The module after one repair.

    Raises:
        ModelError: the model did not answer.
    """
    messages = prompts.repair(candidate.messages, candidate.text, rejected)
    coder = models.role("coder")
    again = seed(candidate.index, candidate.repairs + 1)
    answer = await ask_model(coder, messages, WrittenCode, temperature=REPAIR_TEMPERATURE, seed=again)
    return CandidateCode(
        index=candidate.index,
        written=answer.value,
        messages=candidate.messages,
        text=answer.text,
        repairs=candidate.repairs + 1,
    )


async def draw_both(first: Callable[[], Awaitable[S]], second: Callable[[], Awaitable[T]]) -> tuple[S, T]:
    """The results of two draws that run at once; where one fails, the other still runs to its end.

    Raises:
        AlitaError: one of them failed.
    """
    results = await _run_all([first, second])
    for result in results:
        if isinstance(result, AlitaError):
            raise result
    return results[0], results[1]


async def draw_all(draw: Callable[[int], Awaitable[T]], count: int) -> list[T]:
    """The draws that succeeded, in order.

    Raises:
        BudgetSpent: the budget ended meanwhile.
        ModelError: none succeeded.
        AlitaError: something else than a model failed.
    """
    results = await _run_all([partial(draw, index) for index in range(count)])
    failures = [result for result in results if isinstance(result, AlitaError)]
    # one failed draw is left out; a spent budget, or anything but a model's failure, ends them all
    for failure in failures:
        if isinstance(failure, BudgetSpent) or not isinstance(failure, ModelError):
            raise failure
    if len(failures) == len(results):
        raise failures[0]
    return [result for result in results if not isinstance(result, AlitaError)]


async def _run_all(draws: Sequence[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """The result of each draw, or its failure; all run at once."""
    results: list[Any] = [None] * len(draws)

    async def run(place: int) -> None:
        try:
            results[place] = await draws[place]()
        except AlitaError as failure:
            results[place] = failure

    async with anyio.create_task_group() as group:
        for place in range(len(draws)):
            group.start_soon(run, place)
    return results
