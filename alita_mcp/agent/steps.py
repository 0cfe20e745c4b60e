"""Executor of a model's calls: each becomes a step and an observation for the model."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError

from alita_mcp.agent import prompts
from alita_mcp.agent.actions import tools
from alita_mcp.agent.actions.abilities import ActionResult, BuildRequest, FoundTool
from alita_mcp.agent.actions.observations import Observation, shown
from alita_mcp.agent.actions.references import part_of, resolved
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Decision, Step
from alita_mcp.errors import AlitaError, BudgetSpent, InvalidArguments
from alita_mcp.models.interface import ToolCall
from alita_mcp.research.values import Document, Source

PART_CHARACTERS = 6_000
"""Of a page or file that is read in parts."""
MAX_ALIKE = 2
"""How often the same call is made; one more is refused."""
MAX_LOGGED = 2_000
"""Characters of one argument in the log."""
MAX_QUESTION = 1_000

Delegate = Callable[[dict[str, Any]], Awaitable[ActionResult]]


class Steps:
    """Executor of one agent's steps."""

    def __init__(self, run: Run, agent: str, delegate: Delegate | None) -> None:
        self._run = run
        self._agent = agent
        self._delegate = delegate
        self._made_calls: Counter[str] = Counter()
        self.offered: dict[str, FoundTool] = {}
        """Tools of the library that were found, the last ones last."""
        self._own: dict[str, Callable[[dict[str, Any]], Awaitable[Observation]]] = {
            tools.SEARCH: self._search,
            tools.RUN_CODE: self._run_code,
            tools.BUILD: self._build,
            tools.RESEARCH: self._research,
            tools.READ_PAGE: self._read_page,
            tools.READ_FILE: self._read_file,
            tools.LIST_FILES: self._list_files,
            tools.READ_VALUE: self._read_value,
            tools.ASK_PERSON: self._ask_person,
            tools.DELEGATE: self._delegated,
        }

    async def take(self, call: ToolCall, thought: str) -> tuple[Step, str]:
        """Makes a call; returns the step and the text for the model, also for a failure.

        Raises:
            BudgetSpent: a limit of the run was reached on the way.
        """
        number, begun, spent = self._run.take(), time.monotonic(), self._run.parts.meter.usage.cost_usd
        await self._run.emit("step_started", f"{number}. {call.name}", self._agent, {"number": number})
        observation: Observation | None = None
        try:
            observation = await self._called(call)
            text, ok = self._told(call, observation), True
        except BudgetSpent:
            raise
        except _Failed as failed:
            observation, ok = failed.observation, False
            text = prompts.failed(failed.text)
        except AlitaError as failure:
            text, ok = prompts.failed(str(failure)), False
        now_spent = self._run.parts.meter.usage.cost_usd
        step = Step(
            number=number,
            agent=self._agent,
            tool=call.name,
            arguments=_logged(call),
            decision=self._decision(call, observation, thought),
            ok=ok,
            observation=text,
            reference=observation.reference if observation else "",
            uri=observation.uri if observation else "",
            seconds=round(time.monotonic() - begun, 3),
            cost_usd=(now_spent or 0.0) - (spent or 0.0),
        )
        await self._run.done(step)
        return step, text

    def _told(self, call: ToolCall, observation: Observation) -> str:
        source = observation.sources[0].url if len(observation.sources) == 1 else ""
        if call.name in (tools.READ_PAGE, tools.READ_FILE):
            return prompts.observed(observation.reference, _part(observation, call.arguments), source=source)
        return prompts.observed(observation.reference, shown(observation), source=source)

    async def _called(self, call: ToolCall) -> Observation:
        if call.unreadable:
            raise InvalidArguments(
                f"The arguments of {call.name} were no JSON object: {call.unreadable[:300]!r}.",
                hint="Send one JSON object.",
            )
        key = json.dumps([call.name, call.arguments], sort_keys=True, default=str)
        self._made_calls[key] += 1
        if self._made_calls[key] > MAX_ALIKE:
            raise InvalidArguments(
                f"This very call was made {MAX_ALIKE} times already.", hint="Do something else, or finish."
            )
        own = self._own.get(call.name)
        if own is not None:
            return await own(call.arguments)
        return await self._library_tool(call.name, self._whole(call.arguments))

    def _whole(self, arguments: dict[str, Any]) -> dict[str, Any]:
        whole: dict[str, Any] = resolved(
            arguments, self._run.observations.value, self._run.parts.abilities.file_text
        )
        return whole

    async def _library_tool(self, name: str, arguments: dict[str, Any]) -> Observation:
        abilities = self._run.parts.abilities
        if name not in self.offered:
            known = await abilities.find_tool(name)
            if known is None:
                near = [
                    *abilities.names_like(name),
                    *(each for each in self._own if each.startswith(name[:5])),
                ]
                raise InvalidArguments(
                    f"There is no tool {name[:80]!r}.",
                    hint=f"Near it: {', '.join(near[:3])}." if near else "Search for one.",
                )
            self.offer(known)
        self._run.used([name])
        return await self._kept(await abilities.call_tool(name, arguments))

    def offer(self, tool: FoundTool) -> None:
        """Offers a tool from the next turn on."""
        self.offered.pop(tool.name, None)
        self.offered[tool.name] = tool
        while len(self.offered) > tools.MAX_OFFERED:
            del self.offered[next(iter(self.offered))]

    async def _kept(
        self, result: ActionResult, *, sources: tuple[Source, ...] = (), is_data: bool = True
    ) -> Observation:
        if not result.ok:
            kept = None
            if result.value is not None:
                kept = await self._run.observations.keep(result.value, is_data=False)
            raise _Failed(result.error, kept)
        return await self._run.observations.keep(result.value, sources=sources, is_data=is_data)

    async def _search(self, said: dict[str, Any]) -> Observation:
        found = await self._run.parts.abilities.search_tools(_text(said, "query"))
        for tool in reversed(found.tools):
            self.offer(tool)
        rows = [
            {"name": each.name, "signature": each.signature, "summary": each.summary, "trust": each.trust}
            for each in found.tools
        ]
        return await self._run.observations.keep({"fit": found.fit, "tools": rows}, is_data=False)

    async def _run_code(self, said: dict[str, Any]) -> Observation:
        arguments = self._whole(_object(said, "arguments"))
        packages = [str(each) for each in said.get("packages") or ()]
        result = await self._run.parts.abilities.run_code(_text(said, "code"), arguments, packages)
        self._run.used(result.used)
        return await self._kept(result)

    async def _build(self, said: dict[str, Any]) -> Observation:
        try:
            request = BuildRequest.model_validate(
                {name: said[name] for name in BuildRequest.model_fields if said.get(name) is not None}
            )
        except ValidationError as unfit:
            first = unfit.errors(include_url=False)[0]
            raise InvalidArguments(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from unfit
        result = await self._run.parts.abilities.build_tool(request)
        self._run.made(result.made)
        observation = await self._kept(result, is_data=False)
        name = result.made or (result.value or {}).get("tool", "")
        if name and (tool := await self._run.parts.abilities.find_tool(name)) is not None:
            self.offer(tool)
        return observation

    async def _research(self, said: dict[str, Any]) -> Observation:
        found = await self._run.parts.abilities.research_web(_text(said, "query"))
        self._run.access.found(hit.url for hit in found.hits)
        self._run.access.found(passage.url for passage in found.passages)
        sources = tuple(
            Source(url=each.url, title=each.title, retrieved_at=each.retrieved_at) for each in found.passages
        )
        self._run.read(sources)
        value = found.model_dump(mode="json", exclude={"question"}, exclude_defaults=True)
        return await self._run.observations.keep(value, sources=sources, is_data=bool(found.passages))

    async def _read_page(self, said: dict[str, Any]) -> Observation:
        url = _text(said, "url")
        if not self._run.access.is_allowed(url):
            raise InvalidArguments(self._run.access.why_not(url))
        may_follow = None if self._run.access.was_given(url) else self._run.access.is_allowed
        page = await self._run.parts.abilities.fetch_page(url, may_follow=may_follow)
        self._run.access.linked(page.url, [link.url for link in page.links])
        source = Source(url=page.url, title=page.title, retrieved_at=page.retrieved_at)
        self._run.read([source])
        return await self._document(page, (source,))

    async def _read_file(self, said: dict[str, Any]) -> Observation:
        name = _text(said, "name")
        return await self._document(
            await self._run.parts.abilities.read_file(name), (Source(url=f"file:{name}"),)
        )

    async def _document(self, page: Document, sources: tuple[Source, ...]) -> Observation:
        value = {"title": page.title, "text": page.text, "links": [link.model_dump() for link in page.links]}
        return await self._run.observations.keep(value, sources=sources)

    async def _list_files(self, _said: dict[str, Any]) -> Observation:
        return await self._run.observations.keep(
            {"files": list(self._run.parts.abilities.files())}, is_data=False
        )

    async def _read_value(self, said: dict[str, Any]) -> Observation:
        reference = _text(said, "reference")
        value = part_of(reference, self._run.observations.value)
        page = self._run.observations.page(
            value, _whole_number(said, "offset", 0), _whole_number(said, "length", 8_000)
        )
        return await self._run.observations.keep(page)

    async def _ask_person(self, said: dict[str, Any]) -> Observation:
        question = _text(said, "question")[:MAX_QUESTION]
        await self._run.emit("question", question, self._agent)
        answer = await self._run.parts.ask(question) if self._run.parts.ask is not None else None
        if answer is None:
            raise InvalidArguments(
                "Nobody answered.", hint="Take the plainest meaning, and say which in the answer."
            )
        return await self._run.observations.keep({"question": question, "answer": answer})

    async def _delegated(self, said: dict[str, Any]) -> Observation:
        if self._delegate is None:
            raise InvalidArguments(
                "Parts of a part are not given away.", hint="Do it with the tools at hand."
            )
        return await self._kept(await self._delegate(said))

    def _decision(self, call: ToolCall, observation: Observation | None, thought: str) -> Decision | None:
        """How the need was met, and the reason that the model gave."""
        reason = str(call.arguments.get("reason") or thought or "")[:500]
        if call.name == tools.BUILD:
            return Decision(way="build", reason=reason)
        if call.name == tools.RUN_CODE:
            composes = "alita_tools" in str(call.arguments.get("code"))
            return Decision(way="compose" if composes else "run_once", reason=reason)
        if call.name in tools.AGENT_TOOLS or (observation is None and call.name not in self.offered):
            return None
        return Decision(way="reuse", reason=reason)


class _Failed(Exception):
    """A call came to nothing; what it gave nevertheless is kept."""

    def __init__(self, text: str, observation: Observation | None) -> None:
        super().__init__(text)
        self.text = text
        self.observation = observation


def _text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidArguments(f"{name} is missing: a text is wanted.")
    return value


def _object(said: dict[str, Any], name: str) -> dict[str, Any]:
    value = said.get(name) or {}
    if not isinstance(value, dict):
        raise InvalidArguments(f"{name} is to be an object.")
    return value


def _whole_number(said: dict[str, Any], name: str, default: int) -> int:
    value = said.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArguments(f"{name} is to be a whole number from 0 on.")
    return value


def _part(observation: Observation, said: dict[str, Any]) -> str:
    """The part of a page or file that was asked for, with the links that it names."""
    text, links = observation.value["text"], observation.value["links"]
    parts = max(1, -(-len(text) // PART_CHARACTERS))
    number = min(max(1, _whole_number(said, "part", 1)), parts)
    shown_text = text[(number - 1) * PART_CHARACTERS : number * PART_CHARACTERS]
    named = [f"[{link['number']}] {link['url']}" for link in links if f"[{link['number']}]" in shown_text]
    head = f"{observation.value['title']}\n" if observation.value["title"] and number == 1 else ""
    tail = f"\n(part {number} of {parts})" if parts > 1 else ""
    return f"{head}{shown_text}{tail}" + ("\nLinks: " + " ".join(named) if named else "")


def _logged(call: ToolCall) -> dict[str, Any]:
    """The arguments as the log has them."""
    if call.unreadable:
        return {"unreadable": call.unreadable}
    return {name: _cut(value) for name, value in call.arguments.items()}


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return value if len(text) <= MAX_LOGGED else f"{text[:MAX_LOGGED]}… ({len(text):,} characters)"
