"""The same tool handed in again: more examples raise its trust, nothing lowers it, each answer says how it stands."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.values import Manifest

pytestmark = pytest.mark.slow

CODE = '''def triple(number: int) -> int:
    """Triples a number.

    Args:
        number: What to triple.
    """
    return 3 * number
'''
FEW = [{"arguments": {"number": 2}, "expected": 6}, {"arguments": {"number": 4}, "expected": 12}]
MORE = [{"arguments": {"number": 0}, "expected": 0}, {"arguments": {"number": -5}, "expected": -15}]
WRONG = [{"arguments": {"number": 10}, "expected": 31}]
THIN: dict[str, Any] = {
    "name": "triple",
    "description": "Triples a whole number.",
    "code": CODE,
    "tests": FEW,
    "use_when": ["three times a number"],
}


@pytest.fixture
async def library(settings: Settings) -> AsyncIterator[Library]:
    async with open_library(settings, starters=lambda: None) as opened:
        yield opened


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    box = WasmSandbox(settings)
    yield box
    await box.aclose()


class Bench:
    """A toolsmith, and requests for one tool."""

    def __init__(self, library: Library, sandbox: WasmSandbox, settings: Settings) -> None:
        self.library = library
        self.stages: list[str] = []
        self.smith = Toolsmith(library, sandbox, settings, lambda _manifest: ())

    async def make(self, **changes: Any) -> Outcome:
        async def hear(stage: str) -> None:
            self.stages.append(stage)

        request = read_request({**THIN, **changes})
        assert not isinstance(request, Rejected), request
        self.stages.clear()
        with anyio.fail_after(120):
            return await self.smith.make(request, hear)

    @property
    def manifest(self) -> Manifest:
        return self.library.entry("triple").manifest


@pytest.fixture
async def bench(library: Library, sandbox: WasmSandbox, settings: Settings) -> Bench:
    bench = Bench(library, sandbox, settings)
    outcome = await bench.make()
    assert isinstance(outcome, Created), outcome
    assert (outcome.trust, outcome.version) == ("provisional", 1)
    assert outcome.to_raise_trust.startswith("Send the same name with tests of your own")
    return bench


@pytest.mark.sample(2)
@pytest.mark.parametrize("update", [False, True])
@pytest.mark.parametrize("tests", [FEW + MORE, MORE], ids=["all", "only new ones"])
async def test_more_examples_raise_the_trust_of_the_same_version(
    bench: Bench, tests: list[dict[str, Any]], update: bool
) -> None:
    outcome = await bench.make(tests=tests, update=update)
    assert isinstance(outcome, Exists), outcome
    assert (outcome.version, outcome.trust_before, outcome.trust) == (1, "provisional", "verified")
    assert outcome.tests == "4/4"
    assert "raised from provisional to verified by 2 more examples" in outcome.why
    assert outcome.to_raise_trust == ""
    assert outcome.report == "alita://tools/triple/v1/report"
    assert {"examples", "determinism", "publish"} <= set(bench.stages)
    entry = bench.library.entry("triple")
    assert (entry.manifest.trust, entry.versions) == ("verified", (1,))
    stored = await bench.library.read("triple")
    assert len(stored.examples) == stored.report.examples_passed == 4


async def test_some_more_evidence_is_kept_even_if_it_is_not_enough(bench: Bench) -> None:
    outcome = await bench.make(tests=[{"arguments": {"number": 7}, "expected": 21}])
    assert isinstance(outcome, Exists)
    assert (outcome.trust_before, outcome.trust, outcome.tests) == ("provisional", "provisional", "3/3")
    assert "stays provisional by 1 more example" in outcome.why
    assert "edge" in outcome.to_raise_trust
    assert len((await bench.library.read("triple")).examples) == 3
    last = await bench.make(tests=MORE)
    assert isinstance(last, Exists)
    assert (last.trust, last.tests) == ("verified", "5/5")


@pytest.mark.parametrize("tests", [FEW, FEW[:1]], ids=["the same", "fewer"])
async def test_no_new_example_changes_nothing_runs_nothing_and_says_so(
    bench: Bench, tests: list[dict[str, Any]]
) -> None:
    before = await bench.library.read("triple")
    outcome = await bench.make(tests=tests)
    assert isinstance(outcome, Exists)
    assert "there already" in outcome.why
    assert "update=true" in outcome.why
    assert (outcome.trust_before, outcome.trust) == ("provisional", "provisional")
    assert outcome.to_raise_trust
    assert bench.stages == []
    assert await bench.library.read("triple") == before


@pytest.mark.parametrize("first", [FEW, FEW + MORE], ids=["provisional", "verified"])
async def test_examples_that_fail_are_refused_and_the_version_stays(
    library: Library, sandbox: WasmSandbox, settings: Settings, first: list[dict[str, Any]]
) -> None:
    bench = Bench(library, sandbox, settings)
    made = await bench.make(tests=first)
    assert isinstance(made, Created)
    before = await library.read("triple")
    outcome = await bench.make(tests=WRONG)
    assert isinstance(outcome, Rejected), outcome
    assert f"triple v1 stays {made.trust}" in outcome.reason
    assert (outcome.stage, outcome.case, outcome.expected, outcome.got) == (
        "examples",
        {"number": 10},
        31,
        30,
    )
    assert "update=true" in outcome.fix
    assert await library.read("triple") == before


async def test_an_example_that_contradicts_those_it_was_accepted_with_is_refused(bench: Bench) -> None:
    outcome = await bench.make(tests=[*MORE, {"arguments": {"number": 2}, "expected": 7}])
    assert isinstance(outcome, Rejected)
    assert "contradict" in outcome.reason
    assert bench.manifest.trust == "provisional"


async def test_a_verified_tool_passes_more_examples_and_is_left_as_it_is(bench: Bench) -> None:
    await bench.make(tests=MORE)
    before = await bench.library.read("triple")
    outcome = await bench.make(tests=[{"arguments": {"number": 9}, "expected": 27}])
    assert isinstance(outcome, Exists)
    assert outcome.trust == outcome.trust_before == "verified"
    assert "stays verified" in outcome.why
    assert await bench.library.read("triple") == before


@pytest.mark.parametrize(
    "changes",
    [{"code": CODE.replace("3 * number", "number * 3")}, {"packages": ["numpy>=2"]}, {"model": True}],
    ids=["code", "packages", "grants"],
)
async def test_another_tool_of_that_name_exists_and_is_not_proved(
    bench: Bench, changes: dict[str, Any]
) -> None:
    outcome = await bench.make(tests=FEW + MORE, **changes)
    assert isinstance(outcome, Exists)
    assert outcome.trust == ""
    assert "update=true" in outcome.why
    assert bench.stages == []
    assert bench.manifest.trust == "provisional"


async def test_an_update_that_changes_more_than_the_examples_is_a_new_version(bench: Bench) -> None:
    outcome = await bench.make(tests=FEW + MORE, description="Triples any whole number.", update=True)
    assert isinstance(outcome, Created)
    assert outcome.version == 2


async def test_two_who_raise_at_once_both_hear_how_it_stands(bench: Bench) -> None:
    outcomes: list[Outcome] = []

    async def raise_with(number: int) -> None:
        own = {"arguments": {"number": number}, "expected": 3 * number}
        request = read_request({**THIN, "tests": [*MORE, own]})
        assert not isinstance(request, Rejected)

        async def silent(_stage: str) -> None:
            return None

        outcomes.append(await bench.smith.make(request, silent))

    with anyio.fail_after(120):
        async with anyio.create_task_group() as tasks:
            for number in (100, 200, 300):
                tasks.start_soon(raise_with, number)
    assert all(isinstance(outcome, Exists) and outcome.trust == "verified" for outcome in outcomes), outcomes
    assert bench.library.entry("triple").versions == (1,)
    assert (await bench.library.read("triple")).report.examples_passed == 5
