"""What a run can do beyond asking its models: the seam that the app fills, through the same flows as clients' calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pydantic import Field

from alita_mcp.research.interface import MayFollow
from alita_mcp.research.values import Document, Researched
from alita_mcp.values import Trust, Value


class FoundTool(Value):
    """A tool of the library as a model may call it."""

    name: str
    signature: str
    summary: str
    description: str
    input_schema: dict[str, Any]
    trust: Trust
    score: float = 0.0
    calls: int = 0
    """So far, of all clients."""
    failures: int = 0


class FoundTools(Value):
    """What a search of the library gave."""

    fit: Literal["match", "possible", "none"]
    tools: tuple[FoundTool, ...] = ()


class Outcome(Value):
    """What a call came to; a failing tool is a value here."""

    ok: bool
    value: Any = None
    error: str = ""
    """What went wrong and what mends it."""
    made: str = ""
    """Name of the tool that was made, where one was."""
    used: tuple[str, ...] = ()
    """Library tools that the code called."""


class BuildRequest(Value):
    """A tool that a run wants."""

    description: str = Field(min_length=1)
    name: str = ""
    examples: tuple[dict[str, Any], ...] = ()
    code: str = ""


class Abilities(Protocol):
    """What the app offers to one run.

    Implementers: whatever runs, runs in the sandbox and under the grants that a person gave; what may not be done is an
    Outcome that says so. Only a failing sandbox, library or network is an AlitaError.
    """

    async def search(self, query: str, limit: int = 5) -> FoundTools:
        """Tools for a need, best first."""
        ...

    async def tool(self, name: str) -> FoundTool | None:
        """A tool that can be called here; None where there is none of that name."""
        ...

    def near(self, name: str) -> Sequence[str]:
        """Names of tools that look like one that does not exist."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Outcome:
        """Calls a tool."""
        ...

    async def run_code(self, code: str, arguments: dict[str, Any], packages: Sequence[str]) -> Outcome:
        """Runs code once; it may read the files of the task and call tools."""
        ...

    async def build(self, request: BuildRequest) -> Outcome:
        """Has a tool made, proved and published."""
        ...

    async def research(self, question: str) -> Researched:
        """Passages of the web that bear on a question."""
        ...

    async def fetch(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """A page of the web."""
        ...

    def files(self) -> tuple[str, ...]:
        """Names of the files of the task, and of those that code of it left."""
        ...

    def file_text(self, name: str) -> str:
        """A file of the task as it is; raises InvalidArguments."""
        ...

    async def read_file(self, name: str) -> Document:
        """The text of a file of the task."""
        ...
