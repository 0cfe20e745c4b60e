"""Host's end of the wire: makes a transport into a worker that has attested itself and takes orders.

Everything from inside is hostile until checked: the token, the frames, their sizes, their order.
"""

from __future__ import annotations

import json
import os
from collections import deque
from typing import Any, Protocol

import anyio
from pydantic import ValidationError

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.wire.attestation import Attestation, Demands, weaknesses
from alita_mcp.sandbox.wire.bundle import supervisor_bundle
from alita_mcp.sandbox.wire.frames import TOKEN_BYTES, Decoder, Frame, FrameError, Kind, encode, pieces
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict
from alita_mcp.values import Limits, Value

START_SECONDS = 60.0
"""How long a sandbox may take from its start to its attestation; machines under load are slow."""
GRACE_SECONDS = 5.0
"""How much later than the supervisor's clock the host's own clock ends a call."""
CLEAN_SECONDS = 15.0
"""How long removing what a call left may take; then the worker is given up."""
CLEAN = b'{"clean": true}'
MAX_ORDER_BYTES = 64 << 20
PACKAGES = "/opt/alita-packages"
"""Where a sandbox sees its environment."""


class WorkerLost(SandboxError):
    """Error: the supervisor is gone without a result."""


class WorkerStale(SandboxError):
    """Error: a pooled worker became useless before anything of the call reached it; another one may be used."""


class Transport(Protocol):
    """Stdin and stdout of a supervisor; opened and killed by the context manager that gave it."""

    async def send(self, data: bytes) -> None:
        """Writes all of it; raises WorkerLost when the other end is closed.

        What a cancelled call did not write goes out before the next one's bytes, or `is_whole` turns False.
        """

    async def receive(self) -> bytes:
        """The next bytes; empty when the supervisor is gone."""

    def is_silent(self) -> bool:
        """Whether nothing waits to be received, the end included, as far as that can be told without waiting."""

    @property
    def is_whole(self) -> bool:
        """False once bytes that were to be sent are lost."""

    async def ran_out_of_memory(self, *, ended: bool) -> bool:
        """Whether the kernel killed a process of this sandbox for want of memory; `ended`: PID 1 is gone too."""

    @property
    def complaints(self) -> str:
        """What was written to stderr, shortened."""


class Confinement(Value):
    """Confinement of a worker: what the supervisor must attest, and what it must set by itself."""

    demands: Demands | None = None
    """None: the back end judges by itself."""
    processes: int | None = None
    """RLIMIT_NPROC, where no cgroup counts processes."""


class Worker:
    """Booted sandbox process that waits for orders."""

    def __init__(self, transport: Transport, limits: Limits, confinement: Confinement) -> None:
        self.limits = limits
        self.transport = transport
        self.loaded = False
        self.owes_clean = False
        """Whether a call was answered and what it left is still being removed."""
        self._confinement = confinement
        self.token = os.urandom(TOKEN_BYTES)
        """Stands before each frame from inside."""
        self._decoder = Decoder(self.token)
        self._arrived: deque[Frame] = deque()

    async def greet(self, *, egress: bool) -> Attestation:
        """Sends the supervisor; its attestation, checked.

        Raises:
            SandboxError: it did not start, or is weaker than demanded.
            SandboxRefused: the memory limit is too small for Python itself.
        """
        try:
            hello = decode_strict(await self.hear(supervisor_bundle(self.token, egress=egress)))
            found = Attestation.model_validate(hello)
        except (NotJson, ValidationError) as problem:
            raise SandboxError(f"The sandbox's attestation cannot be read: {problem}") from problem
        demands = self._confinement.demands
        if weak := weaknesses(found, demands) if demands else ():
            raise SandboxError(f"The sandbox is weaker than required: {'; '.join(weak)}.")
        return found

    async def hear(self, first_words: bytes) -> bytes:
        """Says the first words on the wire; the attestation that answers them.

        Raises:
            SandboxError: it did not start.
            SandboxRefused: the memory limit is too small for Python itself.
        """
        try:
            with anyio.fail_after(START_SECONDS):
                await self.transport.send(first_words)
                frame = await self.next_frame()
        except TimeoutError as late:
            raise SandboxError(f"The sandbox did not start within {START_SECONDS:g} s.") from late
        except WorkerLost as lost:
            if await self.transport.ran_out_of_memory(ended=True):
                limit = self.limits.memory_bytes
                raise SandboxRefused(
                    f"A limit of {limit} bytes of memory is too small to start Python."
                ) from lost
            raise
        if frame.kind != Kind.HELLO:
            raise SandboxError("The sandbox did not attest itself first.")
        return frame.payload

    def terms(self) -> dict[str, Any]:
        """Part of an order that holds the resources that processes may use."""
        limits = self.limits
        rlimits = {
            "cpu_seconds": limits.cpu_seconds,
            "files": limits.open_files,
            "file_bytes": limits.scratch_bytes,
            "processes": self._confinement.processes,
        }
        return {
            "wall_seconds": limits.wall_seconds,
            "memory_bytes": limits.memory_bytes,
            "output_bytes": limits.output_bytes,
            "result_bytes": limits.result_bytes,
            "rlimits": rlimits,
        }

    async def order(self, kind: Kind, words: dict[str, Any], payload: bytes) -> None:
        """Sends an order (LOAD or CALL) with its payload.

        Raises:
            SandboxRefused: the payload is too large.
        """
        if len(payload) > MAX_ORDER_BYTES:
            raise SandboxRefused(f"{len(payload)} bytes of input exceed the limit of {MAX_ORDER_BYTES}.")
        *before, last = [encode(Kind.PAYLOAD, 0, piece) for piece in pieces(payload)] or [b""]
        for frame in before:
            await self.transport.send(frame)
        await self.transport.send(last + encode(kind, 0, json.dumps(words).encode()))

    async def next_frame(self) -> Frame:
        """The next frame.

        Raises:
            WorkerLost: the supervisor is gone.
            SandboxError: the bytes are no frames of the supervisor's.
        """
        while not self._arrived:
            data = await self.transport.receive()
            if not data:
                raise WorkerLost(f"The sandbox ended without an answer. {self.transport.complaints}".strip())
            try:
                self._arrived.extend(self._decoder.feed(data))
            except FrameError as broken:
                raise SandboxError(f"The sandbox broke its protocol: {broken}.") from broken
        return self._arrived.popleft()

    async def settle(self) -> None:
        """Waits until the call before is cleaned up.

        Raises:
            WorkerStale: it cannot be cleaned, is gone or says what it should not.
        """
        try:
            if self.owes_clean:
                with anyio.fail_after(CLEAN_SECONDS):
                    frame = await self.next_frame()
                if frame.kind != Kind.CLEAN or frame.payload != CLEAN:
                    raise WorkerStale("The sandbox could not be cleaned.")
                self.owes_clean = False
        except (SandboxError, TimeoutError) as broken:
            raise WorkerStale(f"The idle sandbox cannot be reused: {broken}") from broken
        if self._arrived or not self.transport.is_silent():
            raise WorkerStale("The idle sandbox ended or sent data on its own.")
