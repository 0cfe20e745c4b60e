"""A second conversation: a script, a picture, a library tool in code, like scripts, and the tool made of them."""

from __future__ import annotations

import re

from tests.clients.conversation import call_of
from tests.clients.dialects import Calls, Reply, Says, Turn

PICTURE = """\
import struct, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

rows = b"".join(b"\\0" + bytes(255 * (x // 8 == y // 8) for x in range(64)) for y in range(64))
head = struct.pack(">IIBBBBB", 64, 64, 8, 0, 0, 0, 0)
b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
"""
WITH_TOOL = """\
from alita_tools import convert_units
[round(convert_units(miles, "mi", "km"), 1) for miles in (1, 26.2, 100)]
"""
LIKE = """\
prices = {prices}
rate = {rate}
[round(price * (1 - rate), 2) for price in prices]
"""
VALUES = (([10.0, 20.0], 0.5), ([3.5], 0.1), ([8.0, 1.25, 4.0], 0.25))
STEPS = (PICTURE, WITH_TOOL, *(LIKE.format(prices=prices, rate=rate) for prices, rate in VALUES))
PNG = "iVBORw0KGgo"
"""How a PNG begins in base64."""
TOOL = "discounted_prices"
NEED = "reduce a list of prices by a discount rate"
PROMPT = (
    "Draw a square, convert three distances, reduce prices by a rate three times, and keep that as a tool."
)


def growing(turn: Turn) -> Reply:
    """Runs the steps one after the other, then asks for the tool of the last three."""
    runs = turn.shown("run_code")
    if turn.shown("synthesize_tool"):
        return Says("done")
    if len(runs) < len(STEPS):
        return call_of(turn, "run_code", {"code": STEPS[len(runs)]})
    ids = re.findall(r"\b[0-9a-f]{32}\b", runs[-1][runs[-1].index("keep") :])[:3]
    words = {"from_run": ids, "name": TOOL, "description": "Reduces prices by a discount rate."}
    if turn.offered("synthesize_tool") or "ToolSearch" in turn.tools:
        return call_of(turn, "synthesize_tool", words)
    return Calls("synthesize_tool", words)
