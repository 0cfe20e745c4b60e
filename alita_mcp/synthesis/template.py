"""What an agent gets when it asks for a tool without code: a template to fill in one go, and the rules."""

from __future__ import annotations

import json
import keyword
import re

from alita_mcp.synthesis.outcomes import NeedsCode
from alita_mcp.synthesis.request import SynthesisRequest
from alita_mcp.synthesis.script_template import function_of
from alita_mcp.values import TOOL_NAME

RULES = (
    "One public function named like the tool, sync or async; helpers start with an underscore.",
    "Annotate parameters and result: str int float bool list[T] dict[str, T] Literal T | None TypedDict.",
    "A docstring: first line says what it does; Args: describes each parameter; Raises: names exceptions.",
    "JSON in, JSON out. Raise ValueError for bad input. No files, hosts, clock or randomness but as asked for.",
    (
        'More than computing, by import alita_tool: "needs": {"workspace": "read"|"write", "model": true, "tools": '
        '["name"], "secrets": ["NAME"], "network": ["host"]}; a person grants it later. Hosts are a stand-in in tests, '
        "over http://: /status/404, /text, /csv and /json are fixed, any other path answers the request as JSON "
        "(method, path, query, headers, body)."
    ),
    "Imports: the standard library and what you list in packages (wheels only).",
    "At least 3 tests with different results, one of them an edge or an error case.",
    (
        'Dice, a UUID, today: "varies": ["random"] or ["clock"]. Tests say with check what holds of every result; '
        "they know now (a datetime in UTC) and seed."
    ),
    "use_when: about five short requests in different words that this tool serves, one with concrete values.",
)


def ask_for_code(
    request: SynthesisRequest, similar: tuple[str, ...], printed: str | None = None
) -> NeedsCode:
    """The `needs_code` answer: call `synthesize_tool` again with the template's fields filled in.

    A plain script comes back as a function that does the same; `printed` is its output without any input.
    """
    if request.code.strip():
        return _ask_for_function(request, similar, printed)
    name = request.name if _can_name_a_function(request.name) else _name_from(request.description)
    description = request.description.strip() or "Say in one sentence what the tool does."
    code = (
        f"def {name}(text: str, limit: int = 10) -> str:\n"
        f'    """{_first_line(description)}\n\n'
        "    Args:\n        text: What to work on.\n        limit: At most this many.\n\n"
        '    Raises:\n        ValueError: The text is empty.\n    """\n'
        "    if not text:\n"
        '        raise ValueError("text is empty")\n'
        "    return text[:limit]\n"
    )
    filled = {
        "name": name,
        "description": description,
        "code": code,
        "tests": [
            {"arguments": {"text": "abcdef", "limit": 3}, "expected": "abc"},
            {"arguments": {"text": "ab"}, "expected": "ab"},
            {"arguments": {"text": ""}, "raises": "ValueError"},
        ],
        "use_when": ["…five short requests in different words…"],
    }
    return NeedsCode(template=json.dumps(filled, ensure_ascii=False, indent=1), rules=RULES, similar=similar)


def _ask_for_function(request: SynthesisRequest, similar: tuple[str, ...], printed: str | None) -> NeedsCode:
    wanted = request.name if _can_name_a_function(request.name) else _name_from(request.description)
    description = request.description.strip() or "Say in one sentence what the tool does."
    function = function_of(request.code, wanted, _first_line(description))
    filled = {
        "name": wanted,
        "description": description,
        "code": function.code,
        "tests": [test.as_json() for test in request.tests]
        or [{"arguments": function.arguments, "expected": "…" if printed is None else printed.strip()}],
        "use_when": list(request.use_when) or ["…five short requests in different words…"],
    }
    rules = (
        "The code was a script: it is a function now, with a parameter for each input. Name and type them.",
        *RULES,
    )
    return NeedsCode(template=json.dumps(filled, ensure_ascii=False, indent=1), rules=rules, similar=similar)


def _first_line(description: str) -> str:
    line = (description.splitlines() or [""])[0][:200]
    harmless = line.replace("\\", "/").replace('"', "'")
    return "".join(letter for letter in harmless if letter.isprintable())


def _name_from(description: str) -> str:
    words = re.findall(r"[a-z0-9]+", description.lower())
    name = "_".join(words[:4])[:40].strip("_")
    return name if _can_name_a_function(name) else "my_tool"


def _can_name_a_function(name: str) -> bool:
    return re.match(TOOL_NAME, name) is not None and not keyword.iskeyword(name)
