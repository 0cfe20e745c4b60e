"""Loop of the manager agent (ReAct, Yao et al. 2023): ask the model, execute its calls, show the results.

Calls of one turn run side by side. An answer ends the task only once each of its claims rests on an observation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from pydantic import ValidationError

from alita_mcp.agent import prompts
from alita_mcp.agent.actions import tools
from alita_mcp.agent.actions.observations import as_text, excerpt
from alita_mcp.agent.answers.answer_check import check_answer, is_offered_refusal
from alita_mcp.agent.answers.grounding import is_observed
from alita_mcp.agent.answers.second_program import find_agreeing, find_program, write_second
from alita_mcp.agent.plan_keeper import PlanKeeper
from alita_mcp.agent.planning.plans import read_plans
from alita_mcp.agent.run import Run
from alita_mcp.agent.steps import Steps
from alita_mcp.agent.values import Claim, Step, Stopped
from alita_mcp.errors import BudgetSpent, ModelError
from alita_mcp.models.interface import Completion, Message, ToolCall

AT_ONCE = 8
"""Calls of one turn that run side by side."""
MAX_CHECKS = 2
"""How often an answer without support is sent back."""
MAX_SILENT = 3
"""How often a model may neither call nor answer."""
MAX_CHARACTERS = 160_000
"""Of a conversation, about 40,000 tokens; over it the oldest observations are cut to `CUT_TO`."""
KEPT_WHOLE = 6
"""The last observations, which are never cut."""
CUT_TO = 300
MAX_NOTES, MAX_NOTE = 5, 300
"""For later tasks, and characters of one."""


@dataclass(frozen=True)
class Ended:
    """End of an agent's work."""

    answer: Any
    solved: bool
    claims: tuple[Claim, ...] = ()
    stopped: Stopped = ""
    why: str = ""
    checked: str = ""


class Conversation:
    """The turns of an agent and its model so far, fitted to a budget by cutting old observations first."""

    def __init__(self, opening: Sequence[Message], most: int = MAX_CHARACTERS) -> None:
        self.turns = list(opening)
        self._most = most

    def add_results(self, answers: Iterable[tuple[str, str]]) -> None:
        """Adds the result of each call, by the call's id."""
        self.turns += [Message(role="tool", content=text, call_id=call) for call, text in answers]
        # Over the budget the oldest observations are cut, the last ones never.
        size = sum(len(turn.content) for turn in self.turns)
        observations = [place for place, turn in enumerate(self.turns) if turn.role == "tool"]
        for place in observations[:-KEPT_WHOLE]:
            if size <= self._most:
                return
            turn = self.turns[place]
            if len(turn.content) > CUT_TO:
                cut = f"{turn.content[:CUT_TO]}… (cut; read_value shows it again)"
                size -= len(turn.content) - len(cut)
                self.turns[place] = turn.model_copy(update={"content": cut})


