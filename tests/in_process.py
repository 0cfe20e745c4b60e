"""A sandbox that runs tools of our own in this process: for tests of what stands around a sandbox.

It isolates nothing and limits only how many lines a call takes; never give it what a stranger wrote.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stdout
from functools import lru_cache
from types import CodeType, FrameType, ModuleType
from typing import Any

from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.sandbox.runner.tool import failures, grants, shapes
from tests.scripted_sandbox import ScriptedSandbox, brought_along, results_of

MOST_LINES = 100_000
IN_PROCESS = "tests.in_process:InProcessSandbox"
"""For the setting `sandbox` of a server process."""


class TooManyLines(BaseException):
    """A call that does not end soon."""


class InProcessSandbox(ScriptedSandbox):
    """Answers each job by running it here; its kind is that of the sandbox which it stands for."""

    def __init__(self, _settings: object = None, kind: str = "wasm") -> None:
        super().__init__(run_here, kind)

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """The result of the job, or of the variants that it brings along."""
        self.jobs.append(job)
        variants = brought_along(job)
        if variants is None:
            return run_here(job)
        results = [run_here(variant) for variant in variants]
        return results_of(results) if isinstance(job.arguments["arguments"], list) else results[0]


@lru_cache(4_096)
def compiled(code: str) -> CodeType:
    return compile(code, failures.FILE, "exec", dont_inherit=True)


def run_here(job: Job) -> RunResult:
    """Loads the job's code as the module `tool` and calls its function."""
    module = ModuleType("tool")
    kept, traced = sys.modules.get("tool"), sys.gettrace()
    sys.modules["tool"] = module
    sys.modules.setdefault("alita_tool", grants.module())
    left = MOST_LINES

    def count(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left
        left -= event == "line"
        if left < 0:
            raise TooManyLines
        return count

    sys.settrace(count)
    try:
        with redirect_stdout(io.StringIO()):
            exec(compiled(job.code), module.__dict__)
            function = module.__dict__[job.function]
            value = shapes.to_json(function(**shapes.to_parameters(function, job.arguments)))
        return RunResult(status="ok", value=json.loads(json.dumps(value, allow_nan=False)))
    except TooManyLines:
        return RunResult(status="timeout", message=f"more than {MOST_LINES:,} lines")
    except Exception as problem:  # noqa: BLE001 - whatever ends a tool is its result
        return RunResult(**failures.head("error", problem))
    finally:
        sys.settrace(traced)
        sys.modules.pop("tool")
        if kept is not None:
            sys.modules["tool"] = kept
