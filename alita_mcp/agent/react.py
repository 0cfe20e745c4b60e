"""Loop of the manager agent (ReAct, Yao et al. 2023): ask the model, execute its calls, show the results.

Calls of one turn run side by side. An answer ends the task only once each of its claims rests on an observation. A
part of the task can be delegated to a fresh agent with a budget of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio
from pydantic import ValidationError

from alita_mcp.agent import prompts
from alita_mcp.agent.actions import tools
from alita_mcp.agent.actions.abilities import ActionResult
from alita_mcp.agent.actions.observations import as_text, excerpt
from alita_mcp.agent.answers.answer_check import check_answer, is_offered_refusal
from alita_mcp.agent.answers.grounding import is_observed
from alita_mcp.agent.answers.second_program import find_agreeing, find_program, write_second
from alita_mcp.agent.plan_keeper import PlanKeeper
from alita_mcp.agent.run import Run
from alita_mcp.agent.steps import Delegate, Steps
from alita_mcp.agent.values import Claim, Step, Stopped
from alita_mcp.errors import BudgetSpent, InvalidArguments, ModelError
from alita_mcp.models.budget import Budget, Meter
from alita_mcp.models.interface import Completion, Message, ToolCall
from alita_mcp.verification.json_schema import validate_result

AT_ONCE = 8
"""Calls of one turn that run side by side."""
MAX_CHECKS = 2
"""How often an answer without support is sent back."""
MAX_SILENT = 3
"""How often a model may neither call nor answer."""
MAX_DEPTH = 2
"""How deep parts of the task are delegated."""
SHARE = 2
"""A part gets at most one of so many parts of what is left of each limit."""
MAX_CHARACTERS = 160_000
"""Of a conversation, about 40,000 tokens; over it the oldest observations are cut to `CUT_TO`."""
KEPT_WHOLE = 6
"""The last observations, which are never cut."""
CUT_TO = 300
MAX_NOTES, MAX_NOTE = 5, 300
"""For later tasks, and characters of one."""


@dataclass(frozen=True)
class Brief:
    """Assignment of one agent."""

    task: str
    agent: str = ""
    """Empty for the manager; `1` or `1.2` for a part of the task."""
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
    checked: str = ""


class Conversation:
    """The turns of an agent and its model so far, fitted to a budget by cutting old observations first."""

    def __init__(self, opening: Sequence[Message], most: int = MAX_CHARACTERS) -> None:
        self._turns = list(opening)
        self._most = most

    @property
    def turns(self) -> tuple[Message, ...]:
        """The turns to send to the model."""
        return tuple(self._turns)

    def add_model_turn(self, text: str, calls: tuple[ToolCall, ...] = ()) -> None:
        """Adds the model's turn."""
        self._turns.append(Message(role="assistant", content=text, calls=calls))

    def add_message(self, message: Message) -> None:
        """Adds a message of ours."""
        self._turns.append(message)

    def add_results(self, answers: Iterable[tuple[str, str]]) -> None:
        """Adds the result of each call, by the call's id."""
        self._turns += [Message(role="tool", content=text, call_id=call) for call, text in answers]
        # Over the budget the oldest observations are cut, the last ones never.
        size = sum(len(turn.content) for turn in self._turns)
        observations = [place for place, turn in enumerate(self._turns) if turn.role == "tool"]
        for place in observations[:-KEPT_WHOLE]:
            if size <= self._most:
                return
            turn = self._turns[place]
            if len(turn.content) > CUT_TO:
                cut = f"{turn.content[:CUT_TO]}… (cut; read_value shows it again)"
                size -= len(turn.content) - len(cut)
                self._turns[place] = turn.model_copy(update={"content": cut})


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
        self._second = ""
        """What a second program observed that gave another answer."""

    async def work(self) -> Ended:
        """Works until the brief ends, and returns its end.

        Raises:
            ModelError: no model answered before the first step.
        """
        opening = prompts.open_task(
            self._brief.task,
            files=self._run.parts.abilities.files(),
            recalled=self._brief.recalled,
            plans=self._run.parts.plans if self._plan is not None else 0,
            wanted=self._brief.wanted,
        )
        self._talk = Conversation(opening)
        try:
            while not self._run.limit_reached:
                ended = await self._take_turn()
                if ended is not None:
                    return ended
            return await self._end_at_limit(self._run.limit_reached)
        except BudgetSpent as spent:
            return self._stop(self._run.limit_reached or "tokens", spent.message)
        except ModelError as failure:
            if not self._run.steps and not self._run.draft:
                raise
            return self._stop("model", failure.message)

    async def _take_turn(self) -> Ended | None:
        """Asks the model once and does what it says; the end, if that was it."""
        parts = self._run.parts
        own = tools.agent_tools(
            web=parts.searches or bool(self._run.access.hosts),
            files=bool(parts.abilities.files()),
            person=parts.ask is not None,
            builds=parts.builds,
            delegates=self._delegates,
        )
        offered = (*own, *(tools.library_tool(tool) for tool in self.steps.offered.values()))
        answer = await parts.implementer.complete(self._talk.turns, temperature=0.0, tools=offered)
        self._talk.add_model_turn(answer.text, answer.calls)
        # Case 1: it calls tools, `finish` perhaps. Case 2: it answers in plain text. Case 3: it does neither, or plans.
        if answer.calls:
            self._silent = 0
            return await self._make_calls(answer)
        plans = self._plan is not None and self._plan.has_plan(answer.text)
        if answer.text.strip() and self._brief.wanted is None and not plans:
            return await self._finish({"answer": answer.text.strip(), "solved": True}, None)
        self._silent += 1
        if self._silent >= MAX_SILENT:
            return self._stop("model", "The model neither called a tool nor answered.")
        notes = await self._plan.advise(answer.text, ()) if plans and self._plan is not None else ""
        self._talk.add_message(prompts.call_or_finish(notes))
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
        notes = await self._plan.advise(answer.text, taken) if self._plan is not None else ""
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
                    step, texts[call.id] = await self.steps.take_step(call, number, thought)
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
        """The end, or None where the answer is sent back: it has the wrong form, or rests on nothing."""
        answer = said.get("answer", "")
        text, agent = as_text(answer).strip(), self._brief.agent
        problem, claims = self._wrong_form(answer), list[Claim]()
        if problem is None:
            if text:
                self._run.draft = self._run.draft if agent else text
                await self._run.emit("answer", text[:300], agent)
            if not agent and isinstance(notes := said.get("notes"), list):
                self._run.notes = tuple(str(note)[:MAX_NOTE] for note in notes[:MAX_NOTES])
            why = str(said.get("reason") or "The model said that it could not be solved.")[:500]
            refuses = said.get("solved") is False
            if refuses and not is_offered_refusal(self._brief.task, text):
                return Ended(answer, False, why=why)
            judge = self._run.parts.models.role("judge")
            claims += await check_answer(
                self._brief.task, text, _claims(said), list(self._run.observations), judge
            )
            rests = sum(bool(claim.reference) for claim in claims)
            data = {"claims": [claim.model_dump(mode="json") for claim in claims]}
            await self._run.emit(
                "check", f"{rests} of {len(claims)} claims rest on observations", agent, data
            )
            if rests == len(claims):
                checked, problem = await self._compute_again(text, claims)
                if not problem:
                    return Ended(answer, True, tuple(claims), checked=checked)
            elif refuses:
                return Ended(answer, False, tuple(claims), why=why)
            else:
                problem = prompts.not_accepted(claims)
            if self._plan is not None and (other := await self._plan.advise("", (), doubted=True)):
                problem = f"{problem}\n{other}"
        self._checks += 1
        if self._checks > MAX_CHECKS:
            return Ended(answer, False, tuple(claims), why="No observation supports the whole answer.")
        if call is None:
            self._talk.add_message(prompts.send_back(problem))
        else:
            self._talk.add_results([(call.id, problem)])
        return None

    async def _compute_again(self, answer: str, claims: Sequence[Claim]) -> tuple[str, str]:
        """How a computed answer was checked, and what the model is told where a second program gave something else."""
        run, observations = self._run, list(self._run.observations)
        computed = find_program(claims, observations)
        if computed is None or self._brief.agent:
            return "", ""
        once = f"computed once, by {computed.reference}"
        # 1. Something else in the run says it too. 2. A second program said something else, and the model knows it.
        if other := find_agreeing(answer, computed, observations):
            return (
                f"{' and '.join(each.reference for each in observations if each in (computed, other))} agree",
                "",
            )
        if self._second:
            return f"computed by {computed.reference}; {self._second} gave something else", ""
        # 3. A second program is run where little is used up yet.
        if run.is_near_its_end or computed.program is None:
            return once, ""
        judge, files = run.parts.models.role("judge"), run.parts.abilities.files()
        code = await write_second(self._brief.task, answer, computed, observations, files, judge)
        if not code:
            return once, ""
        same = {"arguments": computed.program.arguments, "packages": list(computed.program.packages)}
        arguments = {"code": code, **same, "reason": "A second program for the same answer."}
        call = ToolCall(id="", name=tools.RUN_CODE, arguments=arguments)
        step, _ = await self.steps.take_step(call, run.reserve_step(), "")
        if not step.ok:
            return f"{once}; a second program failed", ""
        second = run.observations.find(step.reference)
        if is_observed(answer, [second.text]):
            return f"{computed.reference} and {second.reference} agree", ""
        self._second = second.reference
        return "", prompts.disagreement(answer, second.reference, excerpt(second))

    def _wrong_form(self, answer: Any) -> str | None:
        """Why an answer is not of the wanted kind."""
        if self._brief.wanted is None:
            return None if as_text(answer).strip() else "The answer is empty."
        try:
            problem = validate_result(self._brief.wanted, answer)
        except (InvalidArguments, ValueError, KeyError) as unusable:
            return f"The wanted schema cannot be used: {unusable}"
        return None if problem is None else f"The answer does not fit the wanted schema: {problem}"

    async def _end_at_limit(self, stopped: Stopped) -> Ended:
        """The best answer so far; a model is asked for it only where that is still allowed."""
        why = f"The budget of {stopped} is used up."
        if stopped != "steps":
            return self._stop(stopped, why)
        self._talk.add_message(prompts.last_word())
        implementer = self._run.parts.implementer
        answer = await implementer.complete(self._talk.turns, temperature=0.0, tools=tools.FINISH_ALONE)
        for call in answer.calls:
            if call.name == tools.FINISH and as_text(call.arguments.get("answer", "")).strip():
                self._checks = MAX_CHECKS
                ended = await self._finish(call.arguments, call)
                if ended is not None:
                    return replace(ended, stopped="steps", why=why)
        if answer.text.strip() and not self._run.draft:
            self._run.draft = answer.text.strip()
        return self._stop(stopped, why)

    def _stop(self, stopped: Stopped, why: str) -> Ended:
        return Ended(self._run.draft if not self._brief.agent else "", False, (), stopped, why)


