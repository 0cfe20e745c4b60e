"""Tools that were made to spoil a comparison: they never count as doing the same, and hold nothing up."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.duplicates import duplicates
from alita_mcp.toolsmith.duplicates.duplicates import (
    find_tool_meeting_examples,
    find_tool_passing_tests,
)
from alita_mcp.toolsmith.requests.outcomes import Created
from alita_mcp.toolsmith.specification import Specification
from alita_mcp.values import AcceptedVersion, Example
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from tests.library.factory import accepted
from tests.toolsmith.test_duplicates import WARMTH, WARMTH_TESTS, Smithy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]

WAIT_S = 300
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
    assert library.entry("warming").wordings == ()


SPEC = Specification(
    name="warmth_in_us_units", description=SAYS, signature="def warmth_in_us_units(value: float) -> float"
)
OWN = [Example.model_validate(test) for test in WARMTH_TESTS]
SUITE = [Example(arguments={"value": float(n)}, expected=n * 1.8 + 32) for n in range(6)]


async def test_no_hostile_tool_serves_a_request_either(
    library: Library, sandbox: WasmSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "MAX_SECONDS", WAIT_S)
    names = {f"warming_{place}": body for place, body in enumerate(HOSTILE.values())}
    for name, body in names.items():
        await library.publish(hostile(body.replace("warming", name), name), expected_version=0)
    rehearsal = Rehearsal(sandbox, library.read)
    unfit = [name for name, body in names.items() if not body.startswith("return {")]
    with anyio.fail_after(WAIT_S):
        assert await find_tool_passing_tests(SPEC, OWN, SUITE, list(names), library, rehearsal) is None
        assert await find_tool_meeting_examples(OWN, unfit, library, rehearsal) is None


async def test_a_tool_that_passes_all_tests_serves_and_one_test_that_fails_is_enough(
    library: Library, sandbox: WasmSandbox
) -> None:
    await library.publish(hostile("return celsius * 9 / 5 + 32"), expected_version=0)

    async def why(suite: list[Example], *, own: bool = True) -> str:
        names, rehearsal = ("gone", "warming"), Rehearsal(sandbox, library.read)
        with anyio.fail_after(WAIT_S):
            found = await find_tool_passing_tests(SPEC, OWN if own else [], suite, names, library, rehearsal)
        return found.why if found is not None else ""

    check = Example(arguments={"value": 1.0}, check="result == 0")
    passed = "6 tests that were written for this request; its celsius is your value"
    assert await why(SUITE) == f"it passes your 3 examples and {passed}"
    assert await why([*SUITE, check], own=False) == f"it passes {passed}", "checks are left out"
    for wrong in (
        Example(arguments={"value": 1.0}, expected=0.0),
        Example(arguments={"value": 1.0}, raises="ValueError"),
    ):
        assert await why([*SUITE, wrong]) == ""
    assert await why(SUITE[:1], own=False) == "", "too few prove nothing"
    assert await why(SUITE[:1] * 9, own=False) == "", "nor does one result"
    assert await why([]) == "", "nor a caller's examples without any suite"
