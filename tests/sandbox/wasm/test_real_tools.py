"""Tools over the whole standard library, as agents write them, pass in the embedded sandbox as they are."""

from __future__ import annotations

import anyio
import pytest

from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.verification.examples.examples import examples_gate
from alita_mcp.verification.examples.trials import RehearsedDraft
from alita_mcp.verification.rehearsal.rehearsal import Rehearsal
from alita_mcp.verification.static.static import static_gate
from alita_mcp.verification.verify import verify
from tests.sandbox.wasm.real_tools import NAMES, read_tool
from tests.verification.drafts import Stages

AT_ONCE = 4
MINUTES = 30


async def refusals(sandbox: Sandbox, *, every_gate: bool) -> dict[str, str]:
    """What is wrong with each tool that would not be published."""
    refused: dict[str, str] = {}
    places = anyio.CapacityLimiter(AT_ONCE)

    async def judge(name: str) -> None:
        async with places:
            why = await (_all_gates if every_gate else _first_gates)(name, sandbox)
        if why:
            refused[name] = why

    with anyio.fail_after(60 * MINUTES):
        async with anyio.create_task_group() as tasks:
            for name in NAMES:
                tasks.start_soon(judge, name)
    return refused


async def _first_gates(name: str, sandbox: Sandbox) -> str:
    draft = read_tool(name)
    checks, contract = await static_gate(draft, sandbox)
    if contract is not None:
        found = await examples_gate(RehearsedDraft(draft, contract, None, Rehearsal(sandbox)))
        assert found.passed == len(draft.examples) or not all(check.passed for check in found.checks)
        checks += found.checks
    return "; ".join(check.message for check in checks if check.hard and not check.passed)


async def _all_gates(name: str, sandbox: Sandbox) -> str:
    report = (await verify(read_tool(name), sandbox, Stages())).report
    if report.trust != "rejected":
        return ""
    assert report.failure is not None
    return f"{report.failure.stage}: {report.failure.message}"


def test_there_are_as_many_as_are_promised() -> None:
    assert len(NAMES) >= 60
    assert sum("import" in read_tool(name).code for name in NAMES) >= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "every_gate",
    [
        pytest.param(False, id="their examples"),
        pytest.param(True, id="every gate", marks=pytest.mark.exhaustive),
    ],
)
async def test_real_tools_pass_as_they_are(settings: Settings, every_gate: bool) -> None:
    sandbox = WasmSandbox(settings)
    try:
        refused = await refusals(sandbox, every_gate=every_gate)
    finally:
        await sandbox.aclose()
    assert refused == {}
