"""Handler of `solve_task`: a run of the manager agent, its answer, its questions, or the plan's prompt."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types

from alita_mcp.agent.values import Solution, TaskRequest
from alita_mcp.errors import InvalidArguments, ModelError, ToolNotFound, UsageError
from alita_mcp.server.agents.requests import budget_within, uri_of
from alita_mcp.server.agents.texts import guidance_text, solution_text, told_solution
from alita_mcp.server.client.client_identity import key_of, name_of_client
from alita_mcp.server.elicitation import MAX_ANSWER, questions_to_person
from alita_mcp.server.results.building import printable, tool_result
from alita_mcp.server.results.texts import outcome_text
from alita_mcp.server.results.unreviewed import shown
from alita_mcp.server.rounds import Parked, asked_job_id, job_result, parked_job
from alita_mcp.toolsmith.jobs.person_questions import FilledForm, FormField
from alita_mcp.toolsmith.requests.outcomes import Working

if TYPE_CHECKING:
    from alita_mcp.agent.interface import AskPerson
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.settings import Settings
    from alita_mcp.toolsmith.jobs.jobs import Job
    from alita_mcp.toolsmith.jobs.person_questions import PendingQuestions

MAX_QUESTION = 2_000
_QUESTION = "A model that works on a task for you asks this. Give no password and no key.\n\n{question}"
_FIELD = FormField("answer", "Answer", "Leave it empty where you cannot say; the work goes on without it.")


async def answer_solve(call: ToolCall) -> ToolResult:
    """Works on the task of one call, or tells how one that took longer ended."""
    job_id = asked_job_id(call, "how a task ended")
    known = parked_job(call, "solve_task")
    if known is None and job_id is not None:
        found = await _found(call, job_id)
        if isinstance(found, Solution):
            return _outcome_result(found)
        known = Parked(found, 0)
    if known is None:
        request = read_task(call.arguments, call.app.settings)
        if not call.app.tasks.has_model:
            return _guided(await call.app.tasks.guidance(request, partial(shown, call.app)))
        known = Parked(_begun(call, request), 0)
    return await job_result(call, known.job, known.rounds, _outcome_result)


def read_task(asked: Mapping[str, Any], settings: Settings) -> TaskRequest:
    """Request of a client for a task, within what the settings allow.

    Raises:
        InvalidArguments: there is no task in it, or no money for it.
    """
    task = asked.get("task", "")
    if not task.strip():
        raise InvalidArguments("There is no task.", hint="Say in task what is to be done, or send a job_id.")
    if asked.get("max_usd", 1) <= 0:
        raise InvalidArguments("max_usd must be above 0.", hint="Leave it out for what the settings allow.")
    budget = budget_within(
        settings, steps=asked.get("max_steps"), usd=asked.get("max_usd"), seconds=asked.get("max_seconds")
    )
    return TaskRequest(task=task, budget=budget)


async def _found(call: ToolCall, job_id: str) -> Job[Solution] | Solution:
    """The job of that id, or how a run ended whose job is gone.

    Raises:
        UsageError: there is neither.
    """
    try:
        return call.app.jobs.find(job_id, "solve_task")
    except UsageError:
        with suppress(ToolNotFound):
            ended = await call.app.tasks.runs.solution(job_id)
            if ended is not None:
                return ended
        raise


def _begun(call: ToolCall, request: TaskRequest) -> Job[Solution]:
    """The job of a task; that of the same request of the same client where it is under way or was missed."""
    person = questions_to_person(call)
    is_shared = person is None or bool(person.owner)  # a client that joins a job is asked its questions
    key = f"solve_task {key_of(call.ctx)} {request.model_dump_json()}" if is_shared else ""
    known: Job[Solution] | None = call.app.jobs.known(key)
    if known is not None:
        return known
    job = call.app.tasks.begin_task(
        request,
        client=name_of_client(call.ctx),
        person=person,
        ask=None if person is None else asking(person),
        shown=partial(shown, call.app),
    )
    job.key = key
    return job


def asking(person: PendingQuestions) -> AskPerson:
    """Function that asks a person one question of a task, in a form of one line."""

    async def ask(question: str) -> str | None:
        text = _QUESTION.format(question=printable(question, MAX_QUESTION))
        try:
            answer = await person.ask_form(text, [_FIELD])
        except ModelError:  # nobody answered
            return None
        said = answer.texts.get(_FIELD.key, "").strip() if isinstance(answer, FilledForm) else ""
        return said[:MAX_ANSWER] or None

    return ask


def _outcome_result(outcome: Solution | Working) -> types.CallToolResult:
    if isinstance(outcome, Working):
        waiting = outcome.model_dump(mode="json")
        return tool_result(waiting | {"events": uri_of(outcome.job_id)}, outcome_text(waiting))
    told = told_solution(outcome)
    return types.CallToolResult(
        content=[
            types.TextContent(text=solution_text(told)),
            types.ResourceLink(uri=told["events"], name=f"task {outcome.run}", mime_type="application/json"),
        ],
        structured_content=told,
    )


def _guided(plan: Solution) -> types.CallToolResult:
    """What the connected agent needs to do the task itself."""
    told = {"status": "no_model", "prompt": plan.prompt, "tools": list(plan.tools)}
    return tool_result(told, guidance_text(told))
