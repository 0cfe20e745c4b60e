"""All gates with the embedded sandbox: real code really runs, and what must not pass does not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Check, Draft, Example, Limits
from alita_mcp.verification.verify import Verdict, verify
from tests.verification.drafts import SHOUT, Stages, draft


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    opened = WasmSandbox(settings)
    yield opened
    await opened.aclose()


async def judged(candidate: Draft, sandbox: WasmSandbox) -> Verdict:
    with anyio.fail_after(120):
        return await verify(candidate, sandbox, Stages())


async def failure(candidate: Draft, sandbox: WasmSandbox) -> Check:
    report = (await judged(candidate, sandbox)).report
    assert report.trust == "rejected"
    assert report.failure is not None
    assert report.failure.fix
    return report.failure


def probe(code: str, *examples: dict[str, Any], **changes: Any) -> Draft:
    made = tuple(Example(**example) for example in examples)
    return draft(name="probe", code=code, examples=made, **changes)


def numbers(code: str) -> Draft:
    return probe(code, *({"arguments": {"n": n}, "expected": n + 1} for n in (0, 5, 7)))


@pytest.mark.slow
async def test_a_good_draft_is_verified(sandbox: WasmSandbox) -> None:
    report = (await judged(draft(), sandbox)).report
    assert (report.trust, report.sandbox, report.deterministic) == ("verified", "wasm", True)


async def test_wrong_code_is_rejected_with_the_case(sandbox: WasmSandbox) -> None:
    check = await failure(numbers("def probe(n: int) -> int:\n    return n + 1 if n < 7 else n"), sandbox)
    assert (check.stage, check.case, check.expected, check.got) == ("examples", {"n": 7}, 8, 7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "clock",
    ["import time\n{}int(time.time()) % 1_000_003", "from datetime import datetime\n{}datetime.now().year"],
)
async def test_the_clock_makes_a_tool_rejected(clock: str, sandbox: WasmSandbox) -> None:
    code = clock.format("def probe(n: int) -> int:\n    return n + ")
    checks = {1: "result > 1 and result != 7", 5: "result > 2000", -5_000_000: "result < 0"}
    first = probe(code, *({"arguments": {"n": n}, "check": check} for n, check in checks.items()))
    check = await failure(first, sandbox)
    assert check.stage == "determinism"


@pytest.mark.slow
async def test_endless_code_runs_into_its_limit(sandbox: WasmSandbox) -> None:
    limits = Limits(wall_seconds=1, cpu_seconds=1)
    inside = numbers("def probe(n: int) -> int:\n    while True:\n        n += 1\n    return n")
    at_import = numbers("_X = [n for n in range(10**12)]\ndef probe(n: int) -> int:\n    return n + 1")
    for endless in (inside, at_import):
        check = await failure(endless.model_copy(update={"limits": limits}), sandbox)
        assert check.stage == "examples"


async def test_what_the_sandbox_lacks_is_refused_with_what_to_write_instead(sandbox: WasmSandbox) -> None:
    check = await failure(draft(code="import bz2\n" + SHOUT), sandbox)
    assert check.stage == "environment"
    assert "gzip" in check.fix
