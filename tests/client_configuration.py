"""Configuration of a client with nothing but this server in it."""

from __future__ import annotations

from typing import Any

from alita_mcp.clients.table import KEY, Client, Launch, Remote


def configuration(client: Client, server: Launch | Remote) -> dict[str, Any]:
    """The whole content of the client's file."""
    return {client.servers_key: {KEY: client.entry_for(server)}}
