"""Requests as clients send them: fields, fenced code, names, and the template."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest, make_draft, read_request, strip_fence
from alita_mcp.toolsmith.requests.template import ask_for_code, format_template
from alita_mcp.values import Example
from alita_mcp.verification.code.function import check_name
from tests.verification.test_comparison import JSON_VALUES

CODE = 'def double(x: int) -> int:\n    """Doubles a number."""\n    return 2 * x\n'


def test_name_and_description_are_taken_from_the_code() -> None:
    request = read_request({"code": CODE, "tests": [{"arguments": {"x": 1}, "expected": 2}]})
    assert isinstance(request, SynthesisRequest)
    assert (request.name, request.description) == ("double", "Doubles a number.")


@pytest.mark.parametrize(
    ("raw", "stage", "names"),
    [
        ({"code": 7}, "schema", "code"),
        ({"name": None}, "schema", "name"),
        ({"tests": "none"}, "examples", "tests"),
        ({"tests": [{"arguments": {}}]}, "examples", "tests.0"),
        ({"tests": [{"arguments": {}, "expected": 1, "raises": "ValueError"}]}, "examples", "tests.0"),
        ({"tests": [{"arguments": {}, "raises": "not a name"}]}, "examples", "raises"),
        ({"tests": [{"arguments": [], "expected": 1}]}, "examples", "arguments"),
        ({"tests": [{"arguments": {}, "expected": 1, "surprise": 1}]}, "examples", "surprise"),
        ({"update": "perhaps"}, "schema", "update"),
        ({"packages": ["a"] * 31}, "schema", "packages"),
        ({"code": "x" * 64_001}, "schema", "code"),
        ({"wishes": 3}, "schema", "wishes"),
        ({"needs": ["network"]}, "schema", "needs"),
        ({"needs": {"host": ["a.example"]}}, "schema", "needs"),
        ({"needs": {"workspace": "all"}}, "schema", "workspace"),
        ({"needs": {"tools": "csv_query"}}, "schema", "tools"),
        ({"needs": {"model": "perhaps"}}, "schema", "model"),
        ({"varies": ["weather"]}, "schema", "varies"),
    ],
)
def test_what_does_not_fit_is_named(raw: dict[str, Any], stage: str, names: str) -> None:
    answer = read_request(raw)
    assert isinstance(answer, Rejected)
    assert answer.stage == stage
    assert names in answer.reason
    assert answer.fix


def test_needs_are_what_a_file_of_requests_says_field_by_field() -> None:
    asked = {
        "network": ["a.example"], "workspace": "write", "model": True, "tools": ["csv_query"], "secrets": ["KEY"],
    }  # fmt: skip
    assert read_request({"needs": asked, "varies": ["random"]}) == read_request(
        {**asked, "varies": ["random"]}
    )
    assert read_request({"network": ["a.example"], "needs": {}}) == read_request({"network": ["a.example"]})


def test_models_that_write_a_tool_hear_that_its_results_vary() -> None:
    assert SynthesisRequest(description="Rolls dice.", varies=("random",)).full_description.startswith(
        "Rolls dice.\n"
    )
    assert SynthesisRequest(description="Adds.").full_description == "Adds."


def test_an_expected_null_counts_as_an_expectation() -> None:
    request = read_request({"tests": [{"arguments": {}, "expected": None}]})
    assert isinstance(request, SynthesisRequest)
    assert request.tests[0].outcome_fields == {"expected"}


@given(st.text(max_size=200))
def test_code_of_any_shape_is_read_without_running_it(code: str) -> None:
    assert isinstance(read_request({"code": code}), SynthesisRequest | Rejected)


@given(st.text(max_size=300), st.lists(st.dictionaries(st.text(max_size=9), JSON_VALUES), max_size=3))
def test_the_template_is_a_request_that_can_be_filled_in(
    description: str, calls: list[dict[str, Any]]
) -> None:
    tests = tuple(Example(arguments=call, expected=call) for call in calls)
    answer = ask_for_code(SynthesisRequest(description=description, tests=tests), ())
    filled = read_request(json.loads(format_template(answer.template)))
    assert isinstance(filled, SynthesisRequest)
    compile(filled.code, "template", "exec")
    check_name(filled.name)


FENCED_CODE = 'def double(x: int) -> int:\n    """Doubles a number."""\n    return 2 * x\n'
HOLDS_A_FENCE = '''\
def double(x: int) -> int:
    """Doubles a number.

