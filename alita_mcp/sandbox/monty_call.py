"""One call in the embedded interpreter: what it sees of the host (a clock, no more), how its end becomes a result."""

from __future__ import annotations

import datetime
import re
import secrets
import time
from collections.abc import Callable
from random import Random
from typing import Any

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.monty_dialect import Frame, missing_feature
from alita_mcp.sandbox.runner.failures import kinds_of
from alita_mcp.sandbox.seam import Job, RunResult, RunStatus
from alita_mcp.sandbox.strict_json import NotJson, decode_strict

ANOTHER_SANDBOX = (
    "Install Docker (https://docs.docker.com/get-docker/) or, on Linux, bubblewrap (`apt install bubblewrap`); "
    "or write the tool without it."
)
TOOL_FRAME = "<python-input-0>"
"""Where frames of the tool's own code say that they are; the call comes second."""
_TIME_LIMIT = re.compile(r"(feed time|turn time|sleep) limit exceeded")
_DENIED = re.compile(r"Permission denied: |'[\w.]+' is not supported in this environment")
_MAX_TRACE = 10
_MAX_MESSAGE = 2_000
_MAX_RANDOM = 1 << 20


class Flood(Exception):
    """Ends a call that writes too much."""


class Output:
    """Takes what the tool prints: the first bytes of each stream are kept, all are counted."""

    def __init__(self, kept_bytes: int) -> None:
        self.on_flood: Callable[[], None] = lambda: None
        """Called when it is too much, in the thread that brings the output; the interpreter would go on."""
        self._kept_bytes = kept_bytes
        self._kept = {"stdout": bytearray(), "stderr": bytearray()}
        self._written = 0

    def __call__(self, stream: str, text: str) -> None:
        """Takes one piece; raises Flood when it is too much, which ends the call."""
        data = text.encode()
        kept = self._kept[stream]
        kept += data[: max(0, self._kept_bytes - len(kept))]
        self._written += len(data)
        if self.flooded:
            self.on_flood()
            raise Flood

    @property
    def flooded(self) -> bool:
        """True when sixteen times as much as is kept was written."""
        return self._written > 16 * self._kept_bytes

    def text(self, stream: str) -> str:
        """What was kept of a stream; a character cut in two is dropped."""
        return self._kept[stream].decode(errors="ignore")


class World:
    """Answers the interpreter's requests to the operating system: an empty environment, a clock that may be off."""

    def __init__(self, job: Job, not_handled: object) -> None:
        self._offset = job.clock_offset_s if job.moment is None else job.moment - time.time()
        self._whole = job.moment is not None
        self._random = secrets.token_bytes if job.random_seed is None else Random(job.random_seed).randbytes  # noqa: S311
        self._not_handled = not_handled

    def __call__(self, *, name: str, args: tuple[Any, ...], **_rest: Any) -> Any:
        """The answer to one request; all but the known ones are left to the interpreter, which refuses them."""
        match name, args:
            case "time.time", _:
                return self._time()
            case "datetime.now", _:
                return self._now(args[0] if args else None)
            case "date.today", _:
                return self._now(datetime.UTC).date()
            case "os.getenv", (_, *default):
                return default[0] if default else None
            case "os.environ", _:
                return {}
            case "os.urandom", (int(count),) if 0 <= count <= _MAX_RANDOM:
                return self._random(count)
        return self._not_handled

    def _time(self) -> float:
        moved = time.time() + self._offset
        return float(int(moved + 1e-6)) if self._whole else moved

    def _now(self, zone: datetime.tzinfo | None) -> datetime.datetime:
        shifted = datetime.datetime.fromtimestamp(self._time(), datetime.UTC)
        return shifted.astimezone(zone) if zone else shifted.replace(tzinfo=None)


