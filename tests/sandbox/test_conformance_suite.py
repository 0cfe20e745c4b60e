"""The conformance suite: good back ends conform, and each bad one is found out in the chapter that it breaks."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import anyio
import pytest

from alita_mcp.errors import PackagesRejected, SandboxError, SandboxUnavailable
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.conformance import ConformanceReport, Verdict, conform
from alita_mcp.sandbox.conformance.suite import CLAIMS
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Environment, Progress, RunResult, Sandbox
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Lock
from tests.sandbox.bad_back_ends import (
    BareProcess,
    Boundless,
    Confusing,
    Leaking,
    Refusing,
    Stumbling,
    Swallowing,
)

WAIT_SECONDS = 500
Make = Callable[[Settings], Sandbox]
ALL_CHAPTERS = {
    "results", "errors and traces", "limits", "isolation", "cleanliness between calls", "calls at once",
    "cancellation", "environments", "grants",
}  # fmt: skip


PROCESSES = {"allows no more than so many processes", "ends processes that a call started"}
"""Claims about what the embedded sandbox does not have."""


async def examined(make: Make, settings: Settings, chapters: Collection[str]) -> ConformanceReport:
    sandbox = make(settings)
    try:
        with anyio.fail_after(WAIT_SECONDS):
            return await conform(sandbox, skip=ALL_CHAPTERS.difference(chapters))
    finally:
        await sandbox.aclose()


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
    report = await examined(make, settings, ALL_CHAPTERS - {"environments"})
    assert report.failures == ()
    assert report.conforms
    assert report.count("skipped") == 5
    refused = {verdict.claim for verdict in report.verdicts if verdict.outcome == "refused"}
    assert refused == (PROCESSES if report.kind == WasmSandbox.kind else set())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "broken"),
    [
        (BareProcess, {"reads no file of the host", "connects to no address", "sees no variable of the server",
                       "signals no process of the host", "ends a call at memory_bytes",
                       "allows no more than so many open files", "wipes files"}),
        (Leaking, {"forgets globals", "forgets defaults", "forgets variables", "wipes files",
                   "keeps the arguments of one caller from the next", "ends processes that a call started"}),
        (Boundless, {"ends a loop at wall_seconds", "ends a call at memory_bytes", "ends a flood of output",
                     "refuses a result that is too large, and names the limit"}),
        (Swallowing, {"tells an exception by type, message and trace", "refuses NaN as a result",
                      "tells code that does not parse", "ends a loop at wall_seconds", "works on after an error"}),
        (Refusing, {"gives what the function returns, types included", "reads no file of the host",
                    "does not mix calls of one tool"}),
        (Stumbling, {"gives what the function returns, types included", "reads no file of the host"}),
        (Confusing, {"does not mix calls of one tool"}),
    ],
)  # fmt: skip
async def test_a_bad_back_end_is_found_out(make: Make, broken: set[str], settings: Settings) -> None:
    chapters = {claim.chapter for claim in CLAIMS if claim.sentence in broken}
    report = await examined(make, settings, chapters)
    assert not report.conforms
    failed = {verdict.claim for verdict in report.failures}
    assert broken <= failed, broken - failed
    assert all(verdict.detail for verdict in report.failures)


def test_every_claim_is_a_sentence_of_its_own() -> None:
    sentences = [claim.sentence for claim in CLAIMS]
    assert len(sentences) == len(set(sentences)) >= 80
    assert {claim.chapter for claim in CLAIMS} == ALL_CHAPTERS


async def test_a_back_end_that_does_not_work_here_is_no_finding() -> None:
    class Absent(ScriptedSandbox):
        async def run(self, *_words: Any) -> RunResult:
            raise SandboxUnavailable("There is no engine.")

    with pytest.raises(SandboxUnavailable, match="no engine"):
        await conform(Absent(lambda job: RunResult(status="ok"), "absent"))


class Packaged(WasmSandbox):
    """Pretends to build environments; what it does wrong is told by `flaw`."""

    def __init__(self, settings: Settings, flaw: str = "") -> None:
        super().__init__(settings)
        self._flaw = flaw
        self._built = 0

    async def resolve(self, packages: tuple[str, ...], progress: Progress) -> Lock:
        await progress("resolving")
        if self._flaw == "offline":
            raise SandboxError("The package index did not answer.")
        if packages != ("iniconfig",) and self._flaw != "takes all":
            name = "something" if self._flaw == "names nothing" else packages[0]
            raise PackagesRejected(f"{name!r} does not exist.")
        if packages != ("iniconfig",) and self._flaw == "takes all":
            return Lock(requirements=("x==1 --hash=sha256:aa",))
        line = "iniconfig" if self._flaw == "loose" else "iniconfig==2.0 --hash=sha256:aa"
        return Lock(requirements=(line,))

    async def prepare(self, lock: Lock, progress: Progress) -> Environment:
        if self._flaw == "broken":
            raise SandboxError("The disk is full.")
        self._built += self._flaw == "builds again"
        return Environment(digest=f"sha256:{self._built}", location="here")

    async def run(self, job: Any, broker: Any = None) -> RunResult:
        if "iniconfig" in job.code and (job.environment or self._flaw == "shares"):
            return RunResult(status="ok", value="other" if self._flaw == "mistaken" else "iniconfig")
        return await super().run(job.model_copy(update={"environment": None}), broker)


@pytest.mark.parametrize(
    ("flaw", "failed", "skipped"),
    [
        ("", 0, 0), ("offline", 0, 5), ("loose", 1, 0), ("broken", 3, 0), ("builds again", 1, 0), ("shares", 1, 0),
        ("mistaken", 1, 0), ("takes all", 1, 0), ("names nothing", 1, 0),
    ],
)  # fmt: skip
async def test_environments_are_examined_where_packages_can_be_had(
    settings: Settings, flaw: str, failed: int, skipped: int
) -> None:
    heard: list[Verdict] = []

    async def hear(verdict: Verdict) -> None:
        heard.append(verdict)

    sandbox = Packaged(settings, flaw)
    with anyio.fail_after(WAIT_SECONDS):
        report = await conform(sandbox, skip=ALL_CHAPTERS - {"environments", "isolation"}, on_verdict=hear)
    await sandbox.aclose()
    chapter = [verdict for verdict in report.verdicts if verdict.chapter == "environments"]
    assert sum(verdict.outcome == "failed" for verdict in chapter) == failed, chapter
    assert sum(verdict.outcome == "skipped" for verdict in chapter) == skipped, chapter
    assert {verdict.claim for verdict in heard} == {claim.sentence for claim in CLAIMS}
    assert heard[0].chapter == "isolation"
