"""Queue of frames from many tasks to one sandbox: a sender may be cancelled at any point, a frame is never cut."""

from __future__ import annotations

from contextlib import suppress

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream

from alita_mcp.errors import SandboxError
from alita_mcp.sandbox.wire.frames import Kind
from alita_mcp.sandbox.wire.link import Worker, WorkerLost

FRAME_SECONDS = 10.0
"""How long the inside may take over one frame; it reads all the time."""
_QUEUED = 16
_Parcel = tuple[Kind, int, bytes]


class Outbox:
    """Queue of frames with one writer, which ends a little after `close`."""

    def __init__(self, worker: Worker, tasks: TaskGroup, *, frame_seconds: float = FRAME_SECONDS) -> None:
        self._frame_seconds = frame_seconds
        self._queue, parcels = anyio.create_memory_object_stream[_Parcel](_QUEUED)
        self._closed = False
        tasks.start_soon(self._write, worker, parcels)

    async def send(self, kind: Kind, number: int, payload: bytes = b"") -> None:
        """Waits for a free place; after `close`, or when the sandbox is gone, the frame is dropped."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._queue.send((kind, number, payload))

    def close(self) -> None:
        """Lets the writer end; frames that still wait are dropped."""
        self._closed = True
        self._queue.close()

    async def _write(self, worker: Worker, parcels: MemoryObjectReceiveStream[_Parcel]) -> None:
        with parcels, suppress(WorkerLost):  # the reader of the frames hears of a lost worker too
            async for kind, number, payload in parcels:
                if self._closed:
                    return
                with anyio.move_on_after(self._frame_seconds, shield=True) as scope:
                    await worker.send(kind, number, payload)
                if scope.cancelled_caught:
                    raise SandboxError("The sandbox takes no frames any more.")
