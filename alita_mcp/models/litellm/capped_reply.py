"""HTTP transport that ends replies of a server before they fill the memory; imported with litellm."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

MAX_REPLY_BYTES = 16 << 20
"""No answer of a model comes near."""
MAX_COMPRESSED_BYTES = 64 << 10
"""Compression was not asked for, and could make a thousand bytes of one."""
_ENCODINGS = ("identity", "gzip", "deflate")


class ReplyTooLarge(httpx.TransportError):
    """Failure of a server that sent more than any answer of a model holds."""


async def capped(response: httpx.Response) -> None:
    """Sees to it that the reply ends in time when it is read; to be called once its headers are there.

    Raises:
        ReplyTooLarge: it is compressed in a way that bounds nothing.
    """
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in _ENCODINGS:
        raise ReplyTooLarge(f"the reply is compressed ({encoding[:20]}), which was not asked for")
    limit = MAX_REPLY_BYTES if encoding == "identity" else MAX_COMPRESSED_BYTES
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Capped(response.stream, limit)


class _Capped(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._inner:
            received += len(chunk)
            if received > self._limit:
                raise ReplyTooLarge(f"the reply is larger than {self._limit >> 10} kB")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
