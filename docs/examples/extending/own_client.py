"""Example of a client: where it keeps its configuration, and what the server's entry looks like in it."""

from __future__ import annotations

from typing import Any

from alita_mcp.clients.table import Client, Launch


def _entry(launch: Launch) -> dict[str, Any]:
    """The client wants one command line as a list, and variables as a list of pairs."""
    return {
        "exec": [launch.command, *launch.args],
        "variables": [{"name": name, "value": value} for name, value in launch.env.items()],
    }


OWN = Client(
    name="example-agent",
    title="Example Agent",
    file="~/.config/example-agent/servers.json",
    servers_key="servers",
    entry=_entry,
    afterwards="Restart Example Agent.",
)
"""Goes into the table of `alita_mcp/clients/table.py`."""
