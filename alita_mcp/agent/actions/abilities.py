"""Interface of what a run can do besides asking its models; the app implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import Field

from alita_mcp.agent.interface import Program
from alita_mcp.research.values import Document, MayFollow, Researched, Source
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
    """Result of a search of the library."""

    fit: Literal["match", "possible", "none"]
    tools: tuple[FoundTool, ...] = ()


class ActionResult(Value):
    """Result of an action; a failing tool is a value here."""

    ok: bool
    value: Any = None
    error: str = ""
    """What went wrong and what mends it."""
    made: str = ""
    """Name of the tool that was made, where one was."""
    used: tuple[str, ...] = ()
    """Library tools that the code called."""
    sources: tuple[Source, ...] = ()
    is_data: bool = True
    """Whether an answer may rest on it; a list of tools says nothing about the task."""
    program: Program | None = None
    """What computed it."""
    is_private: bool = False
    """Whether it can hold what a person granted: files of the task, or results of tools with grants."""


class BuildRequest(Value):
    """Request for a tool that a run wants built."""

    description: str = Field(min_length=1)
    name: str = ""
    examples: tuple[dict[str, Any], ...] = ()
    code: str = ""
    looks_up: bool = True
    """Whether the web may be asked what its planner does not know; never taken from a model."""


class Abilities(Protocol):
    """Abilities that the app offers to one run.

    Implementers: whatever runs, runs in the sandbox and under the grants that a person gave; what may not be done is an
    ActionResult that says so. Only a failing sandbox, library or network is an AlitaError.
    """

    async def search_tools(self, query: str, limit: int = 5) -> FoundTools:
        """Finds tools for a need, best first."""
        ...

    async def find_tool(self, name: str) -> FoundTool | None:
        """The tool of that name, if it can be called here; else None."""
        ...

    def names_like(self, name: str) -> Sequence[str]:
        """Names of tools that resemble one that does not exist."""
        ...

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ActionResult:
        """Calls a tool."""
        ...

    async def run_code(self, code: str, arguments: dict[str, Any], packages: Sequence[str]) -> ActionResult:
        """Runs code once; it may read the files of the task and call tools."""
        ...

    async def build_tool(self, request: BuildRequest) -> ActionResult:
        """Has a tool built, verified and published."""
        ...

    async def research_web(self, question: str, *, may_fetch: MayFollow | None = None) -> Researched:
        """Passages of the web that bear on a question; `may_fetch` says which pages are read, None: all."""
        ...

    async def fetch_page(self, url: str, *, may_follow: MayFollow | None = None) -> Document:
        """Reads a page of the web."""
        ...

    def files(self) -> tuple[str, ...]:
        """Names of the task's files, and of those that its code wrote."""
        ...

    def given_files(self) -> Mapping[str, Path]:
        """The files that the person gave: where each can be read, by its name."""
        ...

    def file_text(self, name: str) -> str:
        """A file of the task as raw text; raises InvalidArguments."""
        ...

    async def read_file(self, name: str) -> Document:
        """The extracted text of a file of the task."""
        ...
