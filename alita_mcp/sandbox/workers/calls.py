"""One call in a worker, from job to result; the first call of a worker imports the code."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from contextlib import closing
from functools import cache, partial
from typing import Annotated

import anyio
from pydantic import Field, ValidationError

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.event_loop import LARGE_BYTES, off_loop
from alita_mcp.exception_groups import unwrap_groups
from alita_mcp.sandbox.interface import Broker, Job, RunResult, RunStatus
from alita_mcp.sandbox.network.proxy import PROXY_VARIABLES
from alita_mcp.sandbox.runner.tool.failures import MAX_KIND, MAX_KINDS
from alita_mcp.sandbox.wire.frames import Frame, Kind
from alita_mcp.sandbox.wire.link import GRACE_SECONDS, PACKAGES, Worker, WorkerLost, WorkerStale
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.sandbox.workers.call_session import CallSession
from alita_mcp.texts import map_texts
from alita_mcp.values import Limits, Value

HEADER_BYTES = 64 << 10
"""A child that forges its message can add this much to a result before the supervisor stops it."""
_TOLD = {
    "result_bytes", "json_depth", "open_files", "scratch_bytes", "scratch_files", "processes",
}  # fmt: skip
"""Limits that the process itself names or keeps."""
_SIGKILL = 9
_MAX_TRACE = 10


class EndReport(Value):
    """Supervisor's report on how a child process ended."""

    status: RunStatus
    error_type: str = ""
    error_kinds: tuple[Annotated[str, Field(max_length=MAX_KIND)], ...] = Field((), max_length=MAX_KINDS)
    message: str = ""
    trace: tuple[str, ...] = ()
    seconds: float = Field(ge=0)
    written: tuple[int, int] = (0, 0)
    """Bytes that a call wrote to stdout and stderr, also those that were not kept."""
    signal: int = 0
    exit_code: int = 0


class FrameCollector:
    """Collector of the frames of one call: result, output and end report."""

    def __init__(self, limits: Limits, last: Kind) -> None:
        self.head: EndReport | None = None
        self.result = bytearray()
        self.output = {1: bytearray(), 2: bytearray()}
        self._limits = limits
        self._last = last

    def take(self, frame: Frame, session: CallSession | None = None) -> bool:
        """Takes a frame; True when it was the last one. Frames that are no part of a result go to `session`.

        Raises:
            WorkerStale: the worker ended before the call began.
            SandboxError: a frame that does not belong here, or more than the supervisor may send.
        """
        if frame.kind == Kind.CLEAN and self._last == Kind.RESULT:
            # the loaded code died while it waited for a call; another worker may have more luck
            if b'"memory": true' not in frame.payload:
                raise WorkerStale("The idle sandbox ended before the call began.")
            self.head = EndReport(status="memory", seconds=0)
            return True
        if frame.kind == self._last:
            self.head = read_end_report(frame.payload)
            return True
        if frame.kind == Kind.CHUNK and self._last == Kind.RESULT:
            target, limit = self.result, self._limits.result_bytes + HEADER_BYTES
        elif frame.kind == Kind.OUTPUT and frame.stream in self.output:
            target, limit = self.output[frame.stream], self._limits.output_bytes
        elif session is not None:
            session.take(frame)
            return False
        else:
            raise SandboxError(f"The sandbox broke its protocol: {frame.kind.name} during a call.")
        target += frame.payload
        if len(target) > limit:
            raise SandboxError("The sandbox broke its protocol: it sent more than it may.")
        return False


def read_end_report(payload: bytes) -> EndReport:
    """Parses the payload of a RESULT frame.

    Raises:
        SandboxError: it is not what a supervisor sends.
    """
    try:
        report = json.loads(payload)
        is_plain = payload.isascii() and b"\\u" not in payload
        return EndReport.model_validate(report if is_plain else map_texts(report, _clean))
    except (ValueError, RecursionError, ValidationError) as broken:
        raise SandboxError(f"The sandbox broke its protocol: {broken}"[:500]) from broken


async def call(worker: Worker, job: Job, broker: Broker | None = None) -> RunResult:
    """Runs the job's call in a worker that is unused or has loaded this code; any failure of the code is a RunResult.

    Raises:
        WorkerStale: the worker was of no use any more; nothing of this call reached it.
        SandboxRefused: the code and arguments are too large or not JSON.
        SandboxError: the sandbox died or broke its protocol.
    """
    try:
        arguments = json.dumps(job.arguments, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError) as problem:
        raise SandboxRefused(f"The arguments are not JSON: {problem}.") from problem
    await worker.settle()
    collected = FrameCollector(job.limits, Kind.RESULT)
    try:
        with anyio.fail_after(job.limits.wall_seconds + GRACE_SECONDS):
            if not worker.loaded:
                collected = await _load(worker, job)
            if worker.loaded:
                collected = FrameCollector(job.limits, Kind.RESULT)
                await worker.order(Kind.CALL, {}, arguments)
                await _converse(worker, collected, job, broker)
                worker.owes_clean = True
    except TimeoutError:
        # The supervisor's own clock did not end it: a frozen container, far too slow a machine, or an engine that
        # hangs. The last of them is not the tool's fault, and shows when the engine is asked.
        await worker.transport.ran_out_of_memory(ended=True)
        limit = job.limits.wall_seconds
        message = f"took more than {limit:g} s (wall_seconds) and was killed from outside"
        return RunResult(status="timeout", message=message, wall_seconds=limit + GRACE_SECONDS)
    except WorkerLost:
        # nothing inside can kill PID 1; only the kernel does, when memory is short
        if not await worker.transport.ran_out_of_memory(ended=True):
            raise
        collected.head = EndReport(status="memory", seconds=0)
    return await _result(worker, collected, job.limits)


