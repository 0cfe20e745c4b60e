"""Check of PNG data that clients are to show.

A picture that a model's interface refuses stays in the conversation, and every later request fails with it.
"""

from __future__ import annotations

import struct
import zlib

MAX_SIDE = 8_000
"""Pixels; what the widest interface takes."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_PASSES = ((8, 8), (8, 8), (4, 8), (4, 4), (2, 4), (2, 2), (1, 2))
"""Of Adam7: how many columns and rows there are to a pixel of each pass."""
_STARTS = ((0, 0), (4, 0), (0, 4), (2, 0), (0, 2), (1, 0), (0, 1))
_PIECE = 1 << 20


def png_problem(data: bytes) -> str:
    """Problem of a PNG that cannot be shown; empty where there is none. See the PNG specification, sections 5 to 11."""
    try:
        chunks = list(_chunks(data))
        kinds = [kind for kind, _ in chunks]
        if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or b"IDAT" not in kinds:
            return "parts are missing"
        header: tuple[int, ...] = struct.unpack(">IIBBBBB", chunks[0][1])
        width, height, depth, colour, *_, interlaced = header
        if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
            return f"{width} x {height} pixels, at most {MAX_SIDE} a side are shown"
        if colour == 3 and b"PLTE" not in kinds:
            return "its palette is missing"
        bits = depth * _CHANNELS[colour]
        wanted = _size(width, height, bits, interlaced=bool(interlaced))
        found = _inflated(b"".join(part for kind, part in chunks if kind == b"IDAT"), wanted)
    except (ValueError, KeyError, struct.error, zlib.error) as problem:
        return f"it is damaged ({type(problem).__name__})"
    return "" if found == wanted else "pixels are missing"


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    if not data.startswith(_SIGNATURE):
        raise ValueError("no signature")
    found, place = [], len(_SIGNATURE)
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        body = data[place + 8 : place + 8 + length]
        if struct.unpack_from(">I", data, place + 8 + length)[0] != zlib.crc32(kind + body):
            raise ValueError("checksum")
        found.append((kind, body))
        place += length + 12
    return found


def _size(width: int, height: int, bits: int, *, interlaced: bool) -> int:
    """Bytes of the pixels: each row begins with one that names its filter."""
    if not interlaced:
        return height * (1 + (width * bits + 7) // 8)
    total = 0
    for (across, down), (left, top) in zip(_PASSES, _STARTS, strict=True):
        columns, rows = -(-(width - left) // across), -(-(height - top) // down)
        total += rows * (1 + (columns * bits + 7) // 8) if columns > 0 else 0
    return total


def _inflated(data: bytes, enough: int) -> int:
    """How many bytes come out, counted in pieces and no further than needed."""
    stream, total = zlib.decompressobj(), 0
    while total <= enough and not stream.eof:
        piece = stream.decompress(data, _PIECE)
        data = stream.unconsumed_tail
        total += len(piece)
        if not piece and not data:
            break
    return total
