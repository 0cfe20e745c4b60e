"""Early responses to `initialize` and `server/discover`, with the standard library alone, before the SDK is loaded.

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
MODERN = "2026-07-28"
"""The protocol version without a handshake: its clients begin with `server/discover`."""
WAIT_S = 0.05
"""How long a client may take to write its first line; one that takes longer is answered by the SDK."""
MAX_LINE = 65_536
CAPABILITIES: dict[str, Any] = {
    "logging": {},
    "resources": {"listChanged": True, "subscribe": True},
    "tools": {"listChanged": True},
}
EXTENSIONS: dict[str, Any] = {"io.modelcontextprotocol/tasks": {}}
_SERVER = {"name": "alita", "title": "alita", "version": __version__}
_META = "io.modelcontextprotocol/"


class Greeting(NamedTuple):
    """Greeting of a client: what was read before the server was there, and the early response."""

    read: bytes = b""
    """The server reads it first."""
    answered: int | str | None = None
    """The id of the request that has its answer."""


NO_GREETING = Greeting()


def greet(reads: int, writes: int) -> Greeting:
    """Responds to a client's first line, if it is one of the two in plain words; all else waits for the server."""
    mode = os.fstat(reads).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return Greeting()
    if not select.select([reads], [], [], WAIT_S)[0]:
        return Greeting()
    read = os.read(reads, MAX_LINE)
    line, end, _ = read.partition(b"\n")
    response = _response_to(line) if end else None
    if response is None:
        return Greeting(read)
    try:
        os.write(writes, json.dumps(response, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    except OSError:  # the reader is gone: the server finds that out, too
        return Greeting(read)
    return Greeting(read, response["id"])


def initialized(asked: str) -> dict[str, Any]:
    """The result of `initialize`, as the server gives it to a client that asks for a protocol version."""
    return {
        "capabilities": CAPABILITIES,
        "instructions": INSTRUCTIONS,
        "protocolVersion": asked if asked in HANDSHAKES else HANDSHAKES[-1],
        "serverInfo": _SERVER,
    }


def discovered() -> dict[str, Any]:
    """The result of `server/discover`, as the server gives it."""
    return {
        "cacheScope": "private",
        "capabilities": {**CAPABILITIES, "extensions": EXTENSIONS},
        "instructions": INSTRUCTIONS,
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "ttlMs": 0,
        "_meta": {f"{_META}serverInfo": _SERVER},
    }


def _response_to(line: bytes) -> dict[str, Any] | None:
    """The response to a request that the SDK would surely take."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("jsonrpc") != "2.0" or type(said.get("id")) not in (int, str):
        return None
    params = said.get("params")
    if not isinstance(params, dict):
        return None
    result = None
    if said.get("method") == "initialize" and _is_plain_initialize(params):
        result = initialized(params["protocolVersion"])
    elif said.get("method") == "server/discover" and _is_plain_discover(params):
        result = discovered()
    return result and {"jsonrpc": "2.0", "id": said["id"], "result": result}


def _is_plain_initialize(params: dict[str, Any]) -> bool:
    version, capabilities = params.get("protocolVersion"), params.get("capabilities")
    plain = (
        isinstance(version, str) and _is_client(params.get("clientInfo")) and _are_capabilities(capabilities)
    )
    return plain and not params.get("_meta")


def _is_plain_discover(params: dict[str, Any]) -> bool:
    meta = params.get("_meta")
    if (
        set(params) != {"_meta"}
        or not isinstance(meta, dict)
        or meta.get(f"{_META}protocolVersion") != MODERN
    ):
        return False
    return _is_client(meta.get(f"{_META}clientInfo")) and _are_capabilities(
        meta.get(f"{_META}clientCapabilities")
    )


def _is_client(client: Any) -> bool:
    return isinstance(client, dict) and all(isinstance(client.get(word), str) for word in ("name", "version"))


def _are_capabilities(capabilities: Any) -> bool:
    return isinstance(capabilities, dict) and all(isinstance(each, dict) for each in capabilities.values())
