"""Code in Markdown fences is unwrapped; code that only holds fences is not touched, whatever stands in it."""

from __future__ import annotations

import pytest

from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest, make_draft, read_request, strip_fence

CODE = 'def double(x: int) -> int:\n    """Doubles a number."""\n    return 2 * x\n'
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


@pytest.mark.parametrize("code", [CODE, HOLDS_A_FENCE])
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


def test_line_ends_of_windows_are_no_obstacle() -> None:
    assert strip_fence(f"```python\n{CODE}```".replace("\n", "\r\n")).replace("\r", "") == CODE


@pytest.mark.parametrize(
    "code",
    [
        CODE,
        HOLDS_A_FENCE,
        '"""A module.\n\n```python\ndouble(2)\n```\n"""\n' + CODE,
        'TEXT = """\n```python\nx = 1\n"""\n' + CODE,
        "# ```python\n" + CODE + "# ```\n",
        CODE.replace("return 2 * x", "return 2 x") + '"""\n```\ndouble(2)\n```\n"""\n',
        "",
        "no code at all",
    ],
)
def test_code_that_is_not_fenced_stays_as_it_is(code: str) -> None:
    assert strip_fence(code) == code


@pytest.mark.parametrize(
    "sent",
    [
        f"```python\n{CODE}",
        f"```python\n{CODE}```\nand\n```python\n{CODE}```",
        f"```python\n{CODE}```\nimport json\n",
    ],
    ids=["never closed", "several", "code outside"],
)
def test_what_is_not_one_closed_block_is_left_to_the_parser(sent: str) -> None:
    request = read_request({"code": sent, "tests": TESTS, "name": "double"})
    assert isinstance(request, SynthesisRequest)
    assert request.code == sent


def test_a_fenced_request_is_read_as_if_there_were_no_fence() -> None:
    plain, fenced = (read_request({"code": code, "tests": TESTS}) for code in (CODE, f"```python\n{CODE}```"))
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
