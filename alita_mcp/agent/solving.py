"""Solver of a task: recall, plan, work, check the answer, remember."""

from __future__ import annotations

from typing import Any

import anyio

from alita_mcp.agent import prompts
from alita_mcp.agent.actions.observations import as_text
from alita_mcp.agent.delegation import Delegation
from alita_mcp.agent.interface import Recalled
from alita_mcp.agent.learning import episode_of, facts_of
from alita_mcp.agent.plan_keeper import PlanKeeper
from alita_mcp.agent.react import Agent, Brief, Ended
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Solution

CLOSING_S = 0.8
"""How long a run that was stopped may take to write down how far it came."""


async def solve(run: Run) -> Solution:
    """Works on a task until it is answered or a limit ends it; the last event carries the solution.

    Cancelled, it notes how far it came, and leaves nothing running.

    Raises:
        ModelError: no model answered before the first step; the run is noted as stopped all the same.
    """
    recalled = Recalled()
    try:
        await run.emit("started", run.request.task[:300])
        with anyio.move_on_after(run.request.budget.seconds or None) as clock:
            recalled = await _recalled(run)
            ended = await _worked(run, recalled)
        if clock.cancelled_caught:
            ended = Ended(run.draft, False, (), "seconds", "The budget of seconds is used up.")
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
            await _closed(run, Ended(run.draft, False, (), "cancelled", "It was stopped."), recalled)
        raise
    except Exception as failure:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
            await _closed(run, Ended(run.draft, False, (), "model", str(failure)[:500]), recalled)
        raise
    return await _closed(run, ended, recalled, remembers=True)


async def _recalled(run: Run) -> Recalled:
    if run.parts.memory is None or not run.request.memory:
        return Recalled()
    found = await run.parts.memory.recall(run.request.task)
    if found.ids:
        text = f"{len(found.recipes)} recipes, {len(found.facts)} facts, {len(found.episodes)} earlier runs"
        await run.emit("recalled", text, data={"ids": list(found.ids)})
    return found


async def _worked(run: Run, recalled: Recalled) -> Ended:
    agent_plan = PlanKeeper(run, recalled)
    await agent_plan.begin()
    brief = Brief(task=run.request.task, recalled=prompts.remembered(recalled))
    agent = Agent(run, brief, agent_plan, Delegation(run))
    for name in agent_plan.tools:
        tool = await run.parts.abilities.find_tool(name)
        if tool is not None:
            agent.steps.offer(tool)
    return await agent.work()


async def _closed(run: Run, ended: Ended, recalled: Recalled, *, remembers: bool = False) -> Solution:
    """The solution, after it was reported, stored and remembered."""
    solution = _solution(run, ended, recalled)
    if ended.stopped:
        await run.emit("stopped", ended.why[:300])
    if remembers and run.parts.memory is not None and run.request.memory:
        facts = facts_of(run, ended.claims, solution.steps)
        await run.parts.memory.remember(episode_of(run, solution), facts)
    told: dict[str, Any] = solution.model_dump(mode="json")
    await run.emit("finished", (solution.answer or "no answer")[:300], data=told)
    return solution


def _solution(run: Run, ended: Ended, recalled: Recalled) -> Solution:
    usage = run.parts.meter.usage
    return Solution(
        run=run.id,
        task=run.request.task,
        answer=as_text(ended.answer).strip(),
        solved=ended.solved,
        stopped=ended.stopped,
        stopped_why=ended.why,
        claims=ended.claims,
        steps=tuple(sorted(run.steps, key=lambda step: step.number)),
        tools_made=tuple(run.tools_made),
        tools_used=tuple(run.tools_used),
        calls=usage.calls,
        tokens=usage.prompt_tokens + usage.completion_tokens,
        cost=usage.cost_usd,
        usage=usage,
        seconds=round(run.seconds, 3),
        sources=tuple(run.sources.values()),
        recalled=recalled.ids,
    )
