"""Waiting for jobs, and their questions to the person at the client: within one call, between calls, or as a task.

A client of the 2025 protocols is sent requests while its call waits. One of 2026-07-28 gets the questions as a result;
its next call brings the answers and a state that names the parked job and the round, sealed by the SDK's boundary:
encrypted, bound to the tool and its arguments, expiring. The first answer to a question counts.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import mcp_types as types
from pydantic import ValidationError

from alita_mcp.errors import InvalidArguments, UsageError
from alita_mcp.server.client.identity import is_modern
from alita_mcp.server.client.scopes import may_answer
from alita_mcp.server.client.timeouts import NO_TIMEOUT_WITHIN_S
from alita_mcp.server.elicitation import elicit_request, question_sender, read_answer, shows_forms
from alita_mcp.toolsmith.requests.outcomes import Working
from alita_mcp.values import Value

if TYPE_CHECKING:
    from alita_mcp.server.client.timeouts import ClientTimeouts
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.server.tasks import Task
    from alita_mcp.toolsmith.jobs.jobs import Job, Tool
    from alita_mcp.toolsmith.jobs.person_questions import PersonAnswer, Question

T = TypeVar("T")
MAX_ROUNDS = 10
"""A client gives up when one of its calls is answered with questions more often."""


class RoundState(Value):
    """State that a client keeps between two rounds; sealed, so that no client can read or make one."""

    job: str
    rounds: int


async def resume_job(call: ToolCall, tool: Tool) -> Job[Any] | None:
    """The job that a call goes on with, once it has taken the answers that the call brings; None for a new one.

    Raises:
        InvalidArguments: a job_id comes with other fields.
        UsageError: the state is not one, or its job is gone.
    """
    job_id: str | None = call.arguments.get("job_id")
    if job_id is not None and len(call.arguments) > 1:
        raise InvalidArguments("job_id asks for the outcome of a job.", hint="Leave out the other fields.")
    state = read_state(call)
    if state is None:
        return (
            None if job_id is None else await call.app.jobs.find_job(job_id, tool, owner=call.identity.owner)
        )
    job = await call.app.jobs.find_job(state.job, tool, owner=call.identity.owner)
    if job.person is not None and may_answer(call.ctx, job.tool):
        responses = call.params.input_responses or {}
        asked = [question for question in job.person.unanswered if question.key in responses]
        await job.person.take_answers({each.key: read_answer(responses[each.key], each) for each in asked})
    return job


def read_state(call: ToolCall) -> RoundState | None:
    """The state that a call brings from the round before; None where it is the first.

    Raises:
        UsageError: it is not the state of a round.
    """
    if call.params.request_state is None:
        return None
    try:
        return RoundState.model_validate_json(call.params.request_state)
    except ValidationError:
        problem = f"The request state is not one of {call.name}."
        raise UsageError(problem, hint=f"Call {call.name} without it.") from None


async def wait_in_call(
    call: ToolCall, job: Job[T], spent_s: float = 0
) -> T | Working | types.InputRequiredResult:
    """Result of one call, `spent_s` old: the outcome, `working`, or questions to the client."""
    timeouts: ClientTimeouts = call.ctx.lifespan_context.timeouts
    within_s = call.app.settings.limits.answer_within_s
    if job.has_timed_out:
        within_s = min(within_s, NO_TIMEOUT_WITHIN_S)
    wait = partial(
        call.app.wait_for_job,
        job,
        call.on_stage,
        within_s=max(0.0, within_s - spent_s),
        goes_on=partial(timeouts.has_timed_out, call.ctx, job),
    )
    # 1. The job asks nothing, or the client shows no forms.
    # 2. A 2025 client is sent the questions as they come, on the stream of its call.
    # 3. A modern client gets those that wait as a result, ten times at most; then it has to ask for the job by its id.
    questions = job.person if shows_forms(call.ctx) and may_answer(call.ctx, job.tool) else None
    if questions is None:
        return await wait()
    if not is_modern(call.ctx):
        with questions.attach_sender(question_sender(call.ctx)):
            return await wait()
    outcome = await wait(until=questions.ready)
    if not isinstance(outcome, Working) or not questions.open_questions:
        return outcome
    last = read_state(call)
    rounds = last.rounds if last else 0
    if rounds >= MAX_ROUNDS:
        more = f"your person has more questions to answer than one call may ask; call {job.tool} with this job_id"
        return outcome.model_copy(update={"next": more})
    await call.app.jobs.show_questions(job)
    state = RoundState(job=job.id, rounds=rounds + 1)
    requests: types.InputRequests = {each.key: elicit_request(each) for each in questions.next_round()}
    return types.InputRequiredResult(input_requests=requests, request_state=state.model_dump_json())


async def wait_in_task(call: ToolCall, job: Job[T], task: Task) -> T:
    """The job's outcome, however long it takes; the task asks what the job asks. Cancelled, it cancels the job."""
    task.tool = job.tool

    async def ask_in_task(question: Question) -> PersonAnswer:
        request = elicit_request(question).model_dump(by_alias=True, mode="json", exclude_none=True)
        responses = await task.ask_client({question.key: request})
        return read_answer(responses[question.key], question)

    questions = job.person if shows_forms(call.ctx) else None
    try:
        with questions.attach_sender(ask_in_task) if questions else nullcontext():
            while isinstance(outcome := await call.app.wait_for_job(job, task.report), Working):
                pass
            return outcome
    except anyio.get_cancelled_exc_class():
        if task.status == "cancelled":
            await call.app.jobs.cancel(job)
        raise


async def job_result(
    call: ToolCall, job: Job[T], result_of: Callable[[T | Working], types.CallToolResult]
) -> ToolResult:
    """Result of a call that waits for a job; a task where that takes long and the client supports it."""

    async def finish(task: Task) -> types.CallToolResult:
        done: T = await wait_in_task(call, job, task)
        return result_of(done)

    if call.as_task:
        return call.tasks.start_task(finish, call.identity.owner, job.id)
    outcome = await wait_in_call(call, job)
    if isinstance(outcome, types.InputRequiredResult):
        return outcome
    is_task = isinstance(outcome, Working) and call.tasks.are_supported(call.ctx)
    return call.tasks.start_task(finish, call.identity.owner, job.id) if is_task else result_of(outcome)
