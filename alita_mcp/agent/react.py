"""Loop of the manager agent (ReAct, Yao et al. 2023): ask the model, execute its calls, show the results.

Calls of one turn run side by side. An answer ends the task only once each of its claims rests on an observation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from pydantic import ValidationError

from alita_mcp.agent import prompts
from alita_mcp.agent.actions import tools
from alita_mcp.agent.actions.observations import as_text
from alita_mcp.agent.answers.answer_check import checked
from alita_mcp.agent.conversation import Conversation
from alita_mcp.agent.plan_keeper import PlanKeeper
from alita_mcp.agent.run import Run
from alita_mcp.agent.steps import Delegate, Steps
from alita_mcp.agent.values import Claim, Step, Stopped
from alita_mcp.errors import BudgetSpent, InvalidArguments, ModelError
from alita_mcp.models.interface import Completion, ToolCall, ToolSpec
from alita_mcp.verification.json_schema import validate_result

AT_ONCE = 8
"""Calls of one turn that run side by side."""
MAX_CHECKS = 2
"""How often an answer without support is sent back."""
MAX_SILENT = 3
"""How often a model may neither call nor answer."""


@dataclass(frozen=True)
class Brief:
    """Assignment of one agent."""

    task: str
    agent: str = ""
    """Empty for the manager; `1` or `1.2` for a sub-task."""
    wanted: dict[str, Any] | None = None
    """JSON Schema of the answer; None: a text."""
    recalled: str = ""


@dataclass(frozen=True)
class Ended:
    """End of an agent's work."""

    answer: Any
    solved: bool
    claims: tuple[Claim, ...] = ()
    stopped: Stopped = ""
    why: str = ""


