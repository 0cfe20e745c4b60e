"""Template and rules for an agent that asks for a tool without code."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from alita_mcp.errors import SandboxError
from alita_mcp.runs.history.annotations import Annotations, NoFunctionError
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.toolsmith.requests.outcomes import NeedsCode
from alita_mcp.toolsmith.requests.request import NEEDS, SynthesisRequest
from alita_mcp.values import Example
from alita_mcp.verification.code.function import nearest_name

CODE_RULES = (
    "One public function named like the tool, sync or async; helpers start with an underscore.",
    "Annotate parameters and result: str int float bool list[T] dict[str, T] T | None TypedDict, Literal of strings.",
    "A docstring: first line says what it does; Args: describes each parameter; Raises: names exceptions.",
    "JSON in, JSON out. Raise ValueError for bad input. No files, hosts, clock or randomness but as asked for.",
    "Imports: the standard library and what you list in packages (wheels only), as far as the sandbox has them.",
)
"""Rules for every tool's code, by any author."""
STAND_IN = (
    "Hosts are a stand-in in tests, over http://: /status/404, /text, /csv and /json are fixed, any other path "
    "answers the request as JSON (method, path, query, headers, body)."
)
RULES = (
    *CODE_RULES[:-1],
    "An image as the whole result: -> alita_tool.Image (of PNG bytes or SVG text) or matplotlib.figure.Figure.",
    (
        'More than computing, by import alita_tool: "needs": {"workspace": "read"|"write", "model": true, "tools": '
        '["name"], "secrets": ["NAME"], "network": ["host"]}; a person grants it later. '
        f"{STAND_IN}"
    ),
    CODE_RULES[-1],
    "At least 3 tests, with different results as far as the tool has them, one of them an edge or an error case.",
    (
        'Dice, a UUID, today: "varies": ["random"] or ["clock"]. Tests say with check what holds of every result; '
        "they know now (a datetime in UTC) and seed."
    ),
    "use_when: about five short requests in different words that this tool serves, one with concrete values.",
)


_SCRIPT = (
    "The code is a script: make it one function that takes what the script reads and returns what it prints. Or run it "
    "with run_code, and name its runs in from_run."
)
_UPDATE = (
    "An update is the whole code of the next version: fix what inspect_tool with source=true shows. Its description "
    "says what the tool does, not what was wrong."
)
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SMALL_WORDS = frozenset(
    ["a", "an", "the", "of", "to", "from", "in", "on", "for", "with", "and", "or", "by", "that"]
)
_ANY_TESTS = (
    {"arguments": {"value": "…"}, "expected": "…"},
    {"arguments": {"value": "…another…"}, "expected": "…"},
    {"arguments": {"value": ""}, "raises": "ValueError"},
)


def ask_for_code(
    request: SynthesisRequest, similar: tuple[str, ...], sandbox: tuple[str, ...] = ()
) -> NeedsCode:
    """Returns the `needs_code` outcome: call `synthesize_tool` again with the template's fields filled in.

    The template has all that the request gave; parameters and result are those of its tests. `sandbox` are sentences on
    what code can do there.
    """
    words = [word for word in request.description.split() if word.lower() not in _SMALL_WORDS]
    name = request.name or nearest_name(" ".join(words[:4])) or "my_tool"
    description = request.description.strip() or "Say in one sentence what the tool does."
    given = request.model_dump(mode="json", exclude_defaults=True)
    needs = {field: given.pop(field) for field in NEEDS if field in given}
    filled = {
        "name": name,
        "description": description,
        "code": _function(name, description, request.tests),
        "tests": [test.as_json() for test in request.tests] or list(_ANY_TESTS),
        "use_when": list(request.use_when) or ["…in the words of another request…"],
        **({"needs": needs} if needs else {}),
    }
    template = filled | {field: value for field, value in given.items() if field not in filled}
    rules = (_SCRIPT, *RULES) if request.code.strip() else RULES
    rules = (_UPDATE, *rules) if request.update else rules
    return NeedsCode(template=template, rules=rules, sandbox=sandbox, similar=similar)


def _function(name: str, description: str, tests: Sequence[Example]) -> str:
    """A function without a body, typed as the tests call it."""
    annotations = Annotations(frozenset({name}))

    def annotation_of(what: str, values: Sequence[Any]) -> str:
        try:
            return annotations.annotation_of(what, values)
        except NoFunctionError:  # of no one type
            return "str"

    tests = tests or [Example.model_validate(test) for test in _ANY_TESTS]
    calls = [test.arguments for test in tests]
    usual = [test.arguments for test in tests if test.raises is None] or calls
    results = [test.expected for test in tests if "expected" in test.outcome_fields]
    names = [
        each
        for each in dict.fromkeys(chain.from_iterable(calls))
        if _PARAMETER.fullmatch(each) and not keyword.iskeyword(each)
    ]
    parameters = []
    for each in sorted(names, key=lambda each: any(each not in call for call in calls)):
        text = annotation_of(each, [call[each] for call in usual if each in call])
        optional = any(each not in call or call[each] is None for call in calls)
        parameters.append(
            f"{each}: {text.removesuffix(' | None')} | None = None" if optional else f"{each}: {text}"
        )
    result = annotation_of("result", results)
    summary = description.splitlines()[0][:200].replace("\\", "/").replace('"', "'")
    summary = "".join(letter for letter in summary if letter.isprintable())
    sections = {
        "Args": dict.fromkeys(names, "What it is, in which form and unit."),
        "Raises": {test.raises: "When it is raised." for test in tests if test.raises is not None},
    }
    docstring = summary + "".join(
        f"\n\n    {title}:" + "".join(f"\n        {each}: {text}" for each, text in entries.items())
        for title, entries in sections.items()
        if entries
    )
    return (
        (f"{annotations.classes}\n\n\n" if annotations.classes else "")
        + f"def {name}({', '.join(parameters)}) -> {result}:\n"
        + f'    """{docstring}\n    """\n    raise RuntimeError("write this")\n'
    )


async def describe_abilities(sandbox: Sandbox) -> tuple[str, ...]:
    """Describes what code can do in a sandbox, or why there is none and what a person does about it."""
    try:
        return (await sandbox.abilities()).in_words()
    except SandboxError as none:
        return (f"No tool can be verified here until a sandbox works: {none}",)


async def describe_lacks(sandbox: Sandbox) -> tuple[str, ...]:
    """Describes for writers what code must do without in a sandbox; empty without a sandbox."""
    try:
        return (await sandbox.abilities()).summary_of_lacks()
    except SandboxError:
        return ()


def format_template(filled: Mapping[str, Any]) -> str:
    """A template as JSON text with a line for each field and each test."""
    lines = []
    for field, value in filled.items():
        text = _as_json(value)
        if field == "tests":
            text = "[\n" + ",\n".join(f"  {_as_json(test)}" for test in value) + "\n ]"
        lines.append(f" {_as_json(field)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
