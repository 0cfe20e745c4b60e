"""A transport that plays the inside of a sandbox from a script: what the host sends is kept, frames come back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anyio

from alita_mcp.sandbox.wire.attestation import Demands
from alita_mcp.sandbox.wire.frames import Kind, encode
from alita_mcp.sandbox.wire.link import Confinement, Worker
from alita_mcp.values import Limits

DEMANDS = Demands(
    memory_bytes=None, processes=None, scratch_bytes=64 << 20, scratch_files=None, engine_filter=False
)
FACTS: dict[str, Any] = {
    "pid": 1,
    "status": {
        "Uid": "65532 65532", "Gid": "65532 65532", "CapInh": "0000", "CapPrm": "0000", "CapEff": "0000",
        "CapBnd": "0000", "CapAmb": "0000", "Seccomp": "2",
    },
    "no_new_privileges": True,
    "interfaces": ["lo"], "root_read_only": True, "scratch_bytes": 64 << 20, "scratch_files": 4096,
    "memory_limit": str(256 << 20), "process_limit": "64", "core_limit": 0,
    "python_tag": "cp311-linux_x86_64",
}  # fmt: skip

Answer = tuple[Kind, int, bytes]


class Played:
    """A transport; the answers follow once an order has arrived, each with the right token unless `token` is given."""

    def __init__(
        self,
        *answers: Answer | bytes,
        hello: Any = FACTS,
        token: bytes | None = None,
        out_of_memory: bool = False,
    ) -> None:
        self.sent = b""
        self.writes = 0
        self.complaints = "it said so"
        self.talkative = False
        """Whether something waits to be received between calls."""
        self._answers = answers
        self._hello = hello
        self._token = token
        self._out_of_memory = out_of_memory
        self._replies = self._play()

    async def send(self, data: bytes) -> None:
        self.sent += data
        self.writes += 1

    async def receive(self) -> bytes:
        reply = next(self._replies, b"")
        if reply == b"hang":
            await anyio.sleep_forever()
        return reply

    def is_silent(self) -> bool:
        return not self.talkative

    @property
    def is_whole(self) -> bool:
        return True

    async def ran_out_of_memory(self, *, ended: bool) -> bool:
        return self._out_of_memory

    def _play(self) -> Iterator[bytes]:
        length, _, rest = self.sent.partition(b"\n")
        options = json.loads(rest[: int(length)])["options"]
        token = bytes.fromhex(options["token"]) if self._token is None else self._token
        if self._hello is not None:
            yield encode(Kind.HELLO, 0, json.dumps(self._hello).encode(), token)
        for answer in self._answers:
            yield answer if isinstance(answer, bytes) else encode(*answer, token)


USUAL = Limits()


async def greeted(played: Played, limits: Limits = USUAL, demands: Demands = DEMANDS) -> Worker:
    worker = Worker(played, limits, Confinement(demands=demands))
    await worker.greet(egress=False)
    return worker


def result(**head: Any) -> Answer:
    return Kind.RESULT, 0, json.dumps({"seconds": 0.1, **head}).encode()
