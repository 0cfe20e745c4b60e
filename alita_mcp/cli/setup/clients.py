"""Configuration files of MCP clients, and the shape of our entry in each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import platformdirs

from alita_mcp.errors import UsageError

KEY = "alita"
"""Our name in every client's configuration."""


@dataclass(frozen=True)
class Launch:
    """How a client starts the server."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]

    def as_entry(self) -> dict[str, Any]:
        """The entry that most clients take."""
        entry: dict[str, Any] = {"command": self.command, "args": list(self.args)}
        return {**entry, "env": dict(self.env)} if self.env else entry


class Remote(NamedTuple):
    """Where a client reaches a server that runs already, and the token that it sends."""

    url: str
    token: str


@dataclass(frozen=True)
class Client:
    """One client: its file, what it needs beyond the file, the key that holds the servers, and one entry's shape."""

    title: str
    file: Path
    """Relative to the current folder, or to the home folder where it begins with `~`."""
    afterwards: str
    servers_key: str = "mcpServers"
    entry: Callable[[Launch], dict[str, Any]] = Launch.as_entry
    over_http: tuple[str, str] | None = ("http", "url")
    """Its name for the transport, if it has one, and its key of the URL; None where it takes no server over HTTP."""
    reference: str = ""
    """What stands for ALITA_TOKEN, in a file that belongs to a project and must not hold the token."""
    application: str = ""
    """Name of a desktop application, where `file` is relative to its folder on this platform."""

    def usual_file(self) -> Path:
        """Where the client reads its configuration."""
        if self.application:
            return platformdirs.user_config_path(self.application, appauthor=False, roaming=True) / self.file
        return self.file.expanduser()

    def entry_for(self, server: Launch | Remote) -> dict[str, Any]:
        """Our entry for a server that the client starts, or reaches over HTTP.

        Raises:
            UsageError: it reaches none over HTTP.
        """
        if isinstance(server, Launch):
            return self.entry(server)
        if self.over_http is None:
            raise UsageError(
                f"{self.title} takes no server over HTTP from its file.", hint="Leave out --http."
            )
        transport, key = self.over_http
        entry = {key: server.url, "headers": {"Authorization": f"Bearer {server.token}"}}
        return {"type": transport, **entry} if transport else entry

    def document(self, server: Launch | Remote) -> dict[str, Any]:
        """A whole configuration with nothing but our entry."""
        return {self.servers_key: {KEY: self.entry_for(server)}}


def opencode_entry(launch: Launch) -> dict[str, Any]:
    """The entry for opencode, whose command is one array."""
    entry: dict[str, Any] = {"type": "local", "command": [launch.command, *launch.args], "enabled": True}
    return {**entry, "environment": dict(launch.env)} if launch.env else entry


CLIENTS = {
    "claude-desktop": Client(
        "Claude Desktop",
        Path("claude_desktop_config.json"),
        "Quit Claude Desktop fully, then open it again.",
        over_http=None,
        application="Claude",
    ),
    "claude-code": Client(
        "Claude Code",
        Path(".mcp.json"),
        "This file belongs to the project: start claude in this folder and approve the server when it asks. For "
        "yourself alone, `claude mcp add alita -- COMMAND` needs no approval. `claude -p` can ask its model before "
        "the server is up, without its tools; with `--mcp-config FILE` it waits.",
        reference="${ALITA_TOKEN}",
    ),
    "cursor": Client("Cursor", Path("~/.cursor/mcp.json"), "Restart Cursor.", over_http=("", "url")),
    "vscode": Client(
        "VS Code",
        Path(".vscode/mcp.json"),
        "Open this folder in VS Code, then start the server.",
        "servers",
        lambda launch: {"type": "stdio", **launch.as_entry()},
        reference="${env:ALITA_TOKEN}",
    ),
    "windsurf": Client(
        "Windsurf",
        Path("~/.codeium/windsurf/mcp_config.json"),
        "Refresh the servers in Windsurf's MCP settings.",
        over_http=("", "serverUrl"),
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        Path("~/.gemini/settings.json"),
        "Restart gemini. It starts no server in a folder that it does not trust.",
    ),
    "cline": Client(
        "Cline",
        Path("~/.cline/data/settings/cline_mcp_settings.json"),
        "Restart Cline. Keep `timeout`: without it, Cline gives the server 3 seconds to start, then goes on without "
        "it and does not say so.",
        entry=lambda launch: {"transport": {"type": "stdio", **launch.as_entry()}, "timeout": 60},
        over_http=("streamableHttp", "url"),
    ),
    "copilot-cli": Client("Copilot CLI", Path("~/.copilot/mcp-config.json"), "Restart copilot."),
    "qwen-code": Client(
        "Qwen Code", Path("~/.qwen/settings.json"), "Restart qwen.", over_http=("", "httpUrl")
    ),
    "zed": Client(
        "Zed",
        Path("settings.json" if sys.platform == "win32" else "~/.config/zed/settings.json"),
        "Zed notices by itself.",
        "context_servers",
        lambda launch: {"source": "custom", **launch.as_entry(), "env": dict(launch.env)},
        ("", "url"),
        application="Zed" if sys.platform == "win32" else "",
    ),
    "opencode": Client(
        "opencode",
        Path("opencode.json"),
        "Start opencode in this folder.",
        "mcp",
        opencode_entry,
        ("remote", "url"),
        reference="{env:ALITA_TOKEN}",
    ),
}
"""Clients whose configuration is one JSON file."""

CODEX_AFTERWARDS = (
    "Paste this into ~/.codex/config.toml, then restart codex. Keep `required = true`: without it, Codex asks its "
    "model before the server is up, and the model has none of its tools."
)


def codex_toml(server: Launch | Remote) -> str:
    """Our entry for Codex, whose configuration is TOML; a JSON string is a TOML string."""
    if isinstance(server, Launch):
        lines = [
            f"command = {json.dumps(server.command)}",
            f"args = [{', '.join(map(json.dumps, server.args))}]",
        ]
    else:
        lines = [f"url = {json.dumps(server.url)}", 'bearer_token_env_var = "ALITA_TOKEN"']
    lines += ["required = true", "startup_timeout_sec = 60", "tool_timeout_sec = 120"]
    if isinstance(server, Launch) and server.env:
        pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server.env.items())
        lines.append(f"env = {{ {pairs} }}")
    return "\n".join([f"[mcp_servers.{KEY}]", *lines])
