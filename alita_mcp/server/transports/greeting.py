"""Early responses to `initialize` and `server/discover`, with the standard library alone, before the SDK is loaded.

Loading the SDK takes most of a start, seconds on a busy machine, and some clients give a server three and then drop it
without a word. The server reads the same request again once it is there, and its response, the same, is not sent.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alita_mcp import __version__
from alita_mcp.server.instructions import instructions

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol versions that begin with `initialize`; a client that asks for any other gets the last."""
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

Id = int | str


def greet(reads: int, writes: int, environment: Mapping[str, str]) -> tuple[bytes, Id | None]:
    """Responds to a client's first line, if it is one of the two in plain words; all else waits for the server.

    Returns what was read, which is for the server, and the id of the request that has its response. `environment` names
    the home, whose domains the instructions name.
    """
    mode = os.fstat(reads).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return b"", None
    if not select.select([reads], [], [], WAIT_S)[0]:
        return b"", None
    read = os.read(reads, MAX_LINE)
    line, end, _ = read.partition(b"\n")
    response = _early_response(line, find_home(environment)) if end else None
    if response is None:
        return read, None
    try:
        os.write(writes, json.dumps(response, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    except OSError:  # the reader is gone: the server finds that out, too
        return read, None
    return read, response["id"]


def find_home(environment: Mapping[str, str]) -> Path:
    """The home of these settings, as `Settings.home`, which is slow to load."""
    data = environment.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_DATA_HOME") or "~/.local/share"
    if sys.platform == "darwin":
        data = "~/Library/Application Support"
    home = next((value for name, value in environment.items() if name.upper() == "ALITA_HOME" and value), "")
    home = home or os.path.join(data, "alita-mcp")  # noqa: PTH118
    return Path(os.path.expanduser(home))  # noqa: PTH111 - it does not raise where nobody has a home folder


def initialize_result(version: str, home: Path) -> dict[str, Any]:
    """The result of `initialize`, as the server gives it to a client that asks for a protocol version."""
    return {
        "capabilities": CAPABILITIES,
        "instructions": instructions(home),
        "protocolVersion": version if version in HANDSHAKES else HANDSHAKES[-1],
        "serverInfo": _SERVER,
    }


def discover_result(home: Path) -> dict[str, Any]:
    """The result of `server/discover`, as the server gives it."""
    return {
        "cacheScope": "private",
        "capabilities": {**CAPABILITIES, "extensions": EXTENSIONS},
        "instructions": instructions(home),
        "resultType": "complete",
        "supportedVersions": [MODERN],
        "ttlMs": 0,
        "_meta": {f"{_META}serverInfo": _SERVER},
    }


def _early_response(line: bytes, home: Path) -> dict[str, Any] | None:
    """The response to a request that the SDK would surely take; None leaves the request to it."""
    try:
        match json.loads(line):
            case {
                "jsonrpc": "2.0",
                "id": int() | str() as number,
                "method": "initialize",
                "params": {
                    "protocolVersion": str() as version,
                    "clientInfo": client,
                    "capabilities": able,
                } as params,
            } if not params.get("_meta"):
                result = initialize_result(version, home)
            case {
                "jsonrpc": "2.0",
                "id": int() | str() as number,
                "method": "server/discover",
                "params": {"_meta": dict() as meta, **others},
            } if meta.get(f"{_META}protocolVersion") == MODERN and not others:
                client, able = meta.get(f"{_META}clientInfo"), meta.get(f"{_META}clientCapabilities")
                result = discover_result(home)
            case _:
                return None
    except (ValueError, RecursionError):
        return None
    is_client = isinstance(client, dict) and all(
        isinstance(client.get(key), str) for key in ("name", "version")
    )
    is_able = isinstance(able, dict) and all(isinstance(each, dict) for each in able.values())
    if not is_client or not is_able or isinstance(number, bool):
        return None
    return {"jsonrpc": "2.0", "id": number, "result": result}
