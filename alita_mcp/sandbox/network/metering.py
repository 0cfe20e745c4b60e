"""Network limits of one call: a budget of bytes, and a stream that counts them."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from anyio.abc import ByteStream

from alita_mcp.sandbox.interface import EgressRefused


class ByteBudget:
    """Budget of the bytes that all connections of one call may move, both ways together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit

    @property
    def limit_message(self) -> str:
        """Message for the tool's author once nothing is left; empty before."""
        return f"more than {self._limit} bytes over the network (network_bytes)" if self._left < 0 else ""

    def spend(self, count: int) -> None:
        """Takes bytes out of the budget.

        Raises:
            EgressRefused: there are not so many left.
        """
        self._left -= count
        self.check()

    def check(self) -> None:
        """Refuses when nothing is left.

        Raises:
            EgressRefused: nothing is left.
        """
        if self.limit_message:
            raise EgressRefused(403, self.limit_message)


class MeteredStream(ByteStream):
    """Connection whose bytes are taken out of a budget; `on_close` gets the moved bytes once."""

    def __init__(
        self, inner: ByteStream, budget: ByteBudget, on_close: Callable[[MeteredStream], None]
    ) -> None:
        self.bytes_out = 0
        self.bytes_in = 0
        self._inner = inner
        self._budget = budget
        self._on_close = on_close
        self._open = True

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """The next bytes; EgressRefused when they are more than the budget allows."""
        data = await self._inner.receive(max_bytes)
        self.bytes_in += len(data)
        self._budget.spend(len(data))
        return data

    async def send(self, item: bytes) -> None:
        """Sends bytes; EgressRefused before any of them is sent when they are more than the budget allows."""
        self._budget.spend(len(item))
        self.bytes_out += len(item)
        await self._inner.send(item)

    async def send_eof(self) -> None:
        """Says that nothing more follows."""
        await self._inner.send_eof()

    async def aclose(self) -> None:
        """Closes the connection, also while being cancelled."""
        if self._open:
            self._open = False
            self._on_close(self)
        with anyio.CancelScope(shield=True):
            await self._inner.aclose()
