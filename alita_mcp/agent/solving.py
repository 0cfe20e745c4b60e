"""Solver of a task: recall, plan, work, check the answer, remember."""

from __future__ import annotations

import anyio

from alita_mcp.agent.actions.observations import Observation, as_text
from alita_mcp.agent.interface import FileSeen, FinishedRun, Program
from alita_mcp.agent.react import Agent, Ended
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Solution, Stopped
from alita_mcp.library.clock import now

CLOSING_S = 0.8
"""How long a run that was stopped may take to write down how far it came."""
MAX_FILE_TEXT = 40_000
MAX_PROGRAMS = 3


async def solve(run: Run) -> Solution:
    """Works on a task until it is answered or a limit ends it; the last event carries the solution.

    Cancelled, it notes how far it came, and leaves nothing running.

    Raises:
        ModelError: no model answered before the first step; the run is noted as stopped all the same.
    """

    async def note_end(stopped: Stopped, why: str) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
            await _end(run, Ended(run.draft, False, (), stopped, why))

    try:
        await run.emit("started", run.request.task[:300])
        with anyio.move_on_after(run.request.budget.seconds or None) as clock:
            ended = await Agent(run, await _recall(run)).work()
        if clock.cancelled_caught:
            ended = Ended(run.draft, False, (), "seconds", "The budget of seconds is used up.")
    except anyio.get_cancelled_exc_class():
        await note_end("cancelled", "It was stopped.")
        raise
    except Exception as failure:
        await note_end("model", str(failure)[:500])
        raise
    return await _end(run, ended, remembers=True)


async def _recall(run: Run) -> str:
    """What the model reads of earlier runs."""
    if run.parts.memory is None or not run.request.memory:
        return ""
    found = await run.parts.memory.recall(run.request.task, run.parts.abilities.given_files())
    if found.text:
        run.access.has_private_data = True
        for each in found.values:
            sources = () if each.source is None else (each.source,)
            run.observations.adopt(
                Observation(each.name, each.value, as_text(each.value), sources, is_data=bool(sources))
            )
        await run.emit("recalled", f"{len(found.ids)} memories", data={"ids": list(found.ids)})
    return found.text


async def _end(run: Run, ended: Ended, *, remembers: bool = False) -> Solution:
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
        checked=ended.checked,
        steps=tuple(sorted(run.steps, key=lambda step: step.number)),
        tools_made=tuple(run.tools_made),
        tools_used=tuple(run.tools_used),
        calls=usage.calls,
        tokens=usage.tokens,
        cost=usage.cost_usd,
        usage=usage,
        seconds=round(run.seconds, 3),
        sources=tuple(run.sources.values()),
    )
    if ended.stopped:
        await run.emit("stopped", ended.why[:300])
    if remembers and run.parts.memory is not None and run.request.memory:
        proposal = await run.parts.memory.remember(finished_run(run, solution))
        if proposal is not None:
            tool = proposal.model_dump(mode="json", include={"name", "description", "code"})
            tool["tests"] = list(proposal.examples)
            solution = solution.model_copy(update={"proposal": tool})
    await run.emit("finished", (solution.answer or "no answer")[:300], data=solution.model_dump(mode="json"))
    return solution


def finished_run(run: Run, solution: Solution) -> FinishedRun:
    """What memory gets of a run: the programs and files that its answer rests on."""
    known = {each.reference: each for each in run.observations}
    programs, found = list[Program](), dict[str, list[str]]()
    for claim in solution.claims:
        observation, text, quote = known.get(claim.reference), claim.claim.strip(), claim.quote.strip()
        if observation is None:
            continue
        if observation.program is not None and observation.program not in programs:
            programs.append(observation.program)
        if observation.sources and text:
            said = f"{text} ({quote})" if quote else text
            found.setdefault(observation.sources[0].url, []).append(said)
    texts = {
        source.url: observation.value["text"][:MAX_FILE_TEXT]
        for observation in known.values()
        for source in observation.sources
        if source.url.startswith("file:") and isinstance(observation.value, dict)  # not a recalled text
    }
    return FinishedRun(
        run=run.id,
        task=run.request.task,
        at=now(),
        programs=tuple(programs[-MAX_PROGRAMS:]) if solution.solved else (),
        files=tuple(
            FileSeen(
                name=name,
                path=path,
                text=texts.get(f"file:{name}", ""),
                found=tuple(found.get(f"file:{name}", ())),
            )
            for name, path in run.parts.abilities.given_files().items()
        ),
        notes=run.notes,
    )
