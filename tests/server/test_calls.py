"""What clients of both eras are told about calls whose sandbox fails or is busy, and about results that are kept."""

from __future__ import annotations

import pytest

from alita_mcp.errors import SandboxBusy, SandboxError
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.settings import Settings
from tests.in_process import InProcessSandbox
from tests.server.in_memory import Build, called, connected, succeeded, text_of


class Failing(InProcessSandbox):
    """Works until it is told how to fail."""

    failure: SandboxError | None = None

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if self.failure is not None:
            raise self.failure
        return await super().run(job, broker)


BUSY, FULL = "64 calls wait already.", "All places are taken."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (SandboxBusy(BUSY, retry_after_s=7), ("busy", f"busy: {BUSY}", "Call again in 7 s.")),
        (SandboxBusy(FULL, hint="Call again soon."), ("busy", f"busy: {FULL}", "Call again soon.")),
        (
            SandboxError("Gone.", hint="Start it."),
            ("failed", "The sandbox failed, not the tool: Gone.", "Start it."),
        ),
    ],
    ids=["busy", "busy with a hint", "failed"],
)
@pytest.mark.usefixtures("vowel_share")
async def test_a_failing_sandbox_is_never_told_as_a_failing_tool(
    build: Build, settings: Settings, era: str, failure: SandboxError, said: tuple[str, str, str]
) -> None:
    status, begins, ends = said
    box = Failing(settings)
    async with connected(build(sandbox=box), era) as client:
        box.failure = failure
        direct = await called(client, "vowel_share", text="abc")
        by_name = await called(client, "run_tool", name="vowel_share", arguments={"text": "abc"})
        box.failure = None
        for result in (direct, by_name):
            assert result.is_error
            assert text_of(result) == f"{begins} {ends}"
        assert direct.structured_content is None
        busy = {"retry_after_s": failure.retry_after_s} if isinstance(failure, SandboxBusy) else {}
        assert by_name.structured_content == {"status": status, "reason": begins, "fix": ends, **busy}
        for result in (direct, by_name):
            meta = result.meta or {}
            assert meta.get("alita/retry_after_s") == busy.get("retry_after_s")
        card = await succeeded(client, "inspect_tool", name="vowel_share")
        assert (card["calls"], card["failures"]) == (0, 0)
