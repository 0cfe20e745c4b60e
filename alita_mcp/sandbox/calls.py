"""One call in a worker: a job in, a result out, whatever the code did."""

from __future__ import annotations

import json
import re
from typing import Any

import anyio
from pydantic import Field, ValidationError

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.frames import Frame, Kind
from alita_mcp.sandbox.seam import Job, RunResult, RunStatus
from alita_mcp.sandbox.strict_json import NotJson, decode_strict
from alita_mcp.sandbox.wire import GRACE_SECONDS, PACKAGES, Worker, WorkerLost
from alita_mcp.values import Limits, Value

HEADER_BYTES = 64 << 10
"""A child that forges its message can add this much to a result before the supervisor stops it."""
_SIGKILL = 9
_MAX_TRACE = 10


class Head(Value):
    """The supervisor's word on how a child ended."""

    status: RunStatus
    error_type: str = ""
    message: str = ""
    trace: tuple[str, ...] = ()
    seconds: float = Field(ge=0)
    signal: int = 0
    exit_code: int = 0


class Outcome:
    """Collects what arrives during a call."""

    def __init__(self, limits: Limits) -> None:
        self.head: Head | None = None
        self.result = bytearray()
        self.output = {1: bytearray(), 2: bytearray()}
        self._limits = limits

    def take(self, frame: Frame) -> bool:
        """Takes a frame; True when it was the last one.

        Raises:
            SandboxError: a frame that does not belong here, or more than the supervisor may send.
        """
        if frame.kind == Kind.RESULT:
            self.head = read_head(frame.payload)
            return True
        if frame.kind == Kind.CHUNK:
            target, limit = self.result, self._limits.result_bytes + HEADER_BYTES
        elif frame.kind == Kind.OUTPUT and frame.stream in self.output:
            target, limit = self.output[frame.stream], self._limits.output_bytes
        else:
            raise SandboxError(f"The sandbox broke its protocol: {frame.kind.name} during a call.")
        target += frame.payload
        if len(target) > limit:
            raise SandboxError("The sandbox broke its protocol: it sent more than it may.")
        return False


def read_head(payload: bytes) -> Head:
    """The content of a RESULT frame.

    Raises:
        SandboxError: it is not what a supervisor sends.
    """
    try:
        return Head.model_validate(_clean(json.loads(payload)))
    except (ValueError, RecursionError, ValidationError) as broken:
        raise SandboxError(f"The sandbox broke its protocol: {broken}"[:500]) from broken


async def call(worker: Worker, job: Job) -> RunResult:
    """Runs the job's call; whatever the code does ends in a RunResult.

    Raises:
        SandboxRefused: the code and arguments are too large or not JSON.
        SandboxError: the sandbox died or broke its protocol.
    """
    payload = _payload(job)
    options = {
        "result_bytes": job.limits.result_bytes,
        "packages": PACKAGES if job.environment else "",
        "clock_offset_s": job.clock_offset_s,
    }
    words = {"options": options, "variables": {"PYTHONHASHSEED": str(job.hash_seed)}, "live": False}
    outcome = Outcome(job.limits)
    try:
        with anyio.fail_after(job.limits.wall_seconds + GRACE_SECONDS):
            await worker.order(Kind.CALL, "call", words, payload)
            while not outcome.take(await worker.next_frame()):
                continue
    except TimeoutError:
        return _overdue(job.limits)
    except WorkerLost:
        # nothing inside can kill PID 1; only the kernel does, when memory is short
        if not await worker.transport.ran_out_of_memory(ended=True):
            raise
        return _memory(job.limits, outcome, 0.0)
    return await _result(worker, outcome, job.limits)


async def ran_out_of_memory(worker: Worker, head: Head) -> bool:
    """Whether memory ended the child: the supervisor says so, or the back end does where only it can see it."""
    if head.status == "memory":
        return True
    killed = head.status in {"crashed", "load_failed"} and head.signal == _SIGKILL
    return killed and await worker.transport.ran_out_of_memory(ended=False)


async def _result(worker: Worker, outcome: Outcome, limits: Limits) -> RunResult:
    head = outcome.head
    if head is None:
        raise SandboxError("The sandbox broke its protocol: no result.")
    if await ran_out_of_memory(worker, head):
        return _memory(limits, outcome, head.seconds, head)
    value, status, message = None, head.status, head.message
    if status == "ok":
        try:
            value = _value(bytes(outcome.result), limits)
        except NotJson as problem:
            status, message = "bad_result", str(problem)
    return RunResult(
        status=status, value=value, error_type=head.error_type, message=message, trace=head.trace[:_MAX_TRACE],
        stdout=_text(outcome.output[1]), stderr=_text(outcome.output[2]), wall_seconds=head.seconds,
    )  # fmt: skip


def _value(data: bytes, limits: Limits) -> Any:
    if len(data) > limits.result_bytes:
        raise NotJson(
            f"the result has {len(data)} bytes, more than the limit of {limits.result_bytes} (result_bytes)"
        )
    return decode_strict(data)


def _memory(limits: Limits, outcome: Outcome, seconds: float, head: Head | None = None) -> RunResult:
    return RunResult(
        status="memory",
        error_type=head.error_type if head else "",
        message=f"used more than {limits.memory_bytes} bytes of memory (memory_bytes)",
        trace=head.trace[:_MAX_TRACE] if head else (),
        stdout=_text(outcome.output[1]),
        stderr=_text(outcome.output[2]),
        wall_seconds=seconds,
    )


def _overdue(limits: Limits) -> RunResult:
    """The supervisor's own clock did not end the call: a frozen container, or a machine that is far too slow."""
    return RunResult(
        status="timeout",
        message=f"took more than {limits.wall_seconds:g} s (wall_seconds) and had to be killed from outside",
        wall_seconds=limits.wall_seconds + GRACE_SECONDS,
    )


def _payload(job: Job) -> bytes:
    order = {"code": job.code, "function": job.function, "arguments": job.arguments}
    try:
        return json.dumps(order, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as problem:
        raise SandboxRefused(f"The arguments are not JSON: {problem}.") from problem


def _text(data: bytearray) -> str:
    return data.decode("utf-8", "replace")


def _clean(value: Any) -> Any:
    """Text from inside without halves of surrogate pairs, which no pydantic value takes."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, list):
        return [_clean(part) for part in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(part) for name, part in value.items()}
    return value