class Agent:
    """An agent that works on one brief."""

    def __init__(
        self, run: Run, brief: Brief, plan: PlanKeeper | None = None, delegate: Delegate | None = None
    ) -> None:
        self._run = run
        self._brief = brief
        self._plan = plan
        self.steps = Steps(run, brief.agent, delegate)
        self._talk = Conversation(())
        self._delegates = delegate is not None
        self._checks = 0
        self._silent = 0

    async def work(self) -> Ended:
        """Works until the brief ends, and returns its end.

        Raises:
            ModelError: no model answered, before a first step was taken.
        """
        plan = self._plan.told if self._plan is not None else ""
        self._talk = Conversation(
            prompts.opening(
                self._brief.task,
                files=self._run.parts.abilities.files(),
                recalled=self._brief.recalled,
                plan=plan,
                wanted=self._brief.wanted,
            )
        )
        try:
            while True:
                if self._run.stopped:
                    return await self._last_word()
                ended = await self._turn()
                if ended is not None:
                    return ended
        except BudgetSpent as spent:
            return self._stopped(self._run.stopped or "tokens", spent.message)
        except ModelError as failure:
            if not self._run.steps and not self._run.draft:
                raise
            return self._stopped("model", failure.message)

    async def _turn(self) -> Ended | None:
        answer = await self._asked(self._offered())
        self._talk.said(answer.text, answer.calls)
        if answer.calls:
            self._silent = 0
            return await self._acted(answer)
        if answer.text.strip() and self._brief.wanted is None:
            return await self._finished({"answer": answer.text.strip(), "solved": True}, None)
        self._silent += 1
        if self._silent >= MAX_SILENT:
            return self._stopped("model", "The model neither called a tool nor answered.")
        self._talk.told(prompts.nothing_asked())
        return None

    def _offered(self) -> tuple[ToolSpec, ...]:
        parts = self._run.parts
        own = tools.agent_tools(
            web=parts.searches or bool(self._run.access.hosts),
            files=bool(parts.abilities.files()),
            person=parts.ask is not None,
            builds=parts.builds,
            delegates=self._delegates,
        )
        return (*own, *(tools.library_tool(tool) for tool in self.steps.offered.values()))

    async def _asked(self, offered: Sequence[ToolSpec]) -> Completion:
        return await self._run.parts.implementer.complete(self._talk.turns, temperature=0.0, tools=offered)

    async def _acted(self, answer: Completion) -> Ended | None:
        """Makes the calls of one turn side by side, and ends where `finish` was the only one."""
        finishing = [call for call in answer.calls if call.name == tools.FINISH]
        others = [call for call in answer.calls if call.name != tools.FINISH]
        told: dict[str, str] = {}
        taken = await self._taken(others, answer.text, told) if others else []
        for call in finishing:
            told[call.id] = prompts.failed(
                "Other calls were made in this turn: look at what they gave first."
            )
        if finishing and not others:
            return await self._finished(finishing[0].arguments, finishing[0])
        notes = await self._plan.after(taken) if self._plan is not None else ""
        if self._run.is_near_its_end:
            notes = f"{notes}\n{prompts.little_left(self._run.steps_left)}".strip()
        if notes:
            last = answer.calls[-1].id
            told[last] = f"{told[last]}\n{notes}"
        self._talk.answered((call.id, told[call.id]) for call in answer.calls)
        return None

    async def _taken(self, calls: Sequence[ToolCall], thought: str, told: dict[str, str]) -> list[Step]:
        """The steps of these calls, as far as the budget allows; what each gave goes into `told`."""
        allowed = calls[: max(0, self._run.steps_left)]
        for call in calls[len(allowed) :]:
            told[call.id] = prompts.failed("Not done: the budget of steps is used up.")
        places = anyio.CapacityLimiter(AT_ONCE)
        steps: list[Step] = []
        spent: list[BudgetSpent] = []

        async def take(call: ToolCall) -> None:
            async with places:
                try:
                    step, told[call.id] = await self.steps.take(call, thought)
                except BudgetSpent as failure:
                    spent.append(failure)
                    return
            steps.append(step)

        async with anyio.create_task_group() as group:
            for call in allowed:
                group.start_soon(take, call)
        if spent:
            raise spent[0]
        return sorted(steps, key=lambda step: step.number)

    async def _finished(self, said: dict[str, Any], call: ToolCall | None) -> Ended | None:
        """The end, or None where the answer rests on nothing and is sent back."""
        answer, solved = said.get("answer", ""), said.get("solved") is not False
        problem = self._unfit(answer)
        text = as_text(answer).strip()
        if problem is None and text:
            self._run.draft = text if not self._brief.agent else self._run.draft
            await self._run.emit("answer", text[:300], self._brief.agent)
        claims: tuple[Claim, ...] = ()
        if problem is None and solved:
            claims = await checked(
                text, _claims(said), list(self._run.observations), self._run.parts.models.role("judge")
            )
            await self._told_check(claims)
            if all(claim.reference for claim in claims):
                return Ended(answer, True, claims)
            problem = prompts.not_accepted(claims)
            if self._plan is not None and (other := await self._plan.doubted()):
                problem = f"{problem}\n{other}"
        elif problem is None:
            return Ended(answer, False, why=self._gave_up(said))
        self._checks += 1
        if self._checks > MAX_CHECKS:
            return Ended(answer, False, claims, why="Nothing that was observed says all of the answer.")
        self._sent_back(problem, call)
        return None

    def _gave_up(self, said: dict[str, Any]) -> str:
        return str(said.get("reason") or "The model said that it could not be solved.")[:500]

    def _unfit(self, answer: Any) -> str | None:
        """Why an answer is not of the wanted kind."""
        if self._brief.wanted is None:
            return None if as_text(answer).strip() else "The answer is empty."
        try:
            problem = validate_result(self._brief.wanted, answer)
        except (InvalidArguments, ValueError, KeyError) as unusable:
            return f"The wanted schema cannot be used: {unusable}"
        return None if problem is None else f"The answer does not fit the wanted schema: {problem}"

    async def _told_check(self, claims: Sequence[Claim]) -> None:
        rests = sum(bool(claim.reference) for claim in claims)
        told = {"claims": [claim.model_dump(mode="json") for claim in claims]}
        await self._run.emit(
            "check", f"{rests} of {len(claims)} claims rest on observations", self._brief.agent, told
        )

    def _sent_back(self, problem: str, call: ToolCall | None) -> None:
        if call is None:
            self._talk.told(prompts.back(problem))
        else:
            self._talk.answered([(call.id, problem)])

    async def _last_word(self) -> Ended:
        """The best answer so far when a limit is reached; a model is asked for it only where that is still allowed."""
        stopped = self._run.stopped
        if stopped == "steps":
            self._talk.told(prompts.last_word())
            answer = await self._asked(tools.FINISH_ALONE)
            for call in answer.calls:
                if call.name == tools.FINISH and as_text(call.arguments.get("answer", "")).strip():
                    self._checks = MAX_CHECKS
                    ended = await self._finished(call.arguments, call)
                    if ended is not None:
                        return Ended(ended.answer, ended.solved, ended.claims, "steps", self._limit("steps"))
            if answer.text.strip() and not self._run.draft:
                self._run.draft = answer.text.strip()
        return self._stopped(stopped, self._limit(stopped))

    def _limit(self, stopped: Stopped) -> str:
        return f"The budget of {stopped} is used up."

    def _stopped(self, stopped: Stopped, why: str) -> Ended:
        return Ended(self._run.draft if not self._brief.agent else "", False, (), stopped, why)


def _claims(said: dict[str, Any]) -> tuple[Claim, ...]:
    """The claims that a model gave with its answer; what cannot be read is left out."""
    found = []
    for each in said.get("claims") or ():
        try:
            found.append(Claim.model_validate(each))
        except ValidationError:
            continue
    return tuple(found)
