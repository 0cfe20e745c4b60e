"""The toolsmith end to end: a real library, the real gates, the embedded sandbox."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from alita_mcp.errors import ToolQuarantined
from alita_mcp.library.library import Library
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Exists, NeedsCode, Outcome, Rejected
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.values import Manifest

pytestmark = pytest.mark.usefixtures("embedded")

CODE = '''def triple(number: int) -> int:
    """Triples a number.

    Args:
        number: What to triple.
    """
    return 3 * number
'''
TRIPLE: dict[str, Any] = {
    "name": "triple",
    "description": "Triples a whole number.",
    "code": CODE,
    "tests": [
        {"arguments": {"number": 2}, "expected": 6},
        {"arguments": {"number": 0}, "expected": 0},
        {"arguments": {"number": -5}, "expected": -15},
    ],
    "use_when": ["three times a number"],
}

CONTRADICTORY = [{"arguments": {"number": 1}, "expected": outcome} for outcome in (3, 4)]


def admit_all(_manifest: Manifest) -> tuple[str, ...]:
    return ()


class Bench:
    """A toolsmith with all it needs."""

    def __init__(self, library: Library, sandbox: WasmSandbox, settings: Settings, **options: Any) -> None:
        self.library = library
        self.stages: list[str] = []
        options.setdefault("admit", admit_all)
        self.smith = Toolsmith(library, sandbox, settings, **options)

    async def make(self, **changes: Any) -> Outcome:
        async def hear(stage: str) -> None:
            self.stages.append(stage)

        request = read_request({**TRIPLE, **changes})
        assert not isinstance(request, Rejected), request
        with anyio.fail_after(120):
            return await self.smith.make(request, hear)


@pytest.fixture
def bench(library: Library, sandbox: WasmSandbox, settings: Settings) -> Bench:
    return Bench(library, sandbox, settings)


@pytest.mark.slow
async def test_a_right_tool_is_published_and_found_again(bench: Bench) -> None:
    outcome = await bench.make()
    assert isinstance(outcome, Created), outcome
    assert (outcome.tool, outcome.version, outcome.trust, outcome.tests) == ("triple", 1, "verified", "3/3")
    assert [entry.name for entry in bench.library.tools.entries()] == ["triple"]
    assert {"static", "examples", "determinism", "publish"} <= set(bench.stages)
    assert (await bench.library.search("three times a number", 3)).results[0].name == "triple"


async def test_a_wrong_tool_is_not_published_and_the_answer_says_why(bench: Bench) -> None:
    outcome = await bench.make(code=CODE.replace("3 * number", "2 * number"))
    assert isinstance(outcome, Rejected)
    assert (outcome.stage, outcome.case, outcome.expected, outcome.got) == ("examples", {"number": 2}, 6, 4)
    assert outcome.fix
    assert not list(bench.library.tools.entries())


@pytest.mark.slow
async def test_the_same_name_exists_unless_an_update_is_asked_for(bench: Bench) -> None:
    await bench.make()
    again = await bench.make()
    assert isinstance(again, Exists)
    assert "update=true" in again.why
    newer = await bench.make(update=True, description="Triples any whole number.")
    assert isinstance(newer, Created)
    assert newer.version == 2
    same = await bench.make(update=True, description="Triples any whole number.")
    assert isinstance(same, Exists)
    assert bench.library.entry("triple").versions == (1, 2)


async def test_an_update_of_nothing_is_refused(bench: Bench) -> None:
    outcome = await bench.make(update=True)
    assert isinstance(outcome, Rejected)
    assert "no tool 'triple' to update" in outcome.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "stage", "word"),
    [
        ({"name": "../../etc"}, "schema", "not a tool name"),
        ({"name": "run_tool"}, "schema", "own tools"),
        ({"name": "\u0422riple"}, "schema", "not a tool name"),
        ({"tests": []}, "examples", "none were sent"),
        ({"network": ["https://api.example.org/v1"]}, "policy", "not a host that can be granted"),
        ({"network": ["*.com"]}, "policy", "different owners"),
        ({"network": ["169.254.169.254"]}, "policy", "not a host that can be granted"),
        ({"network": ["api.example.org", "*.*.org"]}, "policy", "not a host that can be granted"),
        ({"tools": ["run_tool"]}, "policy", "run_tool"),
        ({"tools": ["triple"]}, "policy", "triple"),
        ({"tools": ["../x"]}, "policy", "tools"),
        ({"secrets": ["hunter2 hunter2"]}, "policy", "secret"),
        ({"code": "def triple(number: int) -> int:\n    return 3 *"}, "static", ""),
        ({"packages": ["no such package"]}, "environment", ""),
        ({"tests": CONTRADICTORY}, "examples", ""),
    ],
)  # fmt: skip
async def test_bad_input_is_rejected_at_its_stage_and_nothing_is_written(
    bench: Bench, changes: dict[str, Any], stage: str, word: str
) -> None:
    outcome = await bench.make(**changes)
    assert isinstance(outcome, Rejected), outcome
    assert outcome.stage == stage, outcome
    assert word in outcome.reason
    assert outcome.fix
    assert not list(bench.library.tools.entries())
    assert not list((bench.library.home / "generated_tools").glob("*"))


@pytest.mark.slow
async def test_without_code_the_agent_is_asked_for_it(bench: Bench) -> None:
    await bench.make()
    outcome = await bench.make(code="", name="", description="three times a number")
    assert isinstance(outcome, NeedsCode)
    assert outcome.similar == ("triple",)
    assert "def three_times_number(number: " in outcome.template["code"]


async def test_a_locked_server_takes_nothing(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    outcome = await Bench(library, sandbox, settings.model_copy(update={"policy": "locked"})).make()
    assert isinstance(outcome, Rejected)
    assert outcome.stage == "policy"


@pytest.mark.slow
async def test_what_clients_could_not_list_is_rejected(
    library: Library, sandbox: WasmSandbox, settings: Settings
) -> None:
    bench = Bench(library, sandbox, settings, admit=lambda manifest: (f"{manifest.name} is too long",))
    outcome = await bench.make()
    assert isinstance(outcome, Rejected)
    assert (outcome.stage, "too long" in outcome.reason) == ("schema", True)
    assert not list(library.tools.entries())


@pytest.mark.slow
async def test_a_quarantined_tool_can_be_made_again(bench: Bench) -> None:
    await bench.make()
    file = bench.library.home / "generated_tools" / "triple" / "v1" / "tool.py"
    file.chmod(0o644)
    file.write_text("edited")
    with pytest.raises(ToolQuarantined):
        await bench.library.read("triple")
    assert isinstance(await bench.make(), Exists)
    assert isinstance(await bench.make(update=True), Created)
    assert bench.library.entry("triple").state == "enabled"


@pytest.mark.slow
async def test_a_cancelled_synthesis_leaves_nothing(bench: Bench) -> None:
    endless = CODE.replace("    return 3", "    while True:\n        number += 0\n    return 3")
    with anyio.move_on_after(3) as scope:
        await bench.make(code=endless)
    assert scope.cancelled_caught
    assert not list(bench.library.tools.entries())
    assert isinstance(await bench.make(), Created)
