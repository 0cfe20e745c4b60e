"""Configuration files of MCP clients, and the shape of our entry in each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

KEY = "alita"
"""Our name in every client's configuration."""


@dataclass(frozen=True)
class Launch:
    """How a client starts the server."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]


@dataclass(frozen=True)
class Client:
    """One client: its file, the key that holds the servers, and the shape of one entry."""

    title: str
    file: Callable[[], Path]
    servers_key: str
    entry: Callable[[Launch], dict[str, Any]]
    afterwards: str
    """What the client needs beyond the file."""

    def document(self, launch: Launch) -> dict[str, Any]:
        """A whole configuration with nothing but our entry."""
        return {self.servers_key: {KEY: self.entry(launch)}}


def _plain(launch: Launch) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": launch.command, "args": list(launch.args)}
    return {**entry, "env": dict(launch.env)} if launch.env else entry


def _typed(launch: Launch) -> dict[str, Any]:
    return {"type": "stdio", **_plain(launch)}


def _zed(launch: Launch) -> dict[str, Any]:
    return {"source": "custom", **_plain(launch), "env": dict(launch.env)}


def _cline(launch: Launch) -> dict[str, Any]:
    return {"transport": _typed(launch), "timeout": 60}


def _opencode(launch: Launch) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": [launch.command, *launch.args], "enabled": True}
    return {**entry, "environment": dict(launch.env)} if launch.env else entry


def _at(path: str) -> Callable[[], Path]:
    return lambda: Path(path).expanduser()


def _claude_desktop_file() -> Path:
    folder = platformdirs.user_config_path("Claude", appauthor=False, roaming=True)
    return folder / "claude_desktop_config.json"


def _zed_file() -> Path:
    if sys.platform == "win32":
        return platformdirs.user_config_path("Zed", appauthor=False, roaming=True) / "settings.json"
    return Path("~/.config/zed/settings.json").expanduser()


CLIENTS = {
    "claude-desktop": Client(
        "Claude Desktop",
        _claude_desktop_file,
        "mcpServers",
        _plain,
        "Quit Claude Desktop fully and open it again.",
    ),
    "claude-code": Client(
        "Claude Code",
        _at(".mcp.json"),
        "mcpServers",
        _plain,
        "A project's file: start claude in this folder and approve the server when it asks. For yourself alone, "
        "`claude mcp add alita -- COMMAND` needs no approval. `claude -p` can ask its model before the server is "
        "up, and then has no tool of it; with `--mcp-config FILE` it waits.",
    ),
    "cursor": Client("Cursor", _at("~/.cursor/mcp.json"), "mcpServers", _plain, "Restart Cursor."),
    "vscode": Client(
        "VS Code",
        _at(".vscode/mcp.json"),
        "servers",
        _typed,
        "Open this folder in VS Code; start the server.",
    ),
    "windsurf": Client(
        "Windsurf",
        _at("~/.codeium/windsurf/mcp_config.json"),
        "mcpServers",
        _plain,
        "Refresh the servers in Windsurf's MCP settings.",
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        _at("~/.gemini/settings.json"),
        "mcpServers",
        _plain,
        "Restart gemini. In a folder that it does not trust it starts no server.",
    ),
    "cline": Client(
        "Cline",
        _at("~/.cline/data/settings/cline_mcp_settings.json"),
        "mcpServers",
        _cline,
        "Restart Cline. Keep `timeout`: without it Cline gives the server 3 seconds to start, then goes on without "
        "it and does not say so.",
    ),
    "copilot-cli": Client(
        "Copilot CLI", _at("~/.copilot/mcp-config.json"), "mcpServers", _plain, "Restart copilot."
    ),
    "qwen-code": Client("Qwen Code", _at("~/.qwen/settings.json"), "mcpServers", _plain, "Restart qwen."),
    "zed": Client("Zed", _zed_file, "context_servers", _zed, "Zed notices by itself."),
    "opencode": Client("opencode", _at("opencode.json"), "mcp", _opencode, "Start opencode in this folder."),
}
"""Clients whose configuration is one JSON file."""


CODEX_AFTERWARDS = (
    "Paste this into ~/.codex/config.toml, then restart codex. Keep `required = true`: without it Codex asks its model "
    "before the server is up, and the model has no tool of it."
)


def codex_toml(launch: Launch) -> str:
    """Our entry for Codex, whose configuration is TOML; a JSON string is a TOML string."""
    quoted = [json.dumps(word) for word in (launch.command, *launch.args)]
    lines = [
        f"[mcp_servers.{KEY}]",
        f"command = {quoted[0]}",
        f"args = [{', '.join(quoted[1:])}]",
        "required = true",
        "startup_timeout_sec = 60",
        "tool_timeout_sec = 120",
    ]
    if launch.env:
        pairs = ", ".join(f"{name} = {json.dumps(value)}" for name, value in launch.env.items())
        lines.append(f"env = {{ {pairs} }}")
    return "\n".join(lines)
