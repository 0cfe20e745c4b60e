"""Template and rules for an agent that asks for a tool without code."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Mapping
from typing import Any

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.toolsmith.requests.outcomes import NeedsCode
from alita_mcp.toolsmith.requests.request import SynthesisRequest
from alita_mcp.values import TOOL_NAME

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


_USE_WHEN = "…in the words of another request…"
_SCRIPT = (
    "The code is a script: make it one function that takes what the script reads and returns what it prints. Or run it "
    "with run_code, and name its runs in from_run."
)


def ask_for_code(
    request: SynthesisRequest, similar: tuple[str, ...], sandbox: tuple[str, ...] = ()
) -> NeedsCode:
    """Returns the `needs_code` outcome: call `synthesize_tool` again with the template's fields filled in.

    `sandbox` are sentences on what code can do there.
    """
    name = request.name
    if not _can_name_a_function(name):
        words = re.findall(r"[a-z0-9]+", request.description.lower())
        name = "_".join(words[:4])[:40].strip("_")
        name = name if _can_name_a_function(name) else "my_tool"
    description = request.description.strip() or "Say in one sentence what the tool does."
    summary = description.splitlines()[0][:200].replace("\\", "/").replace('"', "'")
    summary = "".join(letter for letter in summary if letter.isprintable())
    code = (
        f"def {name}(text: str, limit: int = 10) -> str:\n"
        f'    """{summary}\n\n'
        "    Args:\n        text: What to work on.\n        limit: At most this many.\n\n"
        '    Raises:\n        ValueError: The text is empty.\n    """\n'
        "    if not text:\n"
        '        raise ValueError("text is empty")\n'
        "    return text[:limit]\n"
    )
    template = {
        "name": name,
        "description": description,
        "code": code,
        "tests": [
            {"arguments": {"text": "abcdef", "limit": 3}, "expected": "abc"},
            {"arguments": {"text": "ab"}, "expected": "ab"},
            {"arguments": {"text": ""}, "raises": "ValueError"},
        ],
        "use_when": list(request.use_when) or [_USE_WHEN],
    }
    rules = (_SCRIPT, *RULES) if request.code.strip() else RULES
    return NeedsCode(template=template, rules=rules, sandbox=sandbox, similar=similar)


def _can_name_a_function(name: str) -> bool:
    return re.match(TOOL_NAME, name) is not None and not keyword.iskeyword(name)


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
