"""The host's end of the wire: a transport in, a worker out that has attested itself and takes one order.

Everything from inside is hostile until checked: the token, the frames, their sizes, their order.
"""

from __future__ import annotations

import json
import os
from collections import deque
from typing import Any, Protocol

import anyio

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.attestation import Attestation, Demands, is_old_python, read_attestation, weaknesses
from alita_mcp.sandbox.bundle import child_entry, supervisor_bundle
from alita_mcp.sandbox.frames import TOKEN_BYTES, Decoder, Frame, FrameError, Kind, encode, pieces
from alita_mcp.values import Limits, Value

START_SECONDS = 60.0
"""How long a sandbox may take from its start to its attestation; machines under load are slow."""
GRACE_SECONDS = 5.0
"""How much later than the supervisor's clock the host's own clock ends a call."""
MAX_ORDER_BYTES = 64 << 20
PACKAGES = "/opt/alita-packages"
"""Where a sandbox sees its environment."""
OPEN_FILES = 256


class WorkerLost(SandboxError):
    """The supervisor is gone without a result."""


class Transport(Protocol):
    """The stdin and stdout of a supervisor; opened and killed by the context manager that gave it."""

    async def send(self, data: bytes) -> None:
        """Writes all of it; raises WorkerLost when nobody reads any more."""
        ...

    async def receive(self) -> bytes:
        """The next bytes; empty when the supervisor is gone."""
        ...

    async def ran_out_of_memory(self, *, ended: bool) -> bool:
        """Whether the kernel killed a process of this sandbox for want of memory; `ended`: PID 1 is gone too."""
        ...

    @property
    def complaints(self) -> str:
        """What was written to stderr, cut."""
        ...


class Confinement(Value):
    """How a back end confines a worker: what the supervisor must attest, and what it must set by itself."""

    demands: Demands
    data_bytes: int | None = None
    """RLIMIT_DATA for each process, where no cgroup counts memory."""
    processes: int | None = None
    """RLIMIT_NPROC, where no cgroup counts processes."""


class Worker:
    """A booted sandbox that waits for its one order."""

    def __init__(self, transport: Transport, limits: Limits, confinement: Confinement) -> None:
        self.limits = limits
        self.transport = transport
        self._confinement = confinement
        self._token = os.urandom(TOKEN_BYTES)
        self._decoder = Decoder(self._token)
        self._arrived: deque[Frame] = deque()
        self._sending = anyio.Lock()
        self._attestation: Attestation | None = None

    @property
    def attestation(self) -> Attestation:
        """What the supervisor found; there since `greet`."""
        assert self._attestation is not None  # noqa: S101 - open_worker greets before it hands the worker out
        return self._attestation

    async def greet(self, *, egress: bool) -> None:
        """Delivers the supervisor and judges its attestation.

        Raises:
            SandboxError: it did not start, or is weaker than demanded.
            SandboxRefused: the memory limit is too small for Python itself.
        """
        try:
            with anyio.fail_after(START_SECONDS):
                await self.transport.send(supervisor_bundle(self._token, egress=egress))
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
        found = self._attestation = read_attestation(frame.payload)
        if is_old_python(found):
            raise SandboxError(f"Python 3.11 or newer is needed in the sandbox; it has {found.python}.")
        if weak := weaknesses(found, self._confinement.demands):
            raise SandboxError(f"The sandbox is weaker than it must be: {'; '.join(weak)}.")

    async def order(self, kind: Kind, entry: str, words: dict[str, Any], payload: bytes) -> None:
        """Sends the one order, CALL or BUILD, with what it works on; `entry` is the child's module.

        Raises:
            SandboxRefused: the payload is too large.
        """
        if len(payload) > MAX_ORDER_BYTES:
            raise SandboxRefused(
                f"{len(payload)} bytes of input are more than the {MAX_ORDER_BYTES} that fit."
            )
        for piece in pieces(payload):
            await self.send(Kind.PAYLOAD, 0, piece)
        limits = self.limits.model_dump(exclude={"memory_bytes", "processes", "scratch_bytes"})
        rlimits = {
            "files": OPEN_FILES,
            "file_bytes": self.limits.scratch_bytes,
            "data_bytes": self._confinement.data_bytes,
            "processes": self._confinement.processes,
        }
        order = limits | words | {"entry": child_entry(entry), "rlimits": rlimits}
        await self.send(kind, 0, json.dumps(order).encode())

    async def send(self, kind: Kind, stream: int = 0, payload: bytes = b"") -> None:
        """Sends one frame; the frames of several tasks never mix."""
        async with self._sending:
            await self.transport.send(encode(kind, stream, payload))

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
