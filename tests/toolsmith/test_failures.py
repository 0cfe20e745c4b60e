"""Each class of failure has its own instruction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.toolsmith.failures import (
    classify,
    describe_hidden_failure,
    shows,
)
from alita_mcp.toolsmith.requests.outcomes import Rejected, rejection
from alita_mcp.toolsmith.writing.selection import hide_examples
from alita_mcp.values import Draft, Example
from alita_mcp.verification.findings import cut_arguments
from alita_mcp.verification.verify import verify

HEAD = (
    'def halve(number: int) -> int:\n    """Halves a number.\n\n    Args:\n        number: What.\n    """\n'
)
EXAMPLES = (
    Example(arguments={"number": 4}, expected=2),
    Example(arguments={"number": 9}, expected=4),
    Example(arguments={"number": 0}, expected=0),
)


def refused(stage: Any, reason: str, **more: Any) -> Rejected:
    return Rejected(stage=stage, reason=reason, fix="mend it", **more)


async def silent(_stage: str) -> None:
    return None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("def halve(number: int) -> int:\n    return (\n", "syntax"),
        (HEAD + "    return nothing_of_the_kind(number)\n", "syntax"),
        ("import numpy\n\n\n" + HEAD + "    return int(numpy.int64(number) // 2)\n", "dependency"),
        ("def halve(number) -> int:\n    return number // 2\n", "schema"),
        (HEAD + "    return number * 2\n", "assertion"),
        (HEAD + "    return [1, 2][number]\n", "exception"),
        (HEAD + "    return number / 2\n", "schema"),
        (HEAD + "    return number // 2\n\n\nprint(halve(2))\n", "policy"),
    ],
)
async def test_what_the_gates_say_is_told_apart(sandbox: WasmSandbox, code: str, kind: str) -> None:
    draft = Draft(name="halve", description="Halves a number.", code=code, examples=EXAMPLES)
    verdict = await verify(draft, sandbox, silent)
    assert verdict.report.failure is not None
    assert classify(rejection(verdict.report.failure)) == kind, verdict.report.failure


SECRET = "swordfish 4711 Überraschung"
EXAMPLE = Example(arguments={"text": SECRET, "limit": 37}, expected={"answer": "xyzzy", "count": 90210})
PARTS = ("swordfish", "4711", "überraschung", "37", "xyzzy", "90210", "answer")
CODE = '''import json


def read(text: str, limit: int) -> dict[str, str]:
    """Reads a text."""
    if limit > 30:
        raise ValueError(f"too much: {text!r}")
    return json.loads(text, parse_constant=_refuse)
'''


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        (
            "TypeError: JSONDecoder.__init__() got an unexpected keyword argument 'parse_constant'",
            "TypeError: JSONDecoder.__init__() got an unexpected keyword argument 'parse_constant'",
        ),
        ("ModuleNotFoundError: No module named '_bz2'", "ModuleNotFoundError: No module named '_bz2'"),
        ("KeyError: 'limit'", "KeyError: 'limit'"),
        ("RecursionError", "RecursionError"),
        ("ValueError: no literal for base 10: '12a'", "ValueError: no literal for base …: '…'"),
        (f"ValueError: too much: {SECRET!r}", "ValueError: too much: '… … …'"),
        (f"ValueError: {SECRET.upper()} or {SECRET[1:7]}", "ValueError: … … … or …"),
        ("KeyError: 'a'; example 4: it raised KeyError: 'b'", "KeyError: 'a'"),
        ("IndexError: list index out of range, which neither the docstring nor", "IndexError: list index out of range"),
    ],
)  # fmt: skip
def test_a_hidden_examples_error_is_told_without_numbers_and_its_values(raised: str, shown: str) -> None:
    assert describe_hidden_failure(f"example 2: raised {raised}", EXAMPLE, CODE) == f"it raised {shown}"


def test_the_line_is_told_as_its_author_wrote_it_and_never_as_the_trace_has_it() -> None:
    trace = ("tool.py:5 in read: outer", f"tool.py:7 in read: {SECRET}")
    said = describe_hidden_failure(f"example 1: raised ValueError: {SECRET}", EXAMPLE, CODE, trace)
    assert said == 'it raised ValueError: … … … in line 7: raise ValueError(f"too much: {text!r}")'
    for forged in ("tool.py:4711 in read: x", "tool.py:0 in read: x", "nothing of the kind", "… 3 more"):
        assert "line" not in describe_hidden_failure(
            "example 1: raised ValueError: x", EXAMPLE, CODE, (forged,)
        )


@pytest.mark.parametrize(
    ("case", "hidden"),
    [
        (EXAMPLE.arguments, True),
        ({"text": SECRET, "limit": 38}, True),
        ({"text": SECRET[1:] + "!", "limit": 3}, True),
        ({"text": "something else", "limit": 37}, False),
        ({"text": "", "limit": 0}, False),
        (None, False),
    ],
)
def test_a_gate_tells_nothing_of_an_input_near_a_hidden_example(
    case: dict[str, object] | None, hidden: bool
) -> None:
    rejected = Rejected(
        stage="properties",
        reason=f"with {json.dumps(case)}: raised ValueError: {SECRET}, which neither the docstring nor",
        case=case, expected="raises KeyError", got=SECRET, trace=(f"tool.py:7 in read: {SECRET}",),
        fix="Raise KeyError.",
    )  # fmt: skip
    told = hide_examples(rejected, (EXAMPLE,), CODE)
    if not hidden:
        assert told == rejected
        return
    text = told.model_dump_json().lower()
    assert not any(part in text for part in (*PARTS, "keyerror"))
    assert "it raised valueerror" in text
    assert "in line 7" in text
    assert (told.stage, told.case) == ("properties", None)


def test_a_hidden_example_is_known_by_what_a_check_cuts_it_to() -> None:
    long = Example(arguments={"text": "ab" * 4_000}, expected=1)
    assert shows(cut_arguments(long.arguments), long)
    assert not shows({"n": 5}, Example(arguments={"n": 6}, expected=1))
