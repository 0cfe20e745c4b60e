"""Keeper of one run's plans: read from the model's turns, and compared for a long task or after a failure."""

from __future__ import annotations

from collections.abc import Sequence

from alita_mcp.agent import prompts
from alita_mcp.agent.actions import tools
from alita_mcp.agent.planning.learned_values import HERE, LearnedValues, Taken, steps_left
from alita_mcp.agent.planning.plans import Plan, read_plans
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Step

LEAST_VALUE = 0.2
"""Below it no plan is worth following while others can be asked for."""
MAX_ASKED = 2
"""How often the model is asked for other plans in one run."""


class PlanKeeper:
    """The plans of one run; costs no call of a model."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._plans: tuple[Plan, ...] = ()
        self._taken: list[Taken] = []
        self._followed: Plan | None = None
        self._asked = 0

    async def advise(self, text: str, steps: Sequence[Step], *, doubted: bool = False) -> str:
        """Takes in a turn; returns what the model is told of its plans, mostly nothing.

        Args:
            text: What the model wrote beside its calls.
            steps: What its calls came to.
            doubted: Whether it was an answer that nothing observed supports.
        """
        most = self._run.parts.plans
        if not most:  # plain ReAct
            return ""
        self._taken += [(step.tool, step.ok) for step in steps]
        if doubted and self._taken:  # what reported success did not lead to an answer
            self._taken.append((self._taken[-1][0], False))
        failed = doubted or not all(step.ok for step in steps)
        plans = read_plans(text, tools.AGENT_TOOLS)[:most]
        self._plans = plans or self._plans
        # 1. One plan is followed as it is. 2. Several are compared when they are new, and after a failure.
        if plans and len(plans) == 1:
            await self._report(plans[0], (), f"Its author gives it {plans[0].estimate:.0%}.")
        if len(self._plans) > 1 and (plans or failed):
            advice = await self._compare()
            if advice is not None:
                return advice
            failed = True  # none is worth following
        # 3. Others are asked for, to be written beside the next calls.
        if failed and most > 1 and self._asked < MAX_ASKED and (len(self._plans) < 2 or not plans):
            self._asked += 1
            return prompts.ASK_FOR_PLANS
        return ""

    async def _compare(self) -> str | None:
        """Tells the model of a better plan than the one it follows; None where none is worth following."""
        learned, run = LearnedValues(), self._run
        for past in reversed(await run.parts.past_runs() if run.request.memory else ()):
            learned.learn_run(past.actions, past.solved)
        for action in dict.fromkeys(step.action for plan in self._plans for step in plan.steps):
            if action in tools.AGENT_TOOLS:
                continue
            tool = await run.parts.abilities.find_tool(action)
            if tool is None:
                learned.presume_missing(action)
            else:
                learned.presume_tool(action, tool.trust, tool.calls, tool.failures)
        learned.learn_actions(self._taken, HERE)
        values = [learned.plan_value(plan, self._taken) for plan in self._plans]
        fits = [len(steps_left(plan, self._taken)) <= run.steps_left for plan in self._plans]
        best = max(range(len(values)), key=lambda place: (fits[place], values[place], -place))
        if values[best] < LEAST_VALUE or not fits[best]:
            return None
        plan, left = self._plans[best], steps_left(self._plans[best], self._taken)
        if plan == self._followed or not left:
            return ""
        weak = learned.weakest(left)
        others = ", ".join(f"{value:.2f}" for place, value in enumerate(values) if place != best)
        why = (
            f"worth {values[best]:.2f}, the others {others}; its weakest step is {weak.action}, "
            f"{learned.count(weak.action):.0f} outcomes known"
        )
        await self._report(plan, tuple(values), why)
        return prompts.plan_to_follow(left, why)

    async def _report(self, plan: Plan, values: tuple[float, ...], why: str) -> None:
        self._followed = plan
        data = {
            "chosen": plan.model_dump(mode="json"),
            "candidates": [each.model_dump(mode="json") for each in self._plans],
            "values": list(values),
        }
        await self._run.emit("plan", f"{len(plan.steps)} steps: {why}"[:300], data=data)
