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
from alita_mcp.agent.actions.observations import Observation, as_text, excerpt, part_of, resolve_references
from alita_mcp.agent.interface import Program
from alita_mcp.agent.run import Run
from alita_mcp.agent.values import Step
from alita_mcp.errors import AlitaError, BudgetSpent, InvalidArguments
from alita_mcp.models.interface import ToolCall
from alita_mcp.research.texts import urls_in
from alita_mcp.research.values import Document, Source

PART_CHARACTERS = 6_000
"""Of a page or file that is read in parts."""
PAGE = 3_000
"""Characters or items of a value that are shown at once."""
MAX_ALIKE = 2
"""How often the same call is made; one more is refused."""
MAX_LOGGED = 2_000
"""Characters of one argument in the log, and of one that memory gets."""
MAX_QUESTION = 1_000
MAX_APPROVED = 1_900
"""Characters of a request that a person approves; a longer one could not be shown whole."""
_MAY_PUBLISH = (
    "This task has read private data. Answer yes to let it make this tool, which every client of the library can read "
    "and call:\n{}"
)


class Steps:
    """Executor of a run's steps."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._made_calls: Counter[str] = Counter()
        self.offered: dict[str, FoundTool] = {}
        """Tools of the library that were found, the last ones last."""
        self._own: dict[str, Callable[[dict[str, Any]], Awaitable[ActionResult]]] = {
            tools.SEARCH: self._search,
            tools.RUN_CODE: self._run_code,
            tools.BUILD: self._build,
            tools.RESEARCH: self._research,
            tools.READ_PAGE: self._read_page,
            tools.READ_FILE: self._read_file,
            tools.READ_VALUE: self._read_value,
            tools.ASK_PERSON: self._ask_person,
        }

    async def take_step(self, call: ToolCall, number: int, thought: str) -> tuple[Step, str]:
        """Makes a call as the step of a number; returns the step and the text for the model, also for a failure.

        Raises:
            BudgetSpent: a limit of the run was reached on the way.
        """
        begun, spent = time.monotonic(), self._run.parts.meter.usage.cost_usd or 0.0
        await self._run.emit("step_started", f"{number}. {call.name}", {"number": number})
        observation: Observation | None = None
        made = ""
        try:
            outcome = await self._make_call(call)
            ok, made = outcome.ok, outcome.made
            self._run.access.has_private_data |= outcome.is_private
            if ok or outcome.value is not None:
                observation = await self._run.observations.keep_value(number, outcome)
            if ok and observation is not None:
                in_parts = call.name in (tools.READ_PAGE, tools.READ_FILE)
                text = _part(observation, call.arguments) if in_parts else excerpt(observation)
                source = outcome.sources[0].url if len(outcome.sources) == 1 else ""
                text = prompts.observation(observation.reference, text, source)
            else:
                text = prompts.call_failure(outcome.error)
        except BudgetSpent:
            raise
        except AlitaError as failure:
            text, ok = prompts.call_failure(str(failure)), False
        step = Step(
            number=number,
            tool=call.name,
            arguments={"unreadable": call.unreadable} if call.unreadable else _cut_arguments(call.arguments),
            reason=str(call.arguments.get("reason") or thought or "")[:500],
            ok=ok,
            observation=text,
            reference=observation.reference if observation else "",
            made=made,
            seconds=round(time.monotonic() - begun, 3),
            cost_usd=(self._run.parts.meter.usage.cost_usd or 0.0) - spent,
        )
        await self._run.record_step(step)
        return step, text

    async def _make_call(self, call: ToolCall) -> ActionResult:
        """Makes a call of an agent tool, or else of a tool of the library.

        Raises:
            InvalidArguments: the call cannot be made as it is.
        """
        if call.unreadable:
            raise InvalidArguments(
                f"The arguments of {call.name} are not a JSON object: {call.unreadable[:300]!r}.",
                hint="Send one JSON object.",
            )
        key = json.dumps([call.name, call.arguments], sort_keys=True, default=str)
        self._made_calls[key] += 1
        if self._made_calls[key] > MAX_ALIKE:
            raise InvalidArguments(
                f"The same call was made {MAX_ALIKE} times already.", hint="Do something else, or finish."
            )
        own = self._own.get(call.name)
        if own is not None:
            return await own(call.arguments)
        arguments = self._resolve(call.arguments)
        abilities, name = self._run.parts.abilities, call.name
        if name not in self.offered:
            known = await abilities.find_tool(name)
            if known is None:
                near = [*abilities.names_like(name), *(own for own in self._own if own.startswith(name[:5]))]
                raise InvalidArguments(
                    f"There is no tool {name[:80]!r}.",
                    hint=f"Did you mean {', '.join(near[:3])}?" if near else "Search for one.",
                )
            self.offer(known)
        self._run.record_use([name])
        return await abilities.call_tool(name, arguments)

    def _resolve(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the values that their references name."""

        def read_text(name: str) -> str:
            self._run.access.has_private_data = True
            return self._run.parts.abilities.file_text(name)

        resolved: dict[str, Any] = resolve_references(arguments, self._value_of, read_text)
        return resolved

    def _value_of(self, name: str) -> Any:
        return self._run.observations.find(name).value

    def offer(self, tool: FoundTool) -> None:
        """Offers a tool from the next turn on."""
        self.offered.pop(tool.name, None)
        self.offered[tool.name] = tool
        while len(self.offered) > tools.MAX_OFFERED:
            del self.offered[next(iter(self.offered))]

    async def _search(self, said: dict[str, Any]) -> ActionResult:
        found = await self._run.parts.abilities.search_tools(_require_text(said, "query"))
        for tool in reversed(found.tools):
            self.offer(tool)
        rows = [
            {"name": each.name, "signature": each.signature, "summary": each.summary, "trust": each.trust}
            for each in found.tools
        ]
        return ActionResult(ok=True, value={"fit": found.fit, "tools": rows}, is_data=False)

    async def _run_code(self, said: dict[str, Any]) -> ActionResult:
        given = said.get("arguments") or {}
        if not isinstance(given, dict):
            raise InvalidArguments("arguments must be an object.")
        packages = [str(each) for each in said.get("packages") or ()]
        resolved = self._resolve({"code": said.get("code"), "arguments": given})
        code, arguments = _require_text(resolved, "code"), resolved["arguments"]
        result = await self._run.parts.abilities.run_code(code, arguments, packages)
        self._run.record_use(result.used)

        def is_short(value: Any) -> bool:
            return len(as_text(value)) <= MAX_LOGGED

        computed = result.value.get("result") if isinstance(result.value, dict) else None
        program = Program(
            code=code,
            arguments={name: value if is_short(value) else given[name] for name, value in arguments.items()},
            packages=tuple(packages),
            result=computed if is_short(computed) else None,
        )
        return result.model_copy(update={"program": program})

    async def _build(self, said: dict[str, Any]) -> ActionResult:
        if not self._run.parts.builds:
            raise InvalidArguments("This task may make no tools.", hint="Do it once, in run_code.")
        said = self._resolve(said)
        try:
            request = BuildRequest.model_validate(
                {name: said[name] for name in BuildRequest.model_fields if said.get(name) is not None}
            )
        except ValidationError as unfit:
            first = unfit.errors(include_url=False)[0]
            raise InvalidArguments(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from unfit
        # All clients of the library could read what a run with private data puts into a tool: a person decides.
        if self._run.access.has_private_data and not await self._may_publish(request):
            raise InvalidArguments(
                "The tool is not made: this task has read private data, every client of the library could read the "
                "tool, and no person approved it.",
                hint="Do it once, in run_code.",
            )
        # What a planner looks up would be one more way out.
        access, urls = self._run.access, urls_in(request.description)
        looks_up = not access.has_private_data and all(map(access.was_given, urls))
        request = request.model_copy(update={"looks_up": looks_up})
        result = await self._run.parts.abilities.build_tool(request)
        if result.made and result.made not in self._run.tools_made:
            self._run.tools_made.append(result.made)
        name = result.made or (result.value or {}).get("tool", "")
        if name and (tool := await self._run.parts.abilities.find_tool(name)) is not None:
            self.offer(tool)
        return result.model_copy(update={"is_data": False})

    async def _may_publish(self, request: BuildRequest) -> bool:
        """Whether a person who has seen the whole request lets all clients have the tool."""
        question = _MAY_PUBLISH.format(request.model_dump_json(indent=1, exclude={"looks_up"}))
        if self._run.parts.ask is None or len(question) > MAX_APPROVED:
            return False
        await self._run.emit("question", question)
        return (await self._run.parts.ask(question) or "").strip().casefold() in ("y", "yes")

    async def _research(self, said: dict[str, Any]) -> ActionResult:
        access = self._run.access
        may_fetch = access.count_request if access.has_private_data else None
        query = _require_text(said, "query")
        found = await self._run.parts.abilities.research_web(query, may_fetch=may_fetch)
        access.admit_hits(hit.url for hit in found.hits)
        access.admit_hits(passage.url for passage in found.passages)
        sources = tuple(
            Source(url=each.url, title=each.title, retrieved_at=each.retrieved_at) for each in found.passages
        )
        self._run.record_sources(sources)
        value = found.model_dump(mode="json", exclude={"question"}, exclude_defaults=True)
        return ActionResult(ok=True, value=value, sources=sources, is_data=bool(found.passages))

    async def _read_page(self, said: dict[str, Any]) -> ActionResult:
        url, access = _require_text(said, "url"), self._run.access
        page = access.find_page(url)
        if page is None:
            given, may_follow = access.open_request(url)
            page = await self._run.parts.abilities.fetch_page(given, may_follow=may_follow)
            access.admit_page(given, page)
        source = Source(url=page.url, title=page.title, retrieved_at=page.retrieved_at)
        self._run.record_sources([source])
        return await self._keep_document(page, source)

    async def _read_file(self, said: dict[str, Any]) -> ActionResult:
        name = _require_text(said, "name")
        self._run.access.has_private_data = True
        page = await self._run.parts.abilities.read_file(name)
        return await self._keep_document(page, Source(url=f"file:{name}"))

    async def _keep_document(self, page: Document, source: Source) -> ActionResult:
        value = {"title": page.title, "text": page.text, "links": [link.model_dump() for link in page.links]}
        return ActionResult(ok=True, value=value, sources=(source,))

    async def _read_value(self, said: dict[str, Any]) -> ActionResult:
        reference = _require_text(said, "reference")
        value = part_of(reference, self._value_of)
        shown = self._run.observations.find(reference.strip().removeprefix("#").partition("/")[0])
        offset, length = _whole_number(said, "offset", 0), _whole_number(said, "length", PAGE)
        name, whole = ("items", value) if isinstance(value, list) else ("text", as_text(value))
        page = {name: whole[offset : offset + length], "offset": offset, "of": len(whole)}
        # A look makes neither the task nor a memory data, and no second computation of what a program gave.
        is_data = shown.is_data and shown.reference != "o0"
        return ActionResult(ok=True, value=page, is_data=is_data, program=shown.program)

    async def _ask_person(self, said: dict[str, Any]) -> ActionResult:
        question = _require_text(said, "question")[:MAX_QUESTION]
        await self._run.emit("question", question)
        answer = await self._run.parts.ask(question) if self._run.parts.ask is not None else None
        if answer is None:
            raise InvalidArguments(
                "Nobody answered.", hint="Take the most obvious meaning, and say in the answer which."
            )
        self._run.access.has_private_data = True
        self._run.access.admit_named(answer)
        return ActionResult(ok=True, value={"question": question, "answer": answer})


def _require_text(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidArguments(f"{name} is missing: expected a text.")
    return value


def _whole_number(said: dict[str, Any], name: str, default: int) -> int:
    value = said.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArguments(f"{name} must be a whole number of 0 or more.")
    return value


def _part(observation: Observation, said: dict[str, Any]) -> str:
    """The part of a page or file that was asked for, with the links that it names."""
    text, links = observation.value["text"], observation.value["links"]
    parts = max(1, -(-len(text) // PART_CHARACTERS))
    number = min(max(1, _whole_number(said, "part", 1)), parts)
    shown = text[(number - 1) * PART_CHARACTERS : number * PART_CHARACTERS]
    named = [f"[{link['number']}] {link['url']}" for link in links if f"[{link['number']}]" in shown]
    head = f"{observation.value['title']}\n" if observation.value["title"] and number == 1 else ""
    whole = f'{{"$ref": "{observation.reference}/text"}}'
    tail = f"\n(part {number} of {parts}; the whole text is {whole} in any argument)" if parts > 1 else ""
    return f"{head}{shown}{tail}" + ("\nLinks: " + " ".join(named) if named else "")


def _cut_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """Arguments as the log has them: long ones cut."""
    logged = dict(arguments)
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if len(text) > MAX_LOGGED:
            logged[name] = f"{text[:MAX_LOGGED]}… ({len(text):,} characters)"
    return logged
