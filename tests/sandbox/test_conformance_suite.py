"""Claims of `alita doctor --sandbox`: they hold on our back ends, and each bad back end breaks what it must."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.conformance import TRIALS, Trial, probe, try_claims
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Probe, RunResult, Sandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from tests.sandbox.bad_back_ends import Bare, Refusing, Stumbling, Swallowing
from tests.scripted_sandbox import ScriptedSandbox

WAIT_SECONDS = 400
Make = Callable[[Settings], Sandbox]


async def examine(
    make: Make, settings: Settings, trials: Sequence[Trial] = TRIALS
) -> tuple[str, tuple[Probe, ...]]:
    sandbox = make(settings)
    try:
        with anyio.fail_after(WAIT_SECONDS):
            return sandbox.kind, await try_claims(sandbox, trials)
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
    _kind, probes = await examine(make, settings)
    assert [probe for probe in probes if not probe.passed] == []
    assert len(probes) == sum(len(trial.claims) for trial in TRIALS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "broken"),
    [
        (Bare, {"reads no file of the host", "writes to no file of the host", "connects to no address",
                "sees no variable of the server", "signals no process of the host", "forgets globals", "wipes files"}),
        (Swallowing, {"ends a loop at wall_seconds", "ends a call at memory_bytes", "ends a flood of output"}),
        (Refusing, {"gives what the function returns"}),
        (Stumbling, {"gives what the function returns"}),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # a bare process is the test's own
@pytest.mark.sample(3)
async def test_a_bad_back_end_is_found_out(
    make: Make, broken: set[str], settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    trials = [TRIALS[0], *(trial for trial in TRIALS[1:] if broken & trial.claims.keys())]
    _kind, probes = await examine(make, settings, trials)
    failed = [probe for probe in probes if not probe.passed]
    assert broken <= {probe.name for probe in failed}
    assert all(probe.detail for probe in failed)


async def test_who_asks_for_what_was_not_granted_is_found_out() -> None:
    class Trusting(ScriptedSandbox):
        async def run(self, _job: Any, broker: Any = None) -> RunResult:
            with pytest.raises(PermissionError):
                await broker.answer("secret", {"name": "x"})
            return RunResult(status="ok", value={"asked": [], "fetched": []})

    trusting = Trusting(lambda job: RunResult(status="ok"), "trusting")
    probes = await try_claims(trusting, TRIALS[-1:])
    assert {(probe.passed, probe.detail) for probe in probes} == {
        (False, "without a grant secret was asked for")
    }


async def test_a_back_end_that_does_not_work_here_is_no_finding() -> None:
    class Absent(ScriptedSandbox):
        async def run(self, *_words: Any) -> RunResult:
            raise SandboxUnavailable("There is no engine.", hint="Install one.")

    absent = Absent(lambda job: RunResult(status="ok"), "absent")
    with pytest.raises(SandboxUnavailable, match="no engine"):
        await try_claims(absent, TRIALS)
    report = await probe(absent, "generic")
    assert (report.isolates, report.hint) == (False, "Install one.")
