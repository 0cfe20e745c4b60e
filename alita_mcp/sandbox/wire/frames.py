"""Frame codec of the wire, used on both sides. Standard library only: it runs inside too.

A frame is `[token] kind(1) stream(4) length(4) payload`; the token stands only before frames towards the host.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

TOKEN_BYTES = 16
MAX_PAYLOAD = 1 << 20
CHUNK = 256 << 10
"""Size of the pieces that long payloads travel in."""
WINDOW = 256 << 10
"""Credit of a stream at its start: bytes that may be under way in one direction."""

_HEADER = struct.Struct(">BII")


class Kind(IntEnum):
    """What a frame carries; the stream number is 0 where none is named."""

    HELLO = 1
    """Inside → host: the attestation, JSON."""
    PAYLOAD = 2
    """Host → inside: a piece of what the next LOAD or CALL works on."""
    CALL = 3
    """Host → inside: call the loaded function with the arguments of the PAYLOAD before; JSON."""
    OUTPUT = 5
    """Inside → host: a piece of what the child wrote; stream 1 is stdout, 2 is stderr."""
    CHUNK = 6
    """Inside → host: a piece of the result."""
    RESULT = 7
    """Inside → host: how a call ended, JSON."""
    OPEN = 8
    """Inside → host: a client connected to the proxy; the stream number is new."""
    DATA = 9
    """Both ways: bytes of a stream."""
    END = 10
    """Both ways: no more bytes in this direction."""
    RESET = 11
    """Both ways: the stream is gone."""
    CREDIT = 12
    """Both ways: the receiver consumed so many bytes of a stream, a number of four bytes."""
    LOAD = 13
    """Host → inside: import the code of the PAYLOAD before once, for all calls that follow; JSON."""
    LOADED = 14
    """Inside → host: how that went, JSON."""
    CLEAN = 15
    """Inside → host, after RESULT: whether nothing is left of the call, JSON; until then no other call may come."""
    ASK = 16
    """Inside → host, during a call: a request of `alita_tool`, JSON; the stream counts them from 1."""
    ANSWER = 17
    """Host → inside: the answer to the ASK or NETWORK of that number, JSON."""
    NETWORK = 18
    """Inside → host, during a call in the embedded sandbox: a question about an HTTP request, JSON; numbered as ASK."""
    PACKAGES = 19
    """Host → inside: keep the PAYLOAD before as the packages of the LOADs that follow; JSON."""


class Frame(NamedTuple):
    """One message of the wire."""

    kind: Kind
    stream: int
    payload: bytes


class FrameError(ValueError):
    """Error: the bytes are not a frame; their writer is not trusted any more."""


def encode(kind: Kind, stream: int = 0, payload: bytes = b"", token: bytes = b"") -> bytes:
    """A frame as bytes.

    Raises:
        FrameError: the payload is longer than `MAX_PAYLOAD`.
    """
    if len(payload) > MAX_PAYLOAD:
        raise FrameError(f"a payload of {len(payload)} bytes is longer than {MAX_PAYLOAD}")
    return token + _HEADER.pack(kind, stream, len(payload)) + payload


def pieces(payload: bytes) -> Iterator[bytes]:
    """A long payload in pieces of at most `CHUNK` bytes."""
    view = memoryview(payload)
    for start in range(0, len(view), CHUNK):
        yield bytes(view[start : start + CHUNK])


class Decoder:
    """Takes bytes as they arrive and gives the frames that are complete."""

    def __init__(self, token: bytes = b"") -> None:
        self._token = token
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Complete frames.

        Raises:
            FrameError: no token, an unknown kind or a payload that is too long.
        """
        self._buffer += data
        start = len(self._token)
        while len(self._buffer) >= start + _HEADER.size:
            if self._buffer[:start] != self._token:
                raise FrameError("a frame without the token: somebody else writes on the wire")
            number, stream, length = _HEADER.unpack_from(self._buffer, start)
            try:
                kind = Kind(number)
            except ValueError as unknown:
                raise FrameError(f"no frame has the number {number}") from unknown
            if length > MAX_PAYLOAD:
                raise FrameError(f"a payload of {length} bytes is longer than {MAX_PAYLOAD}")
            body = start + _HEADER.size
            if len(self._buffer) < body + length:
                return
            payload = bytes(self._buffer[body : body + length])
            del self._buffer[: body + length]
            yield Frame(kind, stream, payload)