```python
double(2)
```
    """
    return 2 * x
'''
TESTS = [{"arguments": {"x": 1}, "expected": 2}]


@pytest.mark.parametrize("code", [FENCED_CODE, HOLDS_A_FENCE])
@pytest.mark.parametrize(
    "sent",
    [
        "```python\n{}```",
        "```\n{}```\n",
        "  ```py\n{}  ```\n\n",
        "~~~python\n{}~~~",
        "````python\n{}````",
        "Here is the tool, from what you said:\n\n```python\n{}```\n\nIt doubles a number.",
    ],
)
def test_one_fenced_block_is_unwrapped(sent: str, code: str) -> None:
    assert strip_fence(sent.format(code)) == code
    assert strip_fence("```\nx = = 1\n```") == "x = = 1\n"


@pytest.mark.parametrize(
    "code",
    [
        FENCED_CODE,
        HOLDS_A_FENCE,
        '"""A module.\n\n```python\ndouble(2)\n```\n"""\n' + FENCED_CODE,
        'TEXT = """\n```python\nx = 1\n"""\n' + FENCED_CODE,
        "# ```python\n" + FENCED_CODE + "# ```\n",
        FENCED_CODE.replace("return 2 * x", "return 2 x") + '"""\n```\ndouble(2)\n```\n"""\n',
        "",
        "no code at all",
    ],
)
def test_code_that_is_not_fenced_stays_as_it_is(code: str) -> None:
    assert strip_fence(code) == code


@pytest.mark.parametrize(
    "sent",
    [
        f"```python\n{FENCED_CODE}",
        f"```python\n{FENCED_CODE}```\nand\n```python\n{FENCED_CODE}```",
        f"```python\n{FENCED_CODE}```\nimport json\n",
    ],
    ids=["never closed", "several", "code outside"],
)
def test_what_is_not_one_closed_block_is_left_to_the_parser(sent: str) -> None:
    request = read_request({"code": sent, "tests": TESTS, "name": "double"})
    assert isinstance(request, SynthesisRequest)
    assert request.code == sent


def test_a_fenced_request_is_read_as_if_there_were_no_fence() -> None:
    plain, fenced = (
        read_request({"code": code, "tests": TESTS}) for code in (FENCED_CODE, f"```python\n{FENCED_CODE}```")
    )
    assert isinstance(plain, SynthesisRequest)
    assert plain == fenced
    assert plain.name == "double"


@pytest.mark.parametrize(
    ("code", "reason", "fix"),
    [
        (
            "def clean(a: str) -> str:\n    return a\n\n\ndef shape(a: str) -> str:\n    return clean(a)\n",
            "clean() and shape() are public",
            "Rename the helper clean() to _clean()",
        ),
        (
            "def one(a: str) -> str:\n    return a\n\n\ndef two(a: str) -> str:\n    return a\n",
            "one() and two() are public",
            "_name()",
        ),
        ("def one(a: str -> str:\n    return a\n", "does not parse", "Python"),
    ],
)
def test_without_a_name_two_public_functions_are_named(code: str, reason: str, fix: str) -> None:
    request = read_request({"code": code, "tests": TESTS})
    assert isinstance(request, SynthesisRequest)
    rejected = make_draft(request)
    assert isinstance(rejected, Rejected)
    assert reason in rejected.reason
    assert fix in rejected.fix


def test_code_without_tests_is_refused_with_what_to_send() -> None:
    request = read_request({"code": CODE})
    assert isinstance(request, SynthesisRequest)
    rejected = make_draft(request)
    assert isinstance(rejected, Rejected)
    assert (rejected.stage, rejected.reason.partition(":")[0]) == ("examples", "tests")
    assert "at least 3" in rejected.fix
