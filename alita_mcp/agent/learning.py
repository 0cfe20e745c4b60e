"""Learning from a run: its steps and claims become an episode and facts for the memory."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.agent.actions import tools
from alita_mcp.agent.interface import Episode, Fact, RecipeStep
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Claim, Solution, Step
from alita_mcp.library.clock import now
from alita_mcp.research.values import Source

MAX_SUBJECT = 200
MAX_FACT = 1_000
_NO_STEPS = frozenset(
    {
        tools.SEARCH,
        tools.LIST_FILES,
        tools.READ_VALUE,
        tools.ASK_PERSON,
        tools.BUILD,
        tools.DELEGATE,
        tools.FINISH,
    }
)
"""Looks and talks: a later run of a like task does not need them. What was built is called by a step of its own."""


def episode_of(run: Run, solution: Solution) -> Episode:
    """The episode of a run, for the memory."""
    worked = [step for step in solution.steps if step.ok and not step.agent and step.tool not in _NO_STEPS]
    failed = dict.fromkeys(step.tool for step in solution.steps if not step.ok)
    return Episode(
        run=run.id,
        task=run.request.task,
        solved=solution.solved,
        answer=solution.answer[:MAX_FACT],
        at=now(),
        tools_used=solution.tools_used,
        tools_made=solution.tools_made,
        steps=tuple(_recipe_step(step) for step in worked),
        failed=tuple(failed),
        calls=solution.calls,
        cost_usd=solution.cost,
        seconds=solution.seconds,
    )


def _recipe_step(step: Step) -> RecipeStep:
    need = step.decision.reason if step.decision is not None else ""
    return RecipeStep(tool=step.tool, need=need[:300] or step.tool, arguments=step.arguments)


def facts_of(run: Run, claims: Sequence[Claim], steps: Sequence[Step]) -> tuple[Fact, ...]:
    """Facts of a run: claims supported by a source, and corrections of failed calls."""
    known = {each.reference: each for each in run.observations}
    facts = []
    for claim in claims:
        observation = known.get(claim.reference)
        if observation is None or not observation.sources or not claim.claim.strip():
            continue
        said = (
            f"{claim.claim.strip()} ({claim.quote.strip()})" if claim.quote.strip() else claim.claim.strip()
        )
        facts.append(
            Fact(text=said[:MAX_FACT], subject=run.request.task[:MAX_SUBJECT], source=observation.sources[0])
        )
    return (*facts, *_lessons(run, steps))


def _lessons(run: Run, steps: Sequence[Step]) -> list[Fact]:
    """For each tool whose call failed and then worked: both calls, once."""
    failed: dict[str, Step] = {}
    lessons: dict[str, Fact] = {}
    for step in steps:
        if step.tool in tools.AGENT_TOOLS:
            continue
        if not step.ok:
            failed.setdefault(step.tool, step)
        elif step.tool in failed and step.tool not in lessons:
            before = failed[step.tool]
            text = f"{step.tool}: {before.arguments} failed, {step.arguments} worked"
            source = Source(url=f"run:{run.id}", retrieved_at=now())
            subject = f"calls of {step.tool}"
            lessons[step.tool] = Fact(text=text[:MAX_FACT], subject=subject, kind="lesson", source=source)
    return list(lessons.values())
