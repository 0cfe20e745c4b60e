"""Runs of the manager agent without an app: abilities that are plain functions, a store of runs in memory."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from alita_mcp.agent.actions.abilities import ActionResult, BuildRequest, FoundTool, FoundTools
from alita_mcp.agent.interface import AskPerson, FinishedRun, Recalled, ToolProposal
from alita_mcp.agent.run import Run, RunParts
from alita_mcp.agent.solving import solve
from alita_mcp.agent.values import RunSummary, Solution, TaskBudget, TaskEvent, TaskRequest
from alita_mcp.errors import InvalidArguments
from alita_mcp.models.budget import Budget, Meter
from alita_mcp.models.interface import Completion, Message, ToolCall
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.research.values import Document, MayFollow, Passage, Researched, SearchHit
from alita_mcp.settings import Settings

RUN = "0" * 32
Script = Iterable[str | Completion] | Callable[[Sequence[Message]], str | Completion]


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> Completion:
    """A turn of a model that asks for calls."""
    asked = tuple(
        ToolCall(id=f"call_{number}", name=name, arguments=arguments)
        for number, (name, arguments) in enumerate(wanted, 1)
    )
    return Completion(text=text, model="scripted", calls=asked)


def call(name: str, /, **arguments: Any) -> Completion:
    """A turn that asks for one call."""
    return calls((name, arguments))


def finish(answer: Any, **more: Any) -> Completion:
    """A turn that ends the task."""
    return call("finish", **{"answer": answer, "solved": True, **more})


@dataclass
class PlainAbilities:
    """Tools are functions, pages and files are texts; remembers what was asked of it."""

    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    pages: Mapping[str, Document] = field(default_factory=dict)
    passages: Mapping[str, Sequence[Passage]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    code: Callable[[str, dict[str, Any]], ActionResult | Awaitable[ActionResult]] | None = None
    built: dict[str, Callable[..., Any]] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)

    def _all(self) -> dict[str, Callable[..., Any]]:
        return {**self.tools, **self.built}

    def _found(self, name: str) -> FoundTool:
        schema = {"type": "object", "properties": {}}
        return FoundTool(
            name=name,
            signature=f"{name}()",
            summary=name,
            description=name,
            input_schema=schema,
            trust="verified",
        )

    async def search_tools(self, query: str, limit: int = 5) -> FoundTools:
        self.asked.append(("search", query))
        found = tuple(
            self._found(name) for name in self._all() if any(word in name for word in query.split())
        )
        return FoundTools(fit="match" if found else "none", tools=found[:limit])

    async def find_tool(self, name: str) -> FoundTool | None:
        return self._found(name) if name in self._all() else None

    def names_like(self, name: str) -> Sequence[str]:
        return [known for known in self._all() if known[:3] == name[:3]]

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ActionResult:
        self.asked.append((name, arguments))
        try:
            return ActionResult(ok=True, value=self._all()[name](**arguments))
        except ValueError as wrong:
            return ActionResult(ok=False, error=f"ValueError: {wrong}")

    async def run_code(self, code: str, arguments: dict[str, Any], packages: Sequence[str]) -> ActionResult:
        self.asked.append(("run_code", (code, arguments, tuple(packages))))
        if self.code is None:
            names: dict[str, Any] = dict(arguments)
            return ActionResult(ok=True, value={"result": eval(code, {}, names)})  # tests' own code
        outcome = self.code(code, arguments)
        return outcome if isinstance(outcome, ActionResult) else await outcome

    async def build_tool(self, request: BuildRequest) -> ActionResult:
        self.asked.append(("build", request))
        if not request.name:
            return ActionResult(ok=False, error="examples: the tool does not do that")
        self.built[request.name] = lambda **arguments: sum(arguments.values())
        return ActionResult(ok=True, value={"status": "created", "tool": request.name}, made=request.name)

    async def research_web(self, question: str, *, may_fetch: MayFollow | None = None) -> Researched:
        self.asked.append(("research", question))
        found = tuple(self.passages.get(question, ()))
        hits = tuple(SearchHit(url=each.url, title=each.title) for each in found)
        return Researched(question=question, passages=found, hits=hits)

    async def fetch_page(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        self.asked.append(("fetch", url))
        return self.pages[url]

    def files(self) -> tuple[str, ...]:
        return tuple(self.texts)

    def given_files(self) -> Mapping[str, Path]:
        return {name: Path(name) for name in self.texts}

    def file_text(self, name: str) -> str:
        if name not in self.texts:
            raise InvalidArguments(f"There is no file {name!r}.")
        return self.texts[name]

    async def read_file(self, name: str) -> Document:
        return Document(url=f"file:{name}", text=self.file_text(name))


class RunsInMemory:
    """Stands for the store of runs."""

    def __init__(self) -> None:
        self.told: list[TaskEvent] = []

    async def append(self, event: TaskEvent) -> None:
        self.told.append(event)

    async def solution(self, run: str) -> Solution | None:
        last = self.told[-1] if self.told else None
        return Solution.model_validate(last.data) if last and last.kind == "finished" else None

    @property
    def kinds(self) -> list[str]:
        return [event.kind for event in self.told]


class MemoryOfATest:
    """A memory with what a test puts in; remembers what it was given."""

    def __init__(self, recalled: Recalled | None = None) -> None:
        self.recalled = recalled or Recalled()
        self.proposal: ToolProposal | None = None
        self.asked: list[tuple[str, dict[str, Path]]] = []
        self.finished: list[FinishedRun] = []

    async def recall(self, task: str, files: Mapping[str, Path]) -> Recalled:
        self.asked.append((task, dict(files)))
        return self.recalled

    async def remember(self, finished: FinishedRun) -> ToolProposal | None:
        self.finished.append(finished)
        return self.proposal


@dataclass
class World:
    """One run to be made, and what came of it."""

    model: ScriptedModel
    abilities: PlainAbilities
    runs: RunsInMemory
    run: Run

    async def solve(self) -> Solution:
        return await solve(self.run)

    def shown(self, turn: int = -1) -> str:
        """All that the model was shown when it was asked for the last time, or for that turn."""
        return "\n".join(message.content for message in self.model.asked[turn])


def world(
    script: Script,
    abilities: PlainAbilities | None = None,
    *,
    task: str = "What is it?",
    ask: AskPerson | None = None,
    memory: Any = None,
    searches: bool = False,
    plans: int = 0,
    request: TaskRequest | None = None,
    past: Sequence[RunSummary] = (),
    **budget: Any,
) -> World:
    """A run of one scripted model in all roles."""
    model, runs = ScriptedModel(script), RunsInMemory()
    abilities = abilities or PlainAbilities()
    request = request or TaskRequest(task=task, budget=TaskBudget(**budget))
    role_models = RoleModels(Settings(), source=lambda _role: model)

    limits = request.budget
    meter = Meter(Budget(tokens=limits.tokens, usd=limits.usd, seconds=limits.seconds), work="task")
    models = role_models.open_models(meter)

    async def on_event(event: TaskEvent) -> None:
        json.dumps(event.model_dump(mode="json"))

    async def past_runs() -> Sequence[RunSummary]:
        return past

    parts = RunParts(
        abilities=abilities, models=models, implementer=models.role("implementer"), meter=meter,
        runs=runs, on_event=on_event, past_runs=past_runs, memory=memory, ask=ask, searches=searches, plans=plans,
    )  # fmt: skip
    return World(model, abilities, runs, Run(RUN, request, parts))
