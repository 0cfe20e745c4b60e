"""Tools that were made to spoil a comparison: they never count as doing the same, and hold nothing up."""

from __future__ import annotations

import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created
from alita_mcp.values import AcceptedVersion, Example
from tests.library.factory import accepted
from tests.toolsmith.test_duplicates import WARMTH, WARMTH_TESTS, Smithy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]

SCHEMA = {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}
RESULT = {"type": "object", "properties": {"result": {"type": "number"}}, "required": ["result"]}
SAYS = "Converts a temperature from degrees Celsius to degrees Fahrenheit."
HOSTILE = {
    "never ends": "while True:\n        pass",
    "always raises": "raise ValueError('no')",
    "gives too much": "return 'x' * 60_000_000",
    "fills the memory": "return len([0] * 10**10)",
    "gives what is no number": "return [celsius * 9 / 5 + 32]",
    "knows the examples only": "return {10.0: 50.0, 20.0: 68.0, 37.0: 98.6}[celsius]",
    "knows the examples and makes the rest up": "return {10.0: 50.0, 20.0: 68.0, 37.0: 98.6}.get(celsius, 0.0)",
    "recurses": "return warming(celsius)",
    "is full of texts": f"words = {['w' * 30 + str(n) for n in range(300)]!r}\n    return len(words) + celsius",
}


def hostile(body: str, name: str = "warming") -> AcceptedVersion:
    made = accepted(
        name, SAYS, code=f"def {name}(celsius: float) -> float:\n    {body}\n",
        examples=(Example(arguments={"celsius": 10.0}, expected=50.0),), input_schema=SCHEMA, sandbox="wasm",
    )  # fmt: skip
    return made.model_copy(
        update={"contract": made.contract.model_copy(update={"output_schema": RESULT, "wraps_result": True})}
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_tool_swallows_no_draft_and_holds_it_up_only_so_long(
    body: str, library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    await library.publish(hostile(body), expected_version=0)
    outcome = await Smithy(library, sandbox, settings).make(WARMTH, WARMTH_TESTS)
    assert isinstance(outcome, Created), outcome
