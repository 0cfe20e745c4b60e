"""What an author is told of a failure with a hidden example."""

from __future__ import annotations

import json

import pytest

from alita_mcp.toolsmith.failures import (
    describe_hidden_failure,
    shows,
)
from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.toolsmith.writing.selection import hide_examples
from alita_mcp.values import Example
from alita_mcp.verification.findings import cut_arguments

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
