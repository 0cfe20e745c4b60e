"""Bounded reader of response bodies, which stops decompression bombs early."""

from __future__ import annotations

import zlib

import httpx

from alita_mcp.errors import UsageError
from alita_mcp.research.fetching.urls import shown

ENCODINGS = "gzip, deflate"
"""What is asked for: codings that the standard library undoes piece by piece."""
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_KNOWN = ("", "identity", "gzip", "x-gzip", "deflate")


class Inflater:
    """Streaming decompressor of gzip (of any number of members) and deflate, bounded in bytes."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._begun = False

    @property
    def is_whole(self) -> bool:
        """Whether the last member is complete, or nothing came at all."""
        return self._stream.eof or not self._begun

    def inflate(self, data: bytes, most: int) -> bytes:
        """Decompresses `data`, cut after `most` bytes; raises zlib.error."""
        whole = bytearray()
        while data and len(whole) < most:
            if self._stream.eof:
                if not data.startswith(b"\x1f\x8b"):
                    break  # padding after the last member
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            whole += self._unpacked(data, most - len(whole))
            data = self._stream.unused_data
        return bytes(whole)

    def _unpacked(self, data: bytes, most: int) -> bytes:
        begun, self._begun = self._begun, True
        try:
            return self._stream.decompress(data, most)
        except zlib.error:
            if begun:
                raise
            # deflate without its frame, as some servers send
            self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
            return self._stream.decompress(data, most)


async def read_body(response: httpx.Response, most: int, *, cut: bool = False) -> bytes:
    """The decompressed body; with `cut` only its first `most` bytes.

    Raises:
        UsageError: it is larger than `most`, damaged, or in a coding that was not asked for.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in _KNOWN:
        raise UsageError(f"{shown(response.url)} is encoded as {coding[:40]!r}, which was not asked for.")
    inflater = None if coding in ("", "identity") else Inflater()
    body, came = bytearray(), 0
    try:
        async for chunk in response.aiter_raw():
            came += len(chunk)
            body += inflater.inflate(chunk, most + 1 - len(body)) if inflater else chunk
            if len(body) > most or came > most:
                if cut:
                    return bytes(body[:most])
                raise UsageError(f"{shown(response.url)} is larger than {most:,} bytes.")
    except zlib.error as damaged:
        raise UsageError(f"{shown(response.url)} came with a damaged {coding} body.") from damaged
    if inflater and not inflater.is_whole:
        raise UsageError(f"{shown(response.url)} came with a {coding} body that is cut off.")
    return bytes(body)
