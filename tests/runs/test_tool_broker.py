"""The broker of one run: what stands behind its doors, whom it passes questions to, and how it ends."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from alita_mcp.app import open_app
from alita_mcp.errors import SandboxBusy, ToolUnavailable
from alita_mcp.owners import UNIDENTIFIED
from alita_mcp.runs.code_run import CodeRequest, CodeRun
from alita_mcp.runs.tool_broker import RedactingBroker, ToolBroker
from alita_mcp.sandbox.interface import Broker, EgressPolicy, Job, RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Manifest
from tests.runs.tools_to_call import stock
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.manifests import manifest

CALL = {"name": "slugify", "arguments": {}}


class OneTool:
    """A library whose only tool gives what it is told to give."""

    def __init__(self, result: RunResult | Exception | None) -> None:
        self._result = result
        self.began = anyio.Event()

    def manifest(self, name: str) -> Manifest:
        if name == "gone_by":
            raise ToolUnavailable("gone_by was deleted.", hint="`alita enable gone_by`")
        return manifest(name=name)

    async def call_tool(self, _name: str, _arguments: dict[str, Any]) -> RunResult:
        if isinstance(self._result, Exception):
            raise self._result
        if self._result is None:
            self.began.set()
            await anyio.sleep_forever()
        assert self._result is not None
        return self._result


class Inner(RedactingBroker):
    """Whom the run's own rights belong to."""

    egress_policy: EgressPolicy | None = object()  # type: ignore[assignment]

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        return [door, words]

    def redact_result(self, result: RunResult) -> RunResult:
        return result.model_copy(update={"stdout": "[hidden]"})


async def outcome(result: RunResult | Exception) -> dict[str, Any]:
    """What the inside gets of one call, however long the pieces."""
    broker = ToolBroker(OneTool(result))
    piece = await broker.answer("tools.call", CALL)
    text = piece["text"]
    while piece["more"]:
        piece = await broker.answer("tools.more", {})
        text += piece["text"]
    assert await broker.answer("tools.more", {}) == {"text": "", "more": False}
    read: dict[str, Any] = json.loads(text)
    return read


async def test_failures_of_the_host_tell_no_more_than_their_words() -> None:
    busy = await outcome(SandboxBusy("64 calls wait.", hint="Call again."))
    assert busy == {"kinds": ["RuntimeError"], "message": "slugify: 64 calls wait. Call again."}
    odd = await outcome(KeyError("/home/someone/key"))
    assert odd == {"kinds": ["RuntimeError"], "message": "slugify: the host failed with KeyError"}


async def test_other_doors_are_the_inner_brokers() -> None:
    broker = ToolBroker(OneTool(None), Inner())
    assert await broker.answer("secret", {"name": "x"}) == ["secret", {"name": "x"}]
    assert broker.egress_policy is Inner.egress_policy
    assert broker.redact_result(RunResult(status="ok")).stdout == "[hidden]"
    alone = ToolBroker(OneTool(None))
    assert alone.egress_policy is None
    with pytest.raises(PermissionError, match="needs the grant 'secrets'"):
        await alone.answer("secret", {"name": "x"})


async def test_a_run_that_took_too_long_names_the_call_under_way() -> None:
    tools = OneTool(None)
    broker = ToolBroker(tools)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(broker.answer, "tools.call", CALL)
            await tools.began.wait()
            tasks.cancel_scope.cancel()
    late = broker.add_calls(CodeRun(status="timeout", error="took more than 30 s"))
    assert late.error == "took more than 30 s, including the time of tool calls (still running: slugify)"
    assert late.tools == ("slugify",)


class Holding(ScriptedSandbox):
    """The run asks for a call of a tool that does not end, and waits for it."""

    def __init__(self) -> None:
        super().__init__(lambda _job: RunResult(status="ok"))
        self.calls_under_way = anyio.Event()

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if job.function == "run_code":
            assert broker is not None
            await broker.answer("tools.call", {"name": "never_ends", "arguments": {}})
        else:
            assert job.depth == 1
            self.calls_under_way.set()
        await anyio.sleep_forever()
        raise AssertionError


async def test_a_run_that_is_cancelled_takes_its_calls_along(settings: Settings) -> None:
    box = Holding()
    changed = await stock(settings, box.kind)
    async with open_app(changed, admit=lambda _manifest: (), sandbox=box) as app:

        async def run() -> None:
            await app.code.run_code(CodeRequest(code="import alita_tools"), UNIDENTIFIED, _silent)

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await box.calls_under_way.wait()
                tasks.cancel_scope.cancel()
        await app.library.settle()
        last = app.library.journal(1)[0]
        assert (last.name, last.detail["status"]) == ("never_ends", "cancelled")


async def _silent(_stage: str) -> None:
    return None
