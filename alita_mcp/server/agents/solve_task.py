"""Handler of `solve_task`: a run of the manager agent, its answer, its questions, or the plan's prompt."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import mcp_types as types

from alita_mcp.errors import InvalidArguments, ToolNotFound, UsageError
from alita_mcp.server.agents.texts import solution_fields, solution_text
from alita_mcp.server.client.scopes import principal_of
from alita_mcp.server.elicitation import questions_to_person
from alita_mcp.server.results.building import tool_result
from alita_mcp.server.results.texts import outcome_text
from alita_mcp.server.rounds import job_result, resume_job
from alita_mcp.toolsmith.requests.outcomes import Working

if TYPE_CHECKING:
    from alita_mcp.agent.values import Solution, TaskRequest
    from alita_mcp.server.context import ToolResult
    from alita_mcp.server.sources import ToolCall
    from alita_mcp.settings import Settings
    from alita_mcp.toolsmith.jobs.jobs import Job


async def handle_solve_task(call: ToolCall) -> ToolResult:
    """Works on the task of one call, or says how one that took longer ended.

    Raises:
        UsageError: no model is configured, too many tasks are under way, or there is no such job.
    """
    # 1. A call for a task under way, by its job_id or with answers to its questions.
    # 2. A job_id whose job is gone, for example with an earlier process: the stored run says how it ended.
    # 3. A new task, or the same one that this client asked for before and missed.
    try:
        job = await resume_job(call, "solve_task")
    except UsageError:
        with suppress(ToolNotFound):
            runs = call.app.tasks.runs_of(call.identity.owner)
            if solution := await runs.solution(call.arguments.get("job_id", "")):
                return _task_result(solution)
        raise
    if job is None:
        request = read_task(call.arguments, call.app.settings)
        may_make = "make" in principal_of(call.ctx).scopes
        job = await _begin_task(call, request.model_copy(update={"makes_tools": may_make}))
    return await job_result(call, job, _task_result)


def read_task(arguments: Mapping[str, Any], settings: Settings) -> TaskRequest:
    """A client's request for a task, within what the settings allow.

    Raises:
        InvalidArguments: there is no task in it, or no money for it.
    """
    from alita_mcp.agent.task_budget import task_budget  # no list of tools waits for the agent
    from alita_mcp.agent.values import TaskRequest

    task = arguments.get("task", "")
    if not task.strip():
        raise InvalidArguments("There is no task.", hint="Describe it in task, or send a job_id.")
    if arguments.get("max_usd", 1) <= 0:
        raise InvalidArguments(
            "max_usd must be above 0.", hint="Leave it out to use the limit of the settings."
        )
    budget = task_budget(
        settings,
        steps=arguments.get("max_steps"),
        usd=arguments.get("max_usd"),
        seconds=arguments.get("max_seconds"),
    )
    return TaskRequest(task=task, budget=budget)


async def _begin_task(call: ToolCall, request: TaskRequest) -> Job[Solution]:
    """The job of a task; that of the same request of the same client where it is under way or was missed."""
    person = questions_to_person(call)
    is_shared = person is None or bool(person.client)  # a client that joins a job is asked its questions
    return await call.app.tasks.begin_task(
        request,
        identity=call.identity._replace(client=call.maker.name),
        person=person,
        reader=call.maker,
        key=f"solve_task {call.identity.key} {request.model_dump_json()}" if is_shared else "",
    )


def _task_result(outcome: Solution | Working) -> types.CallToolResult:
    if isinstance(outcome, Working):
        working = outcome.model_dump(mode="json")
        return tool_result(working, outcome_text(working))
    fields = solution_fields(outcome)
    return tool_result(fields, solution_text(fields))
