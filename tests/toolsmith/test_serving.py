from __future__ import annotations

from typing import Any

import anyio
import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.duplicates.duplicates import find_tool_meeting_examples
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.values import Example
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

WAIT_S = 300
REPEAT = '''
def repeat(text: str, times: int = 2) -> str:
    """Says a text several times.

    Raises:
        ValueError: times is negative.
    """
    if times < 0:
        raise ValueError("negative")
    return text * times
'''
TESTS: list[dict[str, Any]] = [
    {"arguments": {"text": "ab"}, "expected": "abab"},
    {"arguments": {"text": "x", "times": 3}, "expected": "xxx"},
    {"arguments": {"text": "x", "times": -1}, "raises": "ValueError"},
]


@pytest.fixture
async def repeating(library: Library, sandbox: WasmSandbox, settings: Settings) -> Library:
    request = read_request(
        {"name": "repeat", "code": REPEAT, "tests": TESTS, "description": "Says it again."}
    )
    assert not isinstance(request, Rejected)

    async def silent(_stage: str) -> None:
        return None

    with anyio.fail_after(WAIT_S):
        smith = Toolsmith(library, sandbox, settings, lambda _manifest: ())
        assert isinstance(await smith.make(request, silent), Created)
    return library


async def served(library: Library, sandbox: WasmSandbox, *examples: dict[str, Any]) -> Exists | None:
    read = [Example.model_validate(each) for each in examples]
    with anyio.fail_after(WAIT_S):
        return await find_tool_meeting_examples(
            read, ("no_such_tool", "repeat"), library, Rehearsal(sandbox, library.read)
        )


def said(expected: str, **arguments: Any) -> dict[str, Any]:
    return {"arguments": arguments, "expected": expected}


@pytest.mark.slow
async def test_examples_with_other_parameter_names_find_the_tool_by_place(
    repeating: Library, sandbox: WasmSandbox
) -> None:
    refused = {"arguments": {"word": "a", "count": -2}, "raises": "builtins.ValueError"}
    found = await served(repeating, sandbox, said("aaa", word="a", count=3), said("bb", word="b"), refused)
    assert found is not None
    assert (found.tool, found.version) == ("repeat", 1)
    assert found.why == "it does what your 3 examples say; its text is your word, times is your count"


PROVE_NOTHING = [
    [said("aaa", text="a", times=3)],
    [said("aaa", text="a", times=3), said("c", text="b", times=1)],
    [said("aaa", text="a", times=3), said("bb", text="b", count=2)],
    [said("aaa", text="a", times=3), said("bb", text="b", times=2, more=1)],
    [said("aaa", text="a", times=3), said("bb", text=2, times=2)],
    [said("aa", word="a"), said("bb", word="b", a=1, b=2)],
    [said("aa", text="a"), said("bb", text="b"), {"arguments": {"text": "c"}, "check": "result"}],
    [said("aa", text="a"), said("bb", text="b"), {"arguments": {"text": "c"}, "raises": "ValueError"}],
    [
        said("aa", text="a"),
        said("bb", text="b"),
        {"arguments": {"text": "c", "times": -1}, "raises": "KeyError"},
    ],
]


@pytest.mark.slow
async def test_examples_that_it_does_not_fulfil_or_that_prove_nothing_find_no_tool(
    repeating: Library, sandbox: WasmSandbox
) -> None:
    for examples in PROVE_NOTHING:
        assert await served(repeating, sandbox, *examples) is None, examples
