"""Back ends that nobody should use, each wrong in a way of its own: `alita doctor --sandbox` must find it out.

Its programs are bounded, so that even a bare process does no harm; nothing else may be run in these.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

import anyio
from anyio.abc import Process

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from tests.scripted_sandbox import ScriptedSandbox

DRIVER = """
import contextlib, io, json, sys
modules = {}
for line in sys.stdin:
    job = json.loads(line)
    out, answer = io.StringIO(), {"status": "ok"}
    try:
        with contextlib.redirect_stdout(out):
            scope = modules.setdefault(job["code"], {"__name__": "tool"})
            if len(scope) == 1:
                exec(compile(job["code"], "tool.py", "exec"), scope)
            answer["value"] = scope[job["function"]](**job["arguments"])
            json.dumps(answer)
    except BaseException as problem:
        lines = (f"tool.py:{problem.__traceback__.tb_lineno}",)
        answer = {"status": "error", "error_type": type(problem).__name__, "message": str(problem), "trace": lines}
    print(json.dumps(answer | {"stdout": out.getvalue()}), flush=True)
"""


class BareProcess(ScriptedSandbox):
    """A child of this process, the same user, with the same files and network, kept for each code with what it left."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda job: RunResult(status="ok"), "bare")
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._kept: dict[str, Process] = {}
        self._turn = anyio.Lock()

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        async with self._turn:
            if job.code not in self._kept:
                variables = {**os.environ, "TMPDIR": self._folder.name}
                self._kept[job.code] = await anyio.open_process(
                    [sys.executable, "-c", DRIVER], stderr=None, cwd=self._folder.name, env=variables
                )
            try:
                with anyio.fail_after(job.limits.wall_seconds):
                    return await _ask(self._kept[job.code], job)
            except TimeoutError:
                await self._end(job.code)
                return RunResult(status="timeout", message=f"took more than {job.limits.wall_seconds:g} s")

    async def _end(self, code: str) -> None:
        with anyio.CancelScope(shield=True):
            process = self._kept.pop(code)
            process.kill()
            await process.aclose()

    async def aclose(self) -> None:
        for code in list(self._kept):
            await self._end(code)
        self._folder.cleanup()


async def _ask(process: Process, job: Job) -> RunResult:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send(job.model_dump_json(include={"code", "function", "arguments"}).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        answer += await process.stdout.receive()
    return RunResult.model_validate(json.loads(answer))


class Swallowing(WasmSandbox):
    """Isolates, but takes no notice of limits, and says that all went well, whatever happened."""

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        result = await super().run(job.model_copy(update={"limits": Limits(wall_seconds=3)}), broker)
        return RunResult(status="ok", value=result.value if result.ok else None)


class Refusing(ScriptedSandbox):
    """Is never weaker than asked, because it offers nothing."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda job: RunResult(status="ok"), "refusing")

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        raise SandboxRefused("Not today.")


class Stumbling(ScriptedSandbox):
    """Raises what the seam does not know."""

    def __init__(self, _settings: Settings) -> None:
        super().__init__(lambda job: RunResult(status="ok"), "stumbling")

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        raise LookupError("Where am I?")
