"""Running servers of a home, as `alita status` shows them and `alita stop` ends them."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from alita_mcp.server.transports.local.endpoint import Endpoint, Refused, connect, endpoints

STOP_WITHIN_S = 5.0


def find_servers(home: Path) -> list[dict[str, Any]]:
    """What each server of a home says of itself (`LocalClients.describe`), or the `problem` of one that does not."""
    return [server for _, server in _find_servers(home)]


def _find_servers(home: Path) -> list[tuple[Endpoint, dict[str, Any]]]:
    found: list[tuple[Endpoint, dict[str, Any]]] = []
    try:
        known = list(endpoints())
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
    found = _find_servers(home)
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
    return lines if server["clients"] else [f"{lines[0]}, no clients"]


def _time(unix_time: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(unix_time))
