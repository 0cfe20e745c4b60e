"""Tools that a run's model is offered besides those of the library: names, descriptions, schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from alita_mcp.agent.actions.abilities import FoundTool
from alita_mcp.models.interface import ToolSpec

SEARCH, RUN_CODE, BUILD = "search_capabilities", "run_code", "build_tool"
RESEARCH, READ_PAGE = "research_web", "read_page"
READ_FILE, READ_VALUE = "read_file", "read_value"
ASK_PERSON, FINISH = "ask_person", "finish"
MAX_OFFERED = 24
"""Tools of the library that are offered at once; the last found ones."""
MAX_DESCRIPTION = 600

_TEXT: dict[str, Any] = {"type": "string"}
_NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0}
_REASON: dict[str, Any] = {"type": "string", "description": "Why this way and not another"}


def _spec(name: str, description: str, properties: dict[str, Any], required: Iterable[str]) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=description, parameters=schema)


_SEARCH = _spec(
    SEARCH, "Find tools of the library by what they do; those found can be called by their names from then on.",
    {"query": _TEXT}, ["query"],
)  # fmt: skip
_RUN_CODE = _spec(
    RUN_CODE,
    "Run Python once in a sandbox without network; its last expression, or `result`, is the result. "
    "`from alita_tools import NAME` calls library tools inside: several needs in one program. "
    'Files of the task: open("NAME"). Each key of `arguments` is a variable of the code.',
    {"code": _TEXT, "arguments": {"type": "object"}, "packages": {"type": "array", "items": _TEXT}, "reason": _REASON},
    ["code", "reason"],
)  # fmt: skip
_BUILD = _spec(
    BUILD,
    "Have a new tool made, proved and kept, for a need that will come again and no tool serves. "
    "Without code the toolsmith writes it.",
    {
        "description": {**_TEXT, "description": "What it does: inputs, result, edge cases"},
        "name": _TEXT,
        "examples": {
            "type": "array",
            "items": {"type": "object"},
            "description": 'Each {"arguments": {}, "expected": …}',
        },
        "code": {**_TEXT, "description": "One typed Python function of that name with a docstring"},
        "reason": _REASON,
    },
    ["description", "reason"],
)
_RESEARCH = _spec(
    RESEARCH, "Search the web and read what bears on a question: passages with their addresses.",
    {"query": _TEXT}, ["query"],
)  # fmt: skip
_READ_PAGE = _spec(
    READ_PAGE,
    "Read a page: its text with tables and numbered links; `part` 2, 3, … for the rest of a long one. After files, "
    "results of tools with grants, memory or a person's answer only few new pages can be read, at addresses as given.",
    {"url": _TEXT, "part": _NUMBER}, ["url"],
)  # fmt: skip
_READ_FILE = _spec(
    READ_FILE, "Read the text of a file of the task (text, CSV, JSON, HTML, PDF); `part` 2, 3, … for the rest.",
    {"name": _TEXT, "part": _NUMBER}, ["name"],
)  # fmt: skip
_READ_VALUE = _spec(
    READ_VALUE, "Page through a whole observation, or a part of it as in o3/rows: items of a list, else characters.",
    {"reference": _TEXT, "offset": _NUMBER, "length": _NUMBER}, ["reference"],
)  # fmt: skip
_ASK_PERSON = _spec(
    ASK_PERSON, "Ask the person one question, where the task can mean different things and the answer would differ.",
    {"question": _TEXT}, ["question"],
)  # fmt: skip
_FINISH = _spec(
    FINISH,
    "End the task. `answer`: exactly what was asked for and no word more. `claims`: for each claim of it the "
    "observation it rests on, with the words that say so.",
    {
        "answer": {"description": "A text"},
        "solved": {"type": "boolean"},
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"claim": _TEXT, "reference": _TEXT, "quote": _TEXT},
                "required": ["claim", "reference", "quote"],
            },
        },
        "notes": {
            "type": "array",
            "items": _TEXT,
            "description": "What a later task on these files should know: units, odd values, what a column means",
        },
    },
    ["answer", "solved"],
)
_ALL = (
    _SEARCH, _RUN_CODE, _BUILD, _RESEARCH, _READ_PAGE, _READ_FILE, _READ_VALUE, _ASK_PERSON,
    _FINISH,
)  # fmt: skip
AGENT_TOOLS = frozenset(spec.name for spec in _ALL)


def agent_tools(
    *, searches: bool, pages: bool, files: bool, person: bool, builds: bool
) -> tuple[ToolSpec, ...]:
    """The tools of a run, without those that could do nothing in it.

    Args:
        searches: Whether there is a search back end.
        pages: Whether there is a page that may be read.
        files: Whether the task has files.
        person: Whether the person can be asked.
        builds: Whether tools may be made.
    """
    needs = {
        BUILD: builds, RESEARCH: searches, READ_PAGE: searches or pages, READ_FILE: files, ASK_PERSON: person,
    }  # fmt: skip
    return tuple(spec for spec in _ALL if needs.get(spec.name, True))


def library_tool(tool: FoundTool) -> ToolSpec:
    """The offer of a library tool with its real schema."""
    return ToolSpec(
        name=tool.name, description=tool.description[:MAX_DESCRIPTION], parameters=tool.input_schema
    )


FINISH_ALONE = (_FINISH,)
"""What is offered when nothing else may be done any more."""
