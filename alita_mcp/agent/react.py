"""The manager agent's loop (ReAct): ask the model for an action, do it, show it what came back, until it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, TypeAdapter, ValidationError

from alita_mcp.agent import prompts
from alita_mcp.errors import AlitaError
from alita_mcp.models.json_answer import first_json_object
from alita_mcp.models.seam import LanguageModel, Message
from alita_mcp.values import Value

MAX_STEPS = 10


class Search(Value):
    """Looks for a tool."""

    action: Literal["search"]
    thought: str = ""
    query: str


class Run(Value):
    """Calls a tool."""

    action: Literal["run"]
    thought: str = ""
    tool: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class Build(Value):
    """Asks the toolsmith for a new tool."""

    action: Literal["build"]
    thought: str = ""
    description: str


class ReadPage(Value):
    """Reads a page of the web."""

    action: Literal["read_page"]
    thought: str = ""
    url: str


class Answer(Value):
    """Ends the task."""

    action: Literal["answer"]
    thought: str = ""
    answer: str
    solved: bool = True


Action = Annotated[Search | Run | Build | ReadPage | Answer, Field(discriminator="action")]
_ACTION: TypeAdapter[Search | Run | Build | ReadPage | Answer] = TypeAdapter(Action)


class Step(Value):
    """One action and what came back."""

    action: dict[str, Any]
    observation: Any = None


class Solution(Value):
    """The end of a task."""

    answer: str
    solved: bool
    steps: tuple[Step, ...]


class Abilities(Protocol):
    """What the agent can do; the implementer runs everything through the same doors as clients do."""

    async def search(self, query: str) -> Any:
        """Tools for a need, as `search_capabilities` answers."""
        ...

    async def run(self, tool: str, arguments: dict[str, Any]) -> Any:
        """A tool's result, as `run_tool` answers."""
        ...

    async def build(self, description: str) -> Any:
        """A new tool, as `synthesize_tool` answers."""
        ...

    async def read_page(self, url: str) -> Any:
        """A page's text."""
        ...


async def solve(
    task: str, model: LanguageModel, abilities: Abilities, on_step: Callable[[str], Awaitable[None]]
) -> Solution:
    """Works on a task until the model answers or `MAX_STEPS` are used.

    Raises:
        ModelError: the model did not answer.
    """
    talk = prompts.begin(task, MAX_STEPS)
    steps: list[Step] = []
    for left in range(MAX_STEPS - 1, -1, -1):
        text = (await model.complete(talk)).text
        talk.append(Message(role="assistant", content=text[:8_000]))
        try:
            action = _ACTION.validate_python(first_json_object(text))
        except (ValueError, ValidationError) as unreadable:
            talk.append(prompts.observe({"error": f"not an action: {str(unreadable)[:300]}"}, left))
            continue
        await on_step(f"{action.action}: {action.thought[:120]}")
        if isinstance(action, Answer):
            return Solution(answer=action.answer, solved=action.solved, steps=tuple(steps))
        observation = await _observe(action, abilities)
        steps.append(Step(action=action.model_dump(mode="json"), observation=observation))
        talk.append(prompts.observe(observation, left))
    return Solution(answer=f"Not solved within {MAX_STEPS} steps.", solved=False, steps=tuple(steps))


async def _observe(action: Search | Run | Build | ReadPage, abilities: Abilities) -> Any:
    try:
        match action:
            case Search():
                return await abilities.search(action.query)
            case Run():
                return await abilities.run(action.tool, action.arguments)
            case Build():
                return await abilities.build(action.description)
            case ReadPage():
                return await abilities.read_page(action.url)
    except AlitaError as failure:
        return {"error": str(failure)}