class Delegation:
    """Delegates parts of one agent's task, each to a fresh agent with its own limits and a typed result."""

    def __init__(self, run: Run, agent: str = "") -> None:
        self._run = run
        self._agent = agent
        self._numbers = itertools.count(1)

    async def __call__(self, said: dict[str, Any]) -> ActionResult:
        """The result of a part.

        Raises:
            InvalidArguments: the request does not fit.
        """
        task, wanted = said.get("task"), said.get("result_schema")
        if not isinstance(task, str) or not task.strip():
            raise InvalidArguments("task is missing: which part is to be found out?")
        if wanted is not None and not (isinstance(wanted, dict) and wanted.get("type")):
            raise InvalidArguments("result_schema must be a JSON Schema with a type.")
        number = next(self._numbers)
        agent = f"{self._agent}.{number}" if self._agent else str(number)
        # Its limits are a share of what is left, and count against those of the whole.
        outer, tokens = self._run, self._run.request.budget.tokens
        if tokens:
            tokens = max(1, int(tokens * (1 - min(1.0, outer.parts.meter.share_used))) // SHARE)
        meter = Meter(Budget(tokens=tokens), within=outer.parts.meter, work="part of the task")
        models, implementer = outer.parts.models_on(meter)
        parts = replace(outer.parts, models=models, implementer=implementer, meter=meter)
        references = [str(each) for each in said.get("references") or ()]
        part = outer.part(agent, task, references, max(1, outer.steps_left // SHARE), parts)
        deeper = Delegation(part, agent) if agent.count(".") + 1 < MAX_DEPTH else None
        ended = await Agent(part, Brief(task=task, agent=agent, wanted=wanted), delegate=deeper).work()
        if ended.solved:
            return ActionResult(ok=True, value=ended.answer)
        why = ended.why or "no reason was given"
        return ActionResult(ok=False, value=ended.answer or None, error=f"The part was not solved: {why}")


def _claims(said: dict[str, Any]) -> tuple[Claim, ...]:
    """The claims that a model gave with its answer; what cannot be read is left out."""
    found = []
    for each in said.get("claims") or ():
        try:
            found.append(Claim.model_validate(each))
        except ValidationError:
            continue
    return tuple(found)
