"""The floor of telling tools apart by running both: other words for the same, and nearly the same words for another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.sandbox.interface import Job
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.duplicates.comparison import ComparedTool, Comparison, inputs_for
from alita_mcp.verification.generated_inputs import constants_in
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal

pytestmark = pytest.mark.slow

WAIT_S = 300
SEED = 5
LIST = {"type": "array", "items": {"type": "integer"}}
TEXT = {"type": "string"}
INT = {"type": "integer"}
SAME: dict[str, tuple[dict[str, Any], str, str]] = {
    "sum": (LIST, "return sum(x)", "total = 0\n    for each in x:\n        total += each\n    return total"),
    "reverse": (TEXT, "return x[::-1]", "return ''.join(reversed(x))"),
    "vowels": (TEXT, "return sum(c in 'aeiou' for c in x)", "return len([c for c in x if c in set('aeiou')])"),
    "evens": (LIST, "return [n for n in x if n % 2 == 0]", "return list(filter(lambda n: not n & 1, x))"),
    "unique": (LIST, "return sorted(set(x))", "return [n for i, n in enumerate(sorted(x)) if n not in sorted(x)[:i]]"),
    "absolute": (INT, "return abs(x)", "return -x if x < 0 else x"),
}  # fmt: skip
DIFFERENT: dict[str, tuple[dict[str, Any], str, str]] = {
    "last": (LIST, "return x[-1] if x else 0", "return x[0] if x else 0"),
    "larger": (LIST, "return [n for n in x if n > 0]", "return [n for n in x if n >= 0]"),
    "sorted": (LIST, "return sorted(x)", "return sorted(x, reverse=True)"),
    "strip": (TEXT, "return x.strip()", "return x.lstrip()"),
    "upper": (TEXT, "return x.upper()", "return x.title()"),
    "half": (INT, "return x // 2", "return int(x / 2)"),
}


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    made = WasmSandbox(settings)
    try:
        yield made
    finally:
        await made.aclose()


async def is_same(sandbox: WasmSandbox, kind: dict[str, Any], *bodies: str) -> bool:
    codes = [f"def tool(x):\n    {body}\n" for body in bodies]
    rehearsal = Rehearsal(sandbox)
    one, other = (
        ComparedTool(Job(code=code, function="tool", arguments={}), {"x": "x"}, rehearsal) for code in codes
    )
    schema = {"type": "object", "properties": {"x": kind}, "required": ["x"]}
    run = Comparison(one, other, lambda _arguments: True)
    with anyio.fail_after(WAIT_S):
        await run.compare_on(inputs_for(schema, (), SEED, constants_in(*codes)))
        return run.is_same


async def test_other_words_for_the_same_are_the_same_and_what_differs_is_not(sandbox: WasmSandbox) -> None:
    same = {name: await is_same(sandbox, *pair) for name, pair in SAME.items()}
    different = {name: await is_same(sandbox, *pair) for name, pair in DIFFERENT.items()}
    assert same == dict.fromkeys(SAME, True)
    assert different == dict.fromkeys(DIFFERENT, False)
