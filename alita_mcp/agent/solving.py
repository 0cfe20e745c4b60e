"""Solver of a task: recall, plan, work, check the answer, remember."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from alita_mcp.agent import prompts
from alita_mcp.agent.actions import tools
from alita_mcp.agent.actions.observations import as_text
from alita_mcp.agent.interface import Episode, Fact, Recalled, RecipeStep
from alita_mcp.agent.plan_keeper import PlanKeeper
from alita_mcp.agent.react import Agent, Brief, Delegation, Ended
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Claim, Solution, Step, Stopped
from alita_mcp.library.clock import now
from alita_mcp.research.values import Source

CLOSING_S = 0.8
"""How long a run that was stopped may take to write down how far it came."""
MAX_SUBJECT = 200
MAX_FACT = 1_000
_NO_RECIPE_STEPS = frozenset((
    tools.SEARCH, tools.LIST_FILES, tools.READ_VALUE, tools.ASK_PERSON, tools.BUILD, tools.DELEGATE, tools.FINISH,
))  # fmt: skip
"""Looks and talks: a later run of a like task does not need them. What was built is called by a step of its own."""


async def solve(run: Run) -> Solution:
    """Works on a task until it is answered or a limit ends it; the last event carries the solution.

    Cancelled, it notes how far it came, and leaves nothing running.

    Raises:
        ModelError: no model answered before the first step; the run is noted as stopped all the same.
    """
    recalled = Recalled()

    async def note_end(stopped: Stopped, why: str) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
            await _end(run, Ended(run.draft, False, (), stopped, why), recalled)

    try:
        await run.emit("started", run.request.task[:300])
        with anyio.move_on_after(run.request.budget.seconds or None) as clock:
            recalled = await _recall(run)
            ended = await _work(run, recalled)
        if clock.cancelled_caught:
            ended = Ended(run.draft, False, (), "seconds", "The budget of seconds is used up.")
    except anyio.get_cancelled_exc_class():
        await note_end("cancelled", "It was stopped.")
        raise
    except Exception as failure:
        await note_end("model", str(failure)[:500])
        raise
    return await _end(run, ended, recalled, remembers=True)


async def _recall(run: Run) -> Recalled:
    if run.parts.memory is None or not run.request.memory:
        return Recalled()
    found = await run.parts.memory.recall(run.request.task)
    if found.ids:
        run.access.has_private_data = True
        text = f"{len(found.recipes)} recipes, {len(found.facts)} facts, {len(found.episodes)} earlier runs"
        await run.emit("recalled", text, data={"ids": list(found.ids)})
    return found


async def _work(run: Run, recalled: Recalled) -> Ended:
    plan = PlanKeeper(run, recalled)
    await plan.make_plan()
    brief = Brief(task=run.request.task, recalled=prompts.memory_lines(recalled))
    agent = Agent(run, brief, plan, Delegation(run))
    for name in plan.tools:
        tool = await run.parts.abilities.find_tool(name)
        if tool is not None:
            agent.steps.offer(tool)
    return await agent.work()


async def _end(run: Run, ended: Ended, recalled: Recalled, *, remembers: bool = False) -> Solution:
    """Reports, stores and remembers the end of a run; returns its solution."""
    usage = run.parts.meter.usage
    solution = Solution(
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
    if ended.stopped:
        await run.emit("stopped", ended.why[:300])
    if remembers and run.parts.memory is not None and run.request.memory:
        facts = facts_of(run, ended.claims, solution.steps)
        await run.parts.memory.remember(episode_of(run, solution), facts)
    await run.emit("finished", (solution.answer or "no answer")[:300], data=solution.model_dump(mode="json"))
    return solution


def episode_of(run: Run, solution: Solution) -> Episode:
    """The episode of a run, for the memory."""
    steps = [
        RecipeStep(
            tool=step.tool,
            need=(step.decision.reason[:300] if step.decision else "") or step.tool,
            arguments=step.arguments,
        )
        for step in solution.steps
        if step.ok and not step.agent and step.tool not in _NO_RECIPE_STEPS
    ]
    failed = dict.fromkeys(step.tool for step in solution.steps if not step.ok)
    return Episode(
        run=run.id,
        task=run.request.task,
        solved=solution.solved,
        answer=solution.answer[:MAX_FACT],
        at=now(),
        tools_used=solution.tools_used,
        tools_made=solution.tools_made,
        steps=tuple(steps),
        failed=tuple(failed),
        calls=solution.calls,
        cost_usd=solution.cost,
        seconds=solution.seconds,
    )


def facts_of(run: Run, claims: Sequence[Claim], steps: Sequence[Step]) -> tuple[Fact, ...]:
    """Facts of a run: claims that a source supports, and corrections of failed calls."""
    known = {each.reference: each for each in run.observations}
    facts = []
    for claim in claims:
        observation, text, quote = known.get(claim.reference), claim.claim.strip(), claim.quote.strip()
        if observation is not None and observation.sources and text:
            text = f"{text} ({quote})" if quote else text
            subject = run.request.task[:MAX_SUBJECT]
            facts.append(Fact(text=text[:MAX_FACT], subject=subject, source=observation.sources[0]))
    # For each tool of the library whose call failed and then worked: both calls, once.
    failed: dict[str, Step] = {}
    lessons: dict[str, Fact] = {}
    for step in steps:
        if step.tool in tools.AGENT_TOOLS:
            continue
        if not step.ok:
            failed.setdefault(step.tool, step)
        elif step.tool in failed and step.tool not in lessons:
            text = f"{step.tool}: {failed[step.tool].arguments} failed, {step.arguments} worked"
            lessons[step.tool] = Fact(
                text=text[:MAX_FACT],
                subject=f"calls of {step.tool}",
                kind="lesson",
                source=Source(url=f"run:{run.id}", retrieved_at=now()),
            )
    return (*facts, *lessons.values())
