"""Runs a builder program in a worker and returns the bytes of its result file."""

from __future__ import annotations

import json
from collections import deque
from contextlib import closing

import anyio

from alita_mcp.errors import SandboxError
from alita_mcp.exception_groups import unwrapped
from alita_mcp.sandbox.interface import Progress
from alita_mcp.sandbox.network.egress import Egress
from alita_mcp.sandbox.network.egress_policies import AllowList
from alita_mcp.sandbox.network.proxy import PROXY
from alita_mcp.sandbox.wire.frames import Kind
from alita_mcp.sandbox.wire.link import GRACE_SECONDS, Worker
from alita_mcp.sandbox.workers.calls import EndReport, ran_out_of_memory, read_end_report

MAX_RESULT_BYTES = 512 << 20
MAX_LINE = 1_000
KEPT_LINES = 40
PAYLOAD_FILE, RESULT_FILE = "/tmp/payload", "/tmp/result"  # noqa: S108 - paths inside the sandbox


class BuilderFailed(SandboxError):
    """Error: a builder program ended without a result; `output` are its last lines."""

    def __init__(self, message: str, *, exit_code: int | None, output: tuple[str, ...]) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        """None when it was killed: its time or its memory was over, or it crashed."""
        self.output = output


class Lines:
    """Splitter of output into lines: passes each to a callback and keeps the last ones."""

    def __init__(self, on_line: Progress) -> None:
        self.kept: deque[str] = deque(maxlen=KEPT_LINES)
        self._on_line = on_line
        self._rest = {1: b"", 2: b""}

    async def take(self, stream: int, data: bytes) -> None:
        """Takes output of stdout (1) or stderr (2)."""
        if stream not in self._rest:
            raise SandboxError("The sandbox broke its protocol: output of no stream.")
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        self._rest[stream] = rest[: 4 * MAX_LINE]
        for line in lines:
            await self._tell(line)

    async def finish(self) -> None:
        """Takes what came after the last line end."""
        for rest in self._rest.values():
            if rest:
                await self._tell(rest)

    async def _tell(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()[:MAX_LINE]
        if text:
            self.kept.append(text)
            await self._on_line(text)


async def build(
    worker: Worker, program: str, payload: bytes, hosts: frozenset[str], on_line: Progress
) -> bytes:
    """Runs a builder program and returns the content of its result file.

    The program sees `sys.argv == ["builder", payload file, result file]` and the proxy's variables.

    Raises:
        BuilderFailed: a status that is not 0, no time or memory left, a crash.
        SandboxError: the sandbox broke its protocol.
    """
    with unwrapped():
        async with anyio.create_task_group() as tasks:
            lines = Lines(on_line)
            with closing(Egress(worker, AllowList(hosts), tasks)) as egress:
                head, result = await _follow(worker, egress, lines, (program, payload))
                tasks.cancel_scope.cancel()
    if head.status == "ok" and not head.exit_code:
        return result
    message = f"The builder was ended: {head.message}."
    if head.status == "ok":
        message = f"The builder ended with status {head.exit_code}."
    elif await ran_out_of_memory(worker, head):
        message = f"The builder used more than {worker.limits.memory_bytes} bytes of memory."
    raise BuilderFailed(
        message, exit_code=head.exit_code if head.status == "ok" else None, output=tuple(lines.kept)
    )


async def _follow(
    worker: Worker, egress: Egress, lines: Lines, work: tuple[str, bytes]
) -> tuple[EndReport, bytes]:
    program, payload = work
    variables = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), PROXY)
    files = {"payload_file": PAYLOAD_FILE, "result_file": RESULT_FILE}
    options = files | {"program": json.dumps(program)}
    chunks: list[bytes] = []
    received = 0
    with anyio.move_on_after(worker.limits.wall_seconds + GRACE_SECONDS):
        words = worker.terms() | {"options": options, "variables": variables}
        await worker.order(Kind.BUILD, words, payload)
        while True:
            frame = await worker.next_frame()
            if frame.kind == Kind.RESULT:
                await lines.finish()
                return read_end_report(frame.payload), b"".join(chunks)
            if frame.kind == Kind.CHUNK:
                received += len(frame.payload)
                if received > MAX_RESULT_BYTES:
                    raise SandboxError(f"A builder's result is larger than {MAX_RESULT_BYTES} bytes.")
                chunks.append(frame.payload)
            elif frame.kind == Kind.OUTPUT:
                await lines.take(frame.stream, frame.payload)
            else:
                egress.take(frame)
    wall = worker.limits.wall_seconds
    return EndReport(status="timeout", message=f"took more than {wall:g} s and was killed", seconds=wall), b""
