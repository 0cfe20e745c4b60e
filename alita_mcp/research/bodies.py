"""Bounded reader of response bodies, which stops decompression bombs early."""

from __future__ import annotations

import zlib

import httpx

from alita_mcp.errors import UsageError

ENCODINGS = "gzip, deflate"
"""What is asked for: codings that the standard library undoes piece by piece."""
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
_CODINGS = ("", "identity", "gzip", "x-gzip", "deflate")


class Inflater:
    """Streaming decompressor of gzip (of any number of members) and deflate, bounded in bytes."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._has_begun = False

    @property
    def is_whole(self) -> bool:
        """Whether the last member is complete, or nothing came at all."""
        return self._stream.eof or not self._has_begun

    def inflate(self, data: bytes, most: int) -> bytes:
        """Decompresses `data`, cut after `most` bytes; raises zlib.error."""
        whole = bytearray()
        while data and len(whole) < most:
            if self._stream.eof:
                if not data.startswith(b"\x1f\x8b"):
                    break  # padding after the last member
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            room, is_first, self._has_begun = most - len(whole), not self._has_begun, True
            try:
                whole += self._stream.decompress(data, room)
            except zlib.error:
                if not is_first:
                    raise
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)  # deflate without its frame, as some send
                whole += self._stream.decompress(data, room)
            data = self._stream.unused_data
        return bytes(whole)


async def read_body(response: httpx.Response, sender: str, most: int, *, cut: bool = False) -> bytes:
    """The decompressed body; with `cut` only its first `most` bytes. `sender` is how messages name it.

    Raises:
        UsageError: it is larger than `most`, damaged, or in a coding that was not asked for.
    """
    too_large = UsageError(f"{sender} answered with more than {most:,} bytes.")
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in _CODINGS:
        raise UsageError(f"{sender} answered in the coding {coding[:40]!r}, which was not asked for.")
    length = response.headers.get("content-length", "")
    if not cut and length.isdigit() and len(length) < 20 and int(length) > most:
        raise too_large
    inflater = None if coding in ("", "identity") else Inflater()
    body, received = bytearray(), 0
    try:
        async for chunk in response.aiter_raw():
            received += len(chunk)
            body += inflater.inflate(chunk, most + 1 - len(body)) if inflater else chunk
            if len(body) > most or received > most:
                if cut:
                    return bytes(body[:most])
                raise too_large
    except zlib.error as damaged:
        raise UsageError(f"{sender} answered with a damaged {coding} body.") from damaged
    if inflater and not inflater.is_whole:
        raise UsageError(f"{sender} answered with a {coding} body that is cut off.")
    return bytes(body)
