"""Reader of catalogues, queries and needs that nothing fits, as JSON lines."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ConfigDict, Field, ValidationError

from alita_mcp.errors import UsageError
from alita_mcp.library.words.documents import Document, compose
from alita_mcp.values import Value


class Row(Value):
    """One line; fields that a benchmark does not use are let through."""

    model_config = ConfigDict(extra="ignore", frozen=True)


Kind = TypeVar("Kind", bound=Row)


class Parameter(Row):
    """One parameter of a tool."""

    name: str
    description: str | None = None


class CatalogueTool(Row):
    """One tool of a catalogue."""

    name: str = Field(min_length=1)
    description: str = ""
    params: tuple[Parameter, ...] = ()
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    def document(self, requests: Sequence[str] = ()) -> Document:
        """The searched document of the tool."""
        parameters = [(each.name, each.description or "") for each in self.params]
        return compose(
            self.name, self.description, parameters, tags=self.tags, requests=(*self.examples, *requests)
        )


class Need(Row):
    """One query and the tools that serve it, any of them; none for a need that nothing fits."""

    id: str
    query: str
    tools: tuple[str, ...] = ()
    kind: str = ""


class Pair(Row):
    """A proposed tool and the known one that it resembles; `label` is 1 when both do the same."""

    candidate: CatalogueTool
    of: str | None = None
    label: int

    def need(self) -> Need:
        """The need behind the tool: its name and description."""
        said = f"{self.candidate.name} {self.candidate.description}".strip()
        twin = (self.of,) if self.label and self.of else ()
        return Need(id=self.candidate.name, query=said, tools=twin, kind=TWIN if twin else LOOK_ALIKE)


TWIN, LOOK_ALIKE = "twin", "look-alike"


def read_tools(path: Path) -> list[CatalogueTool]:
    """The tools of a catalogue; UsageError for lines that hold none, and where a name stands twice."""
    tools = _rows(CatalogueTool, path)
    _each_once([tool.name for tool in tools], f"{path}: the tool")
    return tools


def read_needs(path: Path) -> list[Need]:
    """The needs of a file; UsageError for lines that hold none, and where an id stands twice."""
    needs = _rows(Need, path)
    _each_once([need.id for need in needs], f"{path}: the id")
    return needs


def read_pairs(path: Path) -> list[Need]:
    """Reads the pairs of a file; raises UsageError for lines that hold none."""
    return [pair.need() for pair in _rows(Pair, path)]


def requests_for(pool: Sequence[Need], per_tool: int) -> Mapping[str, Sequence[str]]:
    """So many requests of each tool, always the same ones."""
    found: dict[str, list[str]] = defaultdict(list)
    for need in pool:
        for name in need.tools[:1]:
            found[name].append(need.query)
    return {
        name: sorted(queries, key=lambda query: hashlib.md5(query.encode()).hexdigest())[:per_tool]
        for name, queries in found.items()
    }


def documents_of(
    tools: Sequence[CatalogueTool], requests: Mapping[str, Sequence[str]]
) -> dict[str, Document]:
    """The searched document of each tool, with its requests."""
    return {tool.name: tool.document(requests.get(tool.name, ())) for tool in tools}


def _rows(kind: type[Kind], path: Path) -> list[Kind]:
    rows = [_checked(kind, line, path, number) for number, line in _lines(path)]
    if not rows:
        raise UsageError(f"{path} is empty.", hint="It takes JSON lines.")
    return rows


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise UsageError(f"{path} cannot be read: {failure}.") from failure
    yield from ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _checked(kind: type[Kind], line: str, path: Path, number: int) -> Kind:
    try:
        return kind.model_validate_json(line)
    except ValidationError as invalid:
        first = invalid.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise UsageError(f"{path}, line {number}: {where}: {first['msg']}.") from invalid


def _each_once(names: Sequence[str], what: str) -> None:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise UsageError(f"{what} {twice!r} stands twice.")