class Agent:
    """The agent of one run."""

    def __init__(self, run: Run, recalled: str) -> None:
        """`recalled`: what the model reads of memory."""
        self._run = run
        self._plan = PlanKeeper(run)
        self._steps = Steps(run)
        opening = prompts.open_task(
            run.request.task, files=run.parts.abilities.files(), recalled=recalled, plans=run.parts.plans
        )
        self._talk = Conversation(opening)
        self._checks = 0
        self._silent = 0
        self._second = ""
        """What a second program observed that gave another answer."""

    async def work(self) -> Ended:
        """Works until the task ends, and returns its end.

        Raises:
            ModelError: no model answered before the first step.
        """
        run = self._run
        try:
            limit: Stopped = ""
            while not limit:
                limit = run.limit_reached
                # After the last step the model may still answer.
                if limit in ("", "steps") and (ended := await self._take_turn()) is not None:
                    return ended
            return Ended(run.draft, False, (), limit, f"The budget of {limit} is used up.")
        except BudgetSpent as spent:
            return Ended(run.draft, False, (), run.limit_reached or "tokens", spent.message)
        except ModelError as failure:
            if not run.steps and not run.draft:
                raise
            return Ended(run.draft, False, (), "model", failure.message)

    async def _take_turn(self) -> Ended | None:
        """Asks the model once and does what it says; the end, if that was it."""
        parts = self._run.parts
        own = tools.agent_tools(
            searches=parts.searches,
            pages=bool(self._run.access.hosts),
            files=bool(parts.abilities.files()),
            person=parts.ask is not None,
            builds=parts.builds,
        )
        offered = (*own, *(tools.library_tool(tool) for tool in self._steps.offered.values()))
        if self._run.steps_left <= 0:
            offered = tools.FINISH_ALONE
        answer = await parts.implementer.complete(tuple(self._talk.turns), temperature=0.0, tools=offered)
        self._talk.turns.append(Message(role="assistant", content=answer.text, calls=answer.calls))
        # Case 1: it calls tools, `finish` perhaps. Case 2: it answers in plain text. Case 3: it does neither, or plans.
        if answer.calls:
            self._silent = 0
            return await self._make_calls(answer)
        plans = bool(not self._run.steps and parts.plans and read_plans(answer.text, tools.AGENT_TOOLS))
        if answer.text.strip() and not plans:
            return await self._finish({"answer": answer.text.strip(), "solved": True}, None)
        self._silent += 1
        if self._silent >= MAX_SILENT:
            why = "The model neither called a tool nor answered."
            return Ended(self._run.draft, False, (), "model", why)
        notes = await self._plan.advise(answer.text, ()) if plans else ""
        self._talk.turns.append(prompts.call_or_finish(notes))
        return None

    async def _make_calls(self, answer: Completion) -> Ended | None:
        """Makes the calls of one turn side by side, and ends where `finish` was the only one."""
        finishing = [call for call in answer.calls if call.name == tools.FINISH]
        others = [call for call in answer.calls if call.name != tools.FINISH]
        if finishing and not others:
            return await self._finish(finishing[0].arguments, finishing[0])
        texts, taken = await self._take_steps(others, answer.text)
        for call in finishing:
            texts[call.id] = prompts.call_failure(
                "Other tools were called in this turn: look at their results first."
            )
        notes = await self._plan.advise(answer.text, taken)
        if self._run.is_near_its_end:
            notes = f"{notes}\n{prompts.little_left(self._run.steps_left)}".strip()
        if notes:
            texts[answer.calls[-1].id] += f"\n{notes}"
        self._talk.add_results((call.id, texts[call.id]) for call in answer.calls)
        return None

    async def _take_steps(self, calls: Sequence[ToolCall], thought: str) -> tuple[dict[str, str], list[Step]]:
        """Makes calls as far as the budget allows; returns what the model reads of each, by its id, and the steps."""
        allowed = calls[: max(0, self._run.steps_left)]
        refused = prompts.call_failure("Not done: the budget of steps is used up.")
        texts = {call.id: refused for call in calls[len(allowed) :]}
        places = anyio.CapacityLimiter(AT_ONCE)
        steps: list[Step] = []
        spent: list[BudgetSpent] = []

        async def take(call: ToolCall, number: int) -> None:
            async with places:
                try:
                    step, texts[call.id] = await self._steps.take_step(call, number, thought)
                except BudgetSpent as failure:
                    spent.append(failure)
                    return
            steps.append(step)

        async with anyio.create_task_group() as group:
            for call in allowed:
                group.start_soon(take, call, self._run.reserve_step())
        if spent:
            raise spent[0]
        return texts, sorted(steps, key=lambda step: step.number)

    async def _finish(self, said: dict[str, Any], call: ToolCall | None) -> Ended | None:
        """The end, or None where the answer is sent back: it is empty, or rests on nothing."""
        run, task = self._run, self._run.request.task
        text = as_text(said.get("answer", "")).strip()
        problem, claims = "" if text else "The answer is empty.", list[Claim]()
        if not problem:
            run.draft = text
            await run.emit("answer", text[:300])
            if isinstance(notes := said.get("notes"), list):
                run.notes = tuple(str(note)[:MAX_NOTE] for note in notes[:MAX_NOTES])
            why = str(said.get("reason") or "The model said that it could not be solved.")[:500]
            refuses = said.get("solved") is False
            if refuses and not is_offered_refusal(task, text):
                return Ended(text, False, why=why)
            judge = run.parts.models.role("judge")
            claims += await check_answer(task, text, _claims(said), list(run.observations), judge)
            rests = sum(bool(claim.reference) for claim in claims)
            data = {"claims": [claim.model_dump(mode="json") for claim in claims]}
            await run.emit("check", f"{rests} of {len(claims)} claims rest on observations", data)
            # 1. All rest on observations. 2. A refusal that does not. 3. Claims that do not.
            if rests == len(claims):
                checked, problem = await self._compute_again(text, claims)
                if not problem:
                    return Ended(text, True, tuple(claims), checked=checked)
            elif refuses:
                return Ended(text, False, tuple(claims), why=why)
            else:
                problem = prompts.unsupported_claims(claims)
            if advice := await self._plan.advise("", (), doubted=True):
                problem = f"{problem}\n{advice}"
        self._checks += 1
        if self._checks > MAX_CHECKS:
            return Ended(text, False, tuple(claims), why="No observation supports the whole answer.")
        if call is None:
            self._talk.turns.append(Message(role="user", content=problem))
        else:
            self._talk.add_results([(call.id, problem)])
        return None

    async def _compute_again(self, answer: str, claims: Sequence[Claim]) -> tuple[str, str]:
        """How a computed answer was checked, and what the model is told where a second program gave something else."""
        run, observations = self._run, list(self._run.observations)
        computed = find_program(claims, observations)
        if computed is None or computed.program is None:
            return "", ""
        # 1. Something else in the run says it too. 2. A second program said something else, and the model knows it.
        if other := find_agreeing(answer, computed, observations):
            both = [each.reference for each in observations if each in (computed, other)]
            return f"{both[0]} and {both[1]} agree", ""
        if self._second:
            return f"computed by {computed.reference}; {self._second} gave something else", ""
        # 3. A second program is written and run, unless little is left.
        once, code = f"computed once, by {computed.reference}", ""
        if not run.is_near_its_end:
            judge, files = run.parts.models.role("judge"), run.parts.abilities.files()
            code = await write_second(run.request.task, answer, computed, observations, files, judge)
        if not code:
            return once, ""
        same = {"arguments": computed.program.arguments, "packages": list(computed.program.packages)}
        arguments = {"code": code, **same, "reason": "A second program for the same answer."}
        call = ToolCall(id="", name=tools.RUN_CODE, arguments=arguments)
        step, _ = await self._steps.take_step(call, run.reserve_step(), "")
        if not step.ok:
            return f"{once}; a second program failed", ""
        second = run.observations.find(step.reference)
        if is_observed(answer, [second.text]):
            return f"{computed.reference} and {second.reference} agree", ""
        self._second = second.reference
        return "", prompts.disagreement(answer, second.reference, excerpt(second))


def _claims(said: dict[str, Any]) -> tuple[Claim, ...]:
    """The claims that a model gave with its answer; what cannot be read is left out."""
    found = []
    for each in said.get("claims") or ():
        try:
            found.append(Claim.model_validate(each))
        except ValidationError:
            continue
    return tuple(found)
