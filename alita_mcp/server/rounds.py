"""Questions of jobs to the person at the client: within one call, between rounds of calls, or as a task.

A client of the 2025 protocols is sent requests while its call waits. One of 2026-07-28 is answered with the questions;
its next call brings the answers and a state that names the parked job and the round, sealed by the SDK's boundary:
encrypted, bound to the tool and its arguments, expiring. Here it is taken once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import anyio
import mcp_types as types
from pydantic import ValidationError

from alita_mcp.errors import InvalidArguments, UsageError
from alita_mcp.server.client.client_identity import is_modern
from alita_mcp.server.elicitation import answer_of, can_be_asked, request_for, sender_of
from alita_mcp.toolsmith.requests.outcomes import Working
from alita_mcp.values import Value

if TYPE_CHECKING:
    from alita_mcp.server.client.patience import Patience
    from alita_mcp.server.context import Context, ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.server.tasks import Task
    from alita_mcp.toolsmith.jobs.jobs import Job, Tool
    from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions, QuestionRound

T = TypeVar("T")
MAX_ROUNDS = 10
"""A client gives up when one call of its is answered with questions more often."""
_MORE_ROUNDS = "there are more questions for your person than one call may ask; call {} with this job_id"


class State(Value):
    """State that a client keeps between two rounds; sealed, it cannot be read or made by one."""

    job: str
    round: str
    rounds: int


class Parked(NamedTuple):
    """Parked job that a call with a person's answers goes on with."""

    job: Job[Any]
    rounds: int
    """How often its client was answered with questions so far."""


def asked_job_id(call: ToolCall, what: str) -> str | None:
    """The id of the job that a call asks about; `what` it asks stands in the error.

    Raises:
        InvalidArguments: it comes with other fields.
    """
    job_id: str | None = call.arguments.get("job_id")
    if job_id is not None and len(call.arguments) > 1:
        raise InvalidArguments(f"job_id asks {what} and goes alone.", hint="Leave out the other fields.")
    return job_id


def parked_job(call: ToolCall, tool: Tool = "synthesize_tool", job_id: str | None = None) -> Parked | None:
    """The job that a call goes on with, once it has the answers in the call; where there is no state, that of `job_id`.

    Raises:
        UsageError: the state is of another round, or its job is gone.
    """
    if call.params.request_state is None:
        return None if job_id is None else Parked(call.app.jobs.find_job(job_id, tool), 0)
    state = read_state(call.params.request_state, tool)
    job = call.app.jobs.find_job(state.job, tool)
    if job.person is not None:
        asked = {question.key: question for question in job.person.open_questions}
        given = call.params.input_responses or {}
        answers = {key: answer_of(given[key], asked[key]) for key in asked.keys() & given.keys()}
        job.person.take_answers(state.round, answers)
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


async def outcome_in_call(
    call: ToolCall, job: Job[T], rounds: int = 0, spent_s: float = 0
) -> T | Working | types.InputRequiredResult:
    """Result of one call, `spent_s` old: the outcome, `working`, or questions to the client."""
    patience: Patience = call.ctx.lifespan_context.patience
    patience.waits_for(call.ctx, job.id)
    outcome_of = partial(
        call.app.wait_for_job, job, call.on_stage,
        within_s=max(0.0, patience.within(call.ctx, call.app.settings.limits.answer_within_s) - spent_s),
        goes_on=partial(patience.goes_on, call.ctx),
    )  # fmt: skip
    questions = _askable(call.ctx, job)
    if questions is None:
        return await outcome_of()
    if not is_modern(call.ctx):
        with questions.attach_sender(sender_of(call.ctx)):
            return await outcome_of()
    outcome = await outcome_of(until=questions.ready)
    if not isinstance(outcome, Working) or not questions.open_questions:
        return outcome
    if rounds >= MAX_ROUNDS:
        return outcome.model_copy(update={"next": _MORE_ROUNDS.format(job.tool)})
    asked = questions.next_round()
    state = State(job=job.id, round=asked.token, rounds=rounds + 1)
    return types.InputRequiredResult(input_requests=_requests(asked), request_state=state.model_dump_json())


async def job_result(
    call: ToolCall, job: Job[T], rounds: int, told: Callable[[T | Working], types.CallToolResult]
) -> ToolResult:
    """Result of a call that waits for a job; a task where that takes long and the client supports it."""
    outcome = await outcome_in_call(call, job, rounds)
    if isinstance(outcome, types.InputRequiredResult):
        return outcome

    async def until_done(task: Task) -> types.CallToolResult:
        done: T = await outcome_in_task(call, job, task)
        return told(done)

    is_task = isinstance(outcome, Working) and call.tasks.supported(call.ctx)
    return call.tasks.start(until_done) if is_task else told(outcome)


def _askable(ctx: Context, job: Job[Any]) -> PendingQuestions | None:
    """What a job asks the person at this client; None where it asks nothing, or the client shows no forms."""
    return job.person if can_be_asked(ctx) else None


def _requests(asked: QuestionRound) -> types.InputRequests:
    return {question.key: request_for(question) for question in asked.questions}


async def outcome_in_task(call: ToolCall, job: Job[T], task: Task) -> T:
    """The job's outcome, however long it takes; the task asks what the job asks. Cancelled, it cancels the job."""
    questions = _askable(call.ctx, job)
    while True:
        outcome = await call.app.wait_for_job(job, task.report, until=questions.ready if questions else None)
        if not isinstance(outcome, Working):
            return outcome
        try:
            if questions is not None and questions.open_questions:
                await _ask_in_task(questions, task)
        except anyio.get_cancelled_exc_class():
            await call.app.jobs.cancel(job)
            raise


async def _ask_in_task(questions: PendingQuestions, task: Task) -> None:
    """One round; without answers in time the questions end by themselves."""
    asked = questions.next_round()
    wire = {
        key: request.model_dump(by_alias=True, mode="json", exclude_none=True)
        for key, request in _requests(asked).items()
    }
    with anyio.move_on_after(questions.wait_s):
        given = await task.ask(wire)
        questions.take_answers(
            asked.token, {each.key: answer_of(given[each.key], each) for each in asked.questions}
        )
