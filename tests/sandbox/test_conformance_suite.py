"""Claims of `alita doctor --sandbox`: they hold on our back ends, and each bad back end breaks what it must."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.conformance import TRIALS, ConformanceReport, Trial, Verdict, conform, probe
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from tests.sandbox.bad_back_ends import BareProcess, Boundless, Refusing, Stumbling, Swallowing
from tests.scripted_sandbox import ScriptedSandbox

WAIT_SECONDS = 400
Make = Callable[[Settings], Sandbox]
PROCESSES = {"allows no more than so many processes", "ends processes that a call started"}
"""Claims about what the embedded sandbox does not have."""


async def examine(
    make: Make, settings: Settings, heard: list[Verdict], trials: Sequence[Trial] = TRIALS
) -> ConformanceReport:
    async def hear(verdict: Verdict) -> None:
        heard.append(verdict)

    sandbox = make(settings)
    try:
        with anyio.fail_after(WAIT_SECONDS):
            return await conform(sandbox, trials=trials, on_verdict=hear)
    finally:
        await sandbox.aclose()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "fixture"),
    [
        pytest.param(DockerSandbox, "docker_engine", marks=pytest.mark.docker),
        pytest.param(BubblewrapSandbox, "bubblewrap", marks=pytest.mark.bubblewrap),
        (WasmSandbox, "home"),
    ],
)
async def test_our_own_back_ends_conform(
    make: Make, fixture: str, request: pytest.FixtureRequest, settings: Settings
) -> None:
    request.getfixturevalue(fixture)
    heard: list[Verdict] = []
    report = await examine(make, settings, heard)
    assert report.failures == ()
    assert report.conforms
    assert tuple(heard) == report.verdicts
    refused = {verdict.claim for verdict in report.verdicts if verdict.outcome == "refused"}
    assert refused == (PROCESSES if report.kind == WasmSandbox.kind else set())


ESSENTIAL = {claim for trial in TRIALS if trial.essential for claim in trial.claims}
ALL = {claim for trial in TRIALS for claim in trial.claims}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "broken"),
    [
        (BareProcess, {"reads no file of the host", "writes to no file of the host", "connects to no address",
                       "sees no variable of the server", "signals no process of the host",
                       "ends a call at memory_bytes", "forgets globals", "wipes files",
                       "ends processes that a call started"}),
        (Boundless, {"ends a loop at wall_seconds", "ends a call at memory_bytes", "ends a flood of output"}),
        (Swallowing, {"ends a loop at wall_seconds", "ends a call at memory_bytes"}),
        (Refusing, ESSENTIAL),
        (Stumbling, ALL),
    ],
)  # fmt: skip
@pytest.mark.sample(3)
async def test_a_bad_back_end_is_found_out(make: Make, broken: set[str], settings: Settings) -> None:
    trials = [trial for trial in TRIALS if broken & trial.claims.keys()]
    report = await examine(make, settings, [], trials)
    assert not report.conforms
    assert broken <= {verdict.claim for verdict in report.failures}
    assert all(verdict.detail for verdict in report.failures)


async def test_who_asks_for_what_was_not_granted_is_found_out() -> None:
    class Trusting(ScriptedSandbox):
        async def run(self, _job: Any, broker: Any = None) -> RunResult:
            with pytest.raises(PermissionError):
                await broker.answer("secret", {"name": "x"})
            return RunResult(status="ok", value={"asked": [], "fetched": []})

    trials = [trial for trial in TRIALS if trial.chapter == "grants"]
    report = await conform(Trusting(lambda job: RunResult(status="ok"), "trusting"), trials=trials)
    assert {verdict.detail for verdict in report.failures} == {"without a grant secret was asked for"}
    assert len(report.failures) == len(report.verdicts)


async def test_a_back_end_that_does_not_work_here_is_no_finding() -> None:
    class Absent(ScriptedSandbox):
        async def run(self, *_words: Any) -> RunResult:
            raise SandboxUnavailable("There is no engine.", hint="Install one.")

    absent = Absent(lambda job: RunResult(status="ok"), "absent")
    with pytest.raises(SandboxUnavailable, match="no engine"):
        await conform(absent)
    report = await probe(absent, "generic")
    assert (report.isolates, report.hint) == (False, "Install one.")