async def _load(worker: Worker, job: Job) -> FrameCollector:
    """Has the code imported; where that fails, the end report says how."""
    limits = job.limits
    seed = hash_seed(job.code, job.clock_offset_s) if job.hash_seed is None else job.hash_seed
    variables = {"PYTHONHASHSEED": str(seed)}
    natural = seed == hash_seed(job.code, 0)
    if job.grants.network:
        variables |= PROXY_VARIABLES
    options = {
        "function": job.function,
        "limits": limits.model_dump(include=_TOLD),
        "packages": PACKAGES if job.environment else "",
        "clock_offset_s": job.clock_offset_s,
        "moment": job.moment,
        "random_seed": job.random_seed,
        "hash_seed": None if natural else seed,  # for sandboxes whose interpreter has drawn its own before
        "grants": job.grants.model_dump(mode="json"),
    }
    words = worker.terms() | {
        "variables": variables,
        "options": options,
        "broker_calls": 0 if job.grants.is_pure else limits.broker_calls,
        "once": job.fresh,
    }
    await worker.order(Kind.LOAD, words, json.dumps(job.code).encode())
    collected = FrameCollector(limits, Kind.LOADED)
    while not collected.take(await worker.next_frame()):
        continue
    worker.loaded = collected.head is not None and collected.head.status == "ok"
    return collected


async def _converse(worker: Worker, collected: FrameCollector, job: Job, broker: Broker | None) -> None:
    """Takes frames up to the result; with grants, also what the call asks for."""
    if job.grants.is_pure:
        while not collected.take(await worker.next_frame()):
            continue
        return
    with unwrap_groups():
        async with anyio.create_task_group() as tasks:
            with closing(CallSession(worker, broker, tasks, calls=job.limits.broker_calls)) as session:
                while not collected.take(await worker.next_frame(), session):
                    continue
            tasks.cancel_scope.cancel()


async def _result(worker: Worker, collected: FrameCollector, limits: Limits) -> RunResult:
    head = collected.head
    if head is None:
        raise SandboxError("The sandbox broke its protocol: no result.")
    value, status, message = None, head.status, head.message
    # Memory ended the child where the supervisor says so, or the back end, where only that can see it.
    is_killed = status in {"crashed", "load_failed"} and head.signal == _SIGKILL
    if status == "memory" or (is_killed and await worker.transport.ran_out_of_memory(ended=False)):
        status, message = "memory", f"used more than {limits.memory_bytes} bytes of memory (memory_bytes)"
    elif status == "ok":
        data = bytes(collected.result)
        try:
            if len(data) > limits.result_bytes:
                raise NotJson(  # noqa: TRY301 - as if the child had said it
                    f"the result has {len(data)} bytes, more than the limit of {limits.result_bytes} (result_bytes)"
                )
            read = partial(decode_strict, data, limits.json_depth)
            value = await off_loop(read, large=len(data) > LARGE_BYTES)
        except NotJson as problem:
            status, message = "bad_result", str(problem)
    return RunResult(
        status=status, value=value, error_type=head.error_type, error_kinds=head.error_kinds, message=message,
        trace=head.trace[:_MAX_TRACE], wall_seconds=head.seconds,
        stdout=_text(collected.output[1], head.written[0]), stderr=_text(collected.output[2], head.written[1]),
    )  # fmt: skip


def _text(kept: bytearray, written: int) -> str:
    """What was kept of a stream as text, and how much more was written."""
    text = kept.decode("utf-8", "replace")
    return f"{text}… ({written - len(kept):,} more bytes)" if written > len(kept) else text


def _clean(text: str) -> str:
    """Text from inside without halves of surrogate pairs, which no pydantic value takes."""
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def hash_seed(code: str, clock_offset_s: int) -> int:
    """PYTHONHASHSEED of all calls of this code under this clock: constant in this process, unpredictable outside.

    Gates and real calls get theirs here, so that code cannot tell a rehearsal by it; another clock is another seed.
    """
    word = f"{clock_offset_s} {code}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(word, key=_seed_key(), digest_size=4).digest(), "big")


@cache
def _seed_key() -> bytes:
    return secrets.token_bytes(32)
