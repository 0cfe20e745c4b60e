"""Pictures for tests: sizes in, PNG out."""

from __future__ import annotations

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    width: int = 3, height: int = 2, *, pixels: bytes | None = None, interlaced: int = 0, colour: int = 2
) -> bytes:
    """A black PNG of 8 bits a channel."""
    channels = {0: 1, 2: 3, 3: 1}[colour]
    pixels = bytes((1 + channels * width) * height) if pixels is None else pixels
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, interlaced)
    body = chunk(b"IDAT", zlib.compress(pixels))
    return SIGNATURE + chunk(b"IHDR", header) + body + chunk(b"IEND", b"")
