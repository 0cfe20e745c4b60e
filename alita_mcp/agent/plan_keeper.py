"""Plan keeper: chooses the plan that the model follows, and another one when a step fails.

The choice itself is `agent.planning`, pure; this asks the planner's model for candidates and reports the choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from alita_mcp.agent import prompts
from alita_mcp.agent.actions.abilities import FoundTool
from alita_mcp.agent.interface import Recalled
from alita_mcp.agent.planning.choice import (
    LEAST_VALUE,
    Choice,
    OutcomeRecord,
    Tried,
    blame,
    choose,
)
from alita_mcp.agent.planning.plans import (
    AGENT_TOOLS,
    PLANS_SHAPE,
    Plan,
    PlansAnswer,
    PlanStep,
    plans_from,
)
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Step
from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.models.structured.typed_answers import ask_model

MAX_ASKED = 2
"""How often the planner is asked for candidates in one run."""
TOOLS_SHOWN = 8


class PlanKeeper:
    """The plans of one run."""

    def __init__(self, run: Run, recalled: Recalled) -> None:
        self._run = run
        self._recalled = recalled
        self._plans: tuple[Plan, ...] = ()
        self._tried: list[Tried] = []
        self._records: dict[str, OutcomeRecord] = {}
        self._asked = 0
        self._choice: Choice | None = None
        self._reported: Plan | None = None
        self.text = ""
        """The plan as the model reads it; empty without one."""
        self.tools: tuple[str, ...] = ()
        """Tools of the library that the plan names."""

    async def make_plan(self) -> None:
        """Has candidate plans made, where they are wanted, and chooses one."""
        if self._run.parts.plans:  # else plain ReAct
            await self._ask_for_plans("")
        if self._plans:
            await self._choose()

    async def record_steps(self, steps: Sequence[Step]) -> str:
        """Records steps; returns a message for the model where the plan changed, else an empty text."""
        if self._choice is None:
            return ""
        self._tried += [Tried(step=self._step_of_plan(step), ok=step.ok) for step in steps]
        if all(step.ok for step in steps):
            return ""
        before = self._choice.plan
        chosen = await self._choose()
        if chosen is None and self._asked < MAX_ASKED and self._run.parts.plans:
            failed = "; ".join(f"{step.tool}: {step.observation[:200]}" for step in steps if not step.ok)
            await self._ask_for_plans(failed)
            chosen = await self._choose()
        return self.text if chosen not in (None, before) else ""

    async def record_doubt(self) -> str:
        """Records an unsupported answer; returns a message for the model where another plan is better now."""
        done = [tried.step for tried in self._tried if tried.ok]
        if self._choice is None or not done:
            return ""
        shares = blame(done, self._records)
        self._tried += [
            Tried(step=step, ok=True, doubt=doubt) for step, doubt in zip(done, shares, strict=True)
        ]
        before = self._choice.plan
        return self.text if await self._choose() not in (None, before) else ""

    async def _ask_for_plans(self, failed: str) -> None:
        """Candidates of the planner's model besides those that there are; none where it gives none."""
        run = self._run
        found = await run.parts.abilities.search_tools(run.request.task[:2_000], TOOLS_SHOWN)
        self._note_outcomes(found.tools)
        self._asked += 1
        known = prompts.plan_material(
            run.request.task,
            tools=[(tool.signature, tool.summary) for tool in found.tools],
            files=run.parts.abilities.files(),
            recalled=self._recalled.text,
            failed=failed,
        )
        asked = prompts.plans(known, run.parts.plans, PLANS_SHAPE)
        try:
            answer = (
                await ask_model(run.parts.models.role("planner"), asked, PlansAnswer, temperature=0.4)
            ).value
        except BudgetSpent:
            raise
        except ModelError as failure:
            await run.emit("plan", f"No plan: {failure.message}"[:300])
            return
        names = {tool.name for tool in found.tools}
        self._plans = (*self._plans, *plans_from(answer, names, run.parts.plans))
        named = [step.tool for plan in self._plans for step in plan.steps if step.tool in names]
        self.tools = tuple(dict.fromkeys((*self.tools, *named)))

    def _note_outcomes(self, tools: Iterable[FoundTool]) -> None:
        """Records how often tools worked for all clients, where that is more than memory knows."""
        for tool in tools:
            record = self._records.get(f"tool:{tool.name}", OutcomeRecord())
            self._records[f"tool:{tool.name}"] = record.model_copy(
                update={
                    "successes": max(record.successes, float(tool.calls - tool.failures)),
                    "failures": max(record.failures, float(tool.failures)),
                    "trust": tool.trust,
                }
            )

    async def _choose(self) -> Plan | None:
        """Chooses a plan and reports a new one; None where none is worth following."""
        run = self._run
        can_ask = self._asked < MAX_ASKED and bool(run.parts.plans)
        least = LEAST_VALUE if can_ask else 0.0
        chosen = choose(self._plans, self._records, self._tried, run.steps_left, least)
        self._choice = chosen
        data = {
            "chosen": chosen.plan.model_dump(mode="json") if chosen.plan is not None else None,
            "candidates": [plan.model_dump(mode="json") for plan in self._plans],
            "values": [value if value > float("-inf") else None for value in chosen.values],
        }
        if chosen.plan != self._reported:
            self._reported = chosen.plan
            await run.emit("plan", chosen.why[:300], data=data)
        if chosen.plan is not None:
            self.text = prompts.plan_text(chosen.plan, chosen.left, chosen.why)
        return chosen.plan

    def _step_of_plan(self, step: Step) -> PlanStep:
        """The step of the plan that a step carried out: the first of its tool or way that has not worked yet."""
        way = step.decision.way if step.decision is not None else AGENT_TOOLS.get(step.tool, "reuse")
        done = {tried.step.key for tried in self._tried if tried.ok}
        plan = self._choice.plan if self._choice is not None else None
        waiting = [each for each in plan.steps if each.key not in done] if plan is not None else []
        for each in waiting:
            if each.tool == step.tool or (not each.tool and each.way == way):
                return each
        reason = step.decision.reason if step.decision is not None else ""
        return PlanStep(
            need=(reason or step.tool)[:300], way=way, tool="" if step.tool in AGENT_TOOLS else step.tool
        )
