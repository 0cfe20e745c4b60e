"""Answers `initialize` before the SDK is loaded, with the standard library alone.

Loading the SDK takes most of a start, seconds on a busy machine, and some clients give a server three and then drop it
without a word. The server reads the same request again once it is there, and its answer, the same, stays here.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
from typing import Any, NamedTuple

from alita_mcp import __version__
from alita_mcp.server.instructions import INSTRUCTIONS

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`; the last answers any other."""
WAIT_S = 0.05
"""How long a client may take to write its first line; one that takes longer is answered by the SDK."""
MAX_LINE = 65_536
CAPABILITIES: dict[str, Any] = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}


class Greeting(NamedTuple):
    """What was read of the client before the server was there, and what it was told."""

    read: bytes = b""
    """The server reads it first."""
    answered: int | str | None = None
    """The id of the request that has its answer."""


NO_GREETING = Greeting()


def greet(reads: int, writes: int) -> Greeting:
    """Answers the first line that a client writes, if it is a plain `initialize`; all else waits for the server."""
    mode = os.fstat(reads).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return Greeting()
    if not select.select([reads], [], [], WAIT_S)[0]:
        return Greeting()
    read = os.read(reads, MAX_LINE)
    line, end, _ = read.partition(b"\n")
    request = _plain_initialize(line) if end else None
    if request is None:
        return Greeting(read)
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": result_for(request["params"])}
    try:
        os.write(writes, json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    except OSError:  # nobody reads any more: the server finds that out, too
        return Greeting(read)
    return Greeting(read, request["id"])


def result_for(params: dict[str, Any]) -> dict[str, Any]:
    """The result of `initialize`, as the server gives it."""
    asked = params["protocolVersion"]
    return {
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "protocolVersion": asked if asked in HANDSHAKES else HANDSHAKES[-1],
        "serverInfo": {"name": "alita", "title": "alita", "version": __version__},
    }


def _plain_initialize(line: bytes) -> dict[str, Any] | None:
    """The request, if the SDK would surely take it."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("jsonrpc") != "2.0" or said.get("method") != "initialize":
        return None
    params, number = said.get("params"), said.get("id")
    if type(number) not in (int, str) or not isinstance(params, dict):
        return None
    client, capabilities = params.get("clientInfo"), params.get("capabilities")
    if not isinstance(params.get("protocolVersion"), str) or not isinstance(client, dict):
        return None
    named = isinstance(client.get("name"), str) and isinstance(client.get("version"), str)
    plain = isinstance(capabilities, dict) and all(isinstance(each, dict) for each in capabilities.values())
    return said if named and plain and not params.get("_meta") else None