class Ending:
    """Turns what the interpreter gave into the result of one job, with what was printed and the time it took."""

    def __init__(self, job: Job, output: Output) -> None:
        self._job = job
        self._output = output
        self._started = time.monotonic()

    def of_value(self, answer: Any) -> RunResult:
        """From the harness's answer, which is as little trusted as the tool."""
        match answer:
            case ["value", str(text)] if len(text.encode()) <= self._job.limits.result_bytes:
                try:
                    return self.result("ok", value=decode_strict(text.encode(), self._job.limits.json_depth))
                except NotJson as problem:
                    return self.result("bad_result", message=str(problem))
            case ["problem", str(problem)]:
                return self.result("bad_result", message=problem[:_MAX_MESSAGE])
        return self.result("bad_result", message="the result is not JSON")

    def of_error(self, error: BaseException, frames: list[Any], *, loading: bool) -> RunResult:
        """From an exception that the interpreter reported.

        Raises:
            SandboxRefused: the code needs what only CPython has.
        """
        text = str(error)
        if self._output.flooded:
            return self.flooded()
        if isinstance(error, MemoryError):
            limit = self._job.limits.memory_bytes
            return self.result("memory", message=f"used more than {limit} bytes of memory (memory_bytes)")
        if isinstance(error, TimeoutError) and _TIME_LIMIT.match(text):
            return self.timeout(loading=loading, computing=text.startswith("feed time"))
        tool_frames = [frame for frame in frames if frame.filename == TOOL_FRAME]
        if not loading and self._is_unknown_function(error, tool_frames):
            message = f"the module defines no function {self._job.function!r}"
            return self.result("load_failed", error_type="AttributeError", message=message)
        if feature := missing_feature(error, tool_frames or frames):
            raise SandboxRefused(
                f"The embedded interpreter (monty) lacks what this code needs: {feature}.",
                hint=ANOTHER_SANDBOX,
            )
        if isinstance(error, PermissionError | RuntimeError) and _DENIED.match(text):
            text += " (the embedded interpreter has no files and no system calls; Docker and bubblewrap have)"
        status: RunStatus = "load_failed" if loading else "error"
        kinds = tuple(kinds_of(type(error)))
        return self.result(
            status, error_type=type(error).__name__, error_kinds=kinds, message=text[:_MAX_MESSAGE],
            trace=_trace(tool_frames),
        )  # fmt: skip

    def timeout(self, *, loading: bool, computing: bool) -> RunResult:
        """A time limit was hit, while the code was computing or in all."""
        limits = self._job.limits
        field = "cpu_seconds" if computing and limits.cpu_seconds < limits.wall_seconds else "wall_seconds"
        where = ", while the module was imported" if loading else ""
        return self.result("timeout", message=f"took more than {getattr(limits, field):g} s ({field}){where}")

    def crashed(self, message: str) -> RunResult:
        """The worker died."""
        return self.result("crashed", message=f"the interpreter's process died: {message}"[:_MAX_MESSAGE])

    def result(self, status: RunStatus, **fields: Any) -> RunResult:
        """A result with the output and the time so far."""
        return RunResult(
            status=status,
            stdout=self._output.text("stdout"),
            stderr=self._output.text("stderr"),
            wall_seconds=time.monotonic() - self._started,
            **fields,
        )

    def flooded(self) -> RunResult:
        """Too much was written."""
        limit = 16 * self._job.limits.output_bytes
        return self.result(
            "output_flood", message=f"wrote more than {limit} bytes to stdout and stderr (16 x output_bytes)"
        )

    def _is_unknown_function(self, error: BaseException, tool_frames: list[Frame]) -> bool:
        absent = f"name {self._job.function!r} is not defined"
        return not tool_frames and isinstance(error, NameError) and str(error) == absent


def _trace(frames: list[Any]) -> tuple[str, ...]:
    """The outermost three and the innermost frames, one line each."""
    lines = [
        f"tool.py:{frame.line} in {frame.function_name or '<module>'}: {(frame.source_line or '').strip()}"[
            :300
        ]
        for frame in frames
    ]
    if len(lines) > _MAX_TRACE:
        lines[3 : len(lines) - _MAX_TRACE + 4] = [f"… {len(lines) - _MAX_TRACE + 1} more"]
    return tuple(lines)
