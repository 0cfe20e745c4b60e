"""Jobs that ask the client's model or its person: within one call, parked between rounds of calls, or as a task.

A client of the 2025 protocols is sent requests while its call waits. One of 2026-07-28 is answered with the questions;
its next call brings the answers and a state that names the parked job and the round, sealed by the SDK's boundary:
encrypted, bound to the tool and its arguments, expiring. Here it is taken once.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import anyio
import mcp_types as types
from pydantic import ValidationError

from alita_mcp.errors import UsageError
from alita_mcp.progress import ReportStage
from alita_mcp.server import elicitation, sampling
from alita_mcp.server.sampling import is_modern
from alita_mcp.synthesis.jobs.jobs import first_of
from alita_mcp.synthesis.requests.outcomes import Working
from alita_mcp.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alita_mcp.models.lending import Answer, Carrier, Desk, Question
    from alita_mcp.server.client.patience import Patience
    from alita_mcp.server.context import Context
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.server.tasks import Task
    from alita_mcp.synthesis.jobs.jobs import Job, Tool, Wait

T = TypeVar("T")
MAX_ROUNDS = 10
"""A client gives up when one call of its is answered with questions more often."""
_MORE_ROUNDS = "there are more questions for your {} than one call may ask; call {} with this job_id"


class State(Value):
    """What a client keeps between two rounds; sealed, it cannot be read or made by one."""

    job: str
    round: str
    rounds: int
    asks: Literal["model", "person"] = "model"


class Channel(Protocol):
    """How questions of one kind travel: `sampling` to the client's model, `elicitation` to its person."""

    def can_be_asked(self, ctx: Context) -> bool: ...  # noqa: D102 - as both modules say
    def request_for(self, question: Question) -> types.InputRequest: ...  # noqa: D102
    def answer_of(self, response: Any, question: Question, /) -> Answer: ...  # noqa: D102
    def carrier_of(self, ctx: Context) -> Carrier: ...  # noqa: D102


def channel_of(desk: Desk) -> Channel:
    """The channel for the questions of a desk."""
    return elicitation if desk.asks == "person" else sampling


class Parked(NamedTuple):
    """Where a call that brings answers goes on."""

    job: Job[Any]
    rounds: int
    """How often its client was answered with questions so far."""


def parked_job(call: ToolCall, tool: Tool = "synthesize_tool") -> Parked | None:
    """The job whose questions this call answers, its answers taken; None where the call brings no state.

    Raises:
        UsageError: the state is of another round, or its job is gone.
    """
    if call.params.request_state is None:
        return None
    state = read_state(call.params.request_state, tool)
    job = call.app.jobs.find(state.job, tool)
    desk = next((desk for desk in job.desks if desk.asks == state.asks), None)
    if desk is not None:
        asked = {question.key: question for question in desk.waiting}
        given = call.params.input_responses or {}
        answer_of = channel_of(desk).answer_of
        answers = {key: answer_of(given[key], asked[key]) for key in asked.keys() & given.keys()}
        desk.take(state.round, answers)
    return Parked(job, state.rounds)


def read_state(sealed: str, tool: Tool = "synthesize_tool") -> State:
    """The state of a round, as the boundary unsealed it.

    Raises:
        UsageError: it is none.
    """
    try:
        return State.model_validate_json(sealed)
    except ValidationError:
        problem = f"The request state is not one of {tool}."
        raise UsageError(problem, hint=f"Call {tool} without it.") from None


async def answered_in_call(
    call: ToolCall, job: Job[T], on_stage: ReportStage, rounds: int = 0, spent_s: float = 0
) -> T | Working | types.InputRequiredResult:
    """What one call, `spent_s` old, is answered with: the outcome, `working`, or questions to the client."""
    patience: Patience = call.ctx.lifespan_context.patience
    patience.waits_for(call.ctx, job.id)
    answer = partial(
        call.app.answer, job, on_stage,
        within_s=max(0.0, patience.within(call.ctx, call.app.settings.answer_within_s) - spent_s),
        goes_on=partial(patience.goes_on, call.ctx),
    )  # fmt: skip
    desks = _desks_at(call.ctx, job)
    if not desks:
        return await answer()
    if not is_modern(call.ctx):
        with ExitStack() as carried:
            for desk in desks:
                carried.enter_context(desk.carried_by(channel_of(desk).carrier_of(call.ctx)))
            return await answer()
    outcome = await answer(until=_ready(desks))
    waiting = next((desk for desk in desks if desk.waiting), None)
    if not isinstance(outcome, Working) or waiting is None:
        return outcome
    if rounds >= MAX_ROUNDS:
        return outcome.model_copy(update={"next": _MORE_ROUNDS.format(waiting.asks, job.tool)})
    return _questions(job, waiting, rounds + 1)


def _desks_at(ctx: Context, job: Job[Any]) -> list[Desk]:
    """The desks of a job whose questions this client can take."""
    return [desk for desk in job.desks if channel_of(desk).can_be_asked(ctx)]


def _ready(desks: Sequence[Desk]) -> Wait:
    return partial(first_of, *(desk.ready for desk in desks))


def _questions(job: Job[Any], desk: Desk, rounds: int) -> types.InputRequiredResult:
    channel, asked = channel_of(desk), desk.hand_out()
    state = State(job=job.id, round=asked.token, rounds=rounds, asks=desk.asks)
    return types.InputRequiredResult(
        input_requests={question.key: channel.request_for(question) for question in asked.questions},
        request_state=state.model_dump_json(),
    )


async def answered_in_task(call: ToolCall, job: Job[T], task: Task) -> T:
    """The job's outcome, however long it takes; the task asks what the job asks. Cancelled, it cancels the job."""
    desks = _desks_at(call.ctx, job)
    while True:
        outcome = await call.app.answer(job, task.report, until=_ready(desks) if desks else None)
        if not isinstance(outcome, Working):
            return outcome
        try:
            for desk in desks:
                if desk.waiting:
                    await _ask_in_task(desk, task)
        except anyio.get_cancelled_exc_class():
            await call.app.jobs.cancel(job)
            raise


async def _ask_in_task(desk: Desk, task: Task) -> None:
    """One round; without answers in time the questions end by themselves."""
    asked, channel = desk.hand_out(), channel_of(desk)
    requests = {question.key: channel.request_for(question) for question in asked.questions}
    wire = {
        key: request.model_dump(by_alias=True, mode="json", exclude_none=True)
        for key, request in requests.items()
    }
    with anyio.move_on_after(desk.wait_s):
        given = await task.ask(wire)
        desk.take(
            asked.token, {each.key: channel.answer_of(given[each.key], each) for each in asked.questions}
        )
