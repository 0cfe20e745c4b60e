"""Running servers of a home, as `alita status` shows them and `alita stop` ends them."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_mcp.errors import UsageError
from alita_mcp.server.transports.local.endpoint import Endpoint, Refused, connect, endpoints
from alita_mcp.server.transports.local.launcher import START_WITHIN_S, Launcher

STOP_WITHIN_S = 5.0


def find_endpoints(home: Path, besides: Collection[str] = ()) -> list[tuple[Endpoint, dict[str, Any]]]:
    """The endpoints at which servers of a home listen; none of the names `besides`.

    With each, what its server says of itself (`LocalClients.describe`), or the `problem` of one that does not.
    """
    found: list[tuple[Endpoint, dict[str, Any]]] = []
    try:
        known = [endpoint for endpoint in endpoints() if endpoint.name not in besides]
    except (OSError, Refused):  # nothing can be shared
        return found
    for endpoint in known:
        try:
            with connect(endpoint, "status").socket as link, link.makefile("rb") as answer:
                server = json.loads(answer.readline())
        except (ConnectionError, FileNotFoundError):  # it was killed
            continue
        except (OSError, Refused, ValueError) as problem:
            server = {"problem": f"{endpoint.address} does not answer: {problem}"}
        if server.get("home", str(home)) == str(home):
            found.append((endpoint, server))
    return found


def stop_servers(home: Path) -> list[dict[str, Any]]:
    """Ends the servers of a home; returns what each said of itself, or the `problem` of one that did not end."""
    found = find_endpoints(home)
    for endpoint, server in found:
        if "problem" in server:
            continue
        with suppress(ConnectionError, FileNotFoundError):  # it ended meanwhile
            try:
                with connect(endpoint, "stop").socket as link:
                    link.settimeout(STOP_WITHIN_S)
                    link.recv(1)  # the end of the connection
            except (TimeoutError, Refused) as problem:
                server["problem"] = f"server {server['pid']} did not end: {problem}"
    return [server for _, server in found]


def ask_for_link(endpoint: Endpoint, port: int) -> str:
    """A link to the pages of the server of an endpoint, which is started where none runs.

    Raises:
        OSError, Refused: no server can be shared.
        UsageError: it has no pages to show.
    """
    with Launcher(endpoint, "ui").wait_for_server() as link:
        link.settimeout(START_WITHIN_S)
        link.sendall(json.dumps({"port": port}).encode() + b"\n")
        with link.makefile("rb") as lines:
            answer = json.loads(lines.readline() or b"{}")
    if "url" not in answer:
        problem = answer.get("problem", "The server ended before it answered.")
        raise UsageError(problem, hint=answer.get("hint", ""))
    return str(answer["url"])


def describe_server(server: dict[str, Any]) -> list[str]:
    """A server and its clients, in lines for a person."""
    if "problem" in server:
        return [f"✗ {server['problem']}"]
    megabytes = f"{server['memory_bytes'] / 1e6:.0f} MB" if server["memory_bytes"] else "unknown memory"
    lines = [
        f"server {server['pid']}, version {server['version']}, {megabytes}, since {_time(server['since'])}"
    ]
    lines += [
        f"  {client['name'] or 'a client'} (process {client['pid']}), since {_time(client['since'])}"
        for client in server["clients"]
    ]
    if not server["clients"]:
        lines[0] += ", no clients"
    return lines


def _time(unix_time: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_time))
