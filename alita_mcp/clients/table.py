"""MCP clients: the configuration file of each, and the shape of our entry in it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import platformdirs

from alita_mcp.errors import UsageError

KEY = "alita"
"""Our name in every client's configuration."""
PLUGIN = "claude-code-plugin"
"""Claude Code with the server as a plugin, which brings a skill and hooks."""


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

    def as_entry(self, **kind: str) -> dict[str, Any]:
        """The entry that most clients take, after what names the kind of transport."""
        return {**kind, "url": self.url, "headers": self.headers}

    @property
    def headers(self) -> dict[str, str]:
        """What is sent with each request."""
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True)
class Client:
    """One client: its file, what it needs beyond the file, the key that holds the servers, and one entry's shape."""

    name: str
    """As `alita install` takes it; also its program on PATH, unless `program` names another."""
    title: str
    file: str
    """Relative to the current folder, or to the home folder where it begins with `~`."""
    afterwards: str
    servers_key: str = "mcpServers"
    entry: Callable[[Launch], dict[str, Any]] = Launch.as_entry
    remote_entry: Callable[[Remote], dict[str, Any]] | None = lambda remote: remote.as_entry(type="http")
    """None where it takes no server over HTTP from its file."""
    reference: str = ""
    """What stands for ALITA_TOKEN, in a file that belongs to a project and must not hold the token."""
    application: str = ""
    """Name of a desktop application, where `file` is relative to its folder on this platform."""
    program: str = ""
    folder: str = ""
    """A folder that shows that it is on this machine; unset: that of its file."""
    format: Literal["json", "toml", "yaml"] = "json"

    @property
    def is_project_file(self) -> bool:
        """Whether the file belongs to the project in the current folder, not to the person."""
        return not self.application and not self.file.startswith("~")

    def usual_file(self) -> Path:
        """Where the client reads its configuration."""
        if self.application:
            return platformdirs.user_config_path(self.application, appauthor=False, roaming=True) / self.file
        return Path(self.file).expanduser()

    def home(self) -> Path:
        """The folder that shows that it is on this machine."""
        return Path(self.folder or self.usual_file().parent).expanduser().absolute()

    def is_here(self) -> bool:
        """Whether the client is on this machine: its folder is, or its program."""
        return self.home().is_dir() or shutil.which(self.program or self.name) is not None

    def entry_for(self, server: Launch | Remote) -> dict[str, Any]:
        """Our entry for a server that the client starts, or reaches over HTTP.

        Raises:
            UsageError: it reaches none over HTTP.
        """
        if isinstance(server, Launch):
            return self.entry(server)
        if self.remote_entry is None:
            raise UsageError(
                f"{self.title} takes no server over HTTP from its file.", hint="Leave out --http."
            )
        return self.remote_entry(server)


def opencode_entry(launch: Launch) -> dict[str, Any]:
    """The entry for opencode, whose command is one array."""
    entry: dict[str, Any] = {"type": "local", "command": [launch.command, *launch.args], "enabled": True}
    return {**entry, "environment": dict(launch.env)} if launch.env else entry


def codex_entry(server: Launch | Remote) -> dict[str, Any]:
    """The entry for Codex, which reads the token from a variable."""
    start = server.as_entry()
    if isinstance(server, Remote):
        start = {"url": server.url, "bearer_token_env_var": "ALITA_TOKEN"}
    return {**start, "required": True, "startup_timeout_sec": 60, "tool_timeout_sec": 120}


def goose_entry(server: Launch | Remote) -> dict[str, Any]:
    """The entry for Goose, which names itself."""
    entry: dict[str, Any] = {"name": KEY, "enabled": True, "timeout": 300}
    if isinstance(server, Remote):
        return {**entry, "type": "streamable_http", "uri": server.url, "headers": server.headers}
    return {
        **entry, "type": "stdio", "cmd": server.command, "args": list(server.args), "envs": dict(server.env)
    }  # fmt: skip


_ALL = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        "claude_desktop_config.json",
        "Quit Claude Desktop fully, then open it again.",
        remote_entry=None,
        application="Claude",
    ),
    Client(
        "claude-code",
        "Claude Code",
        ".mcp.json",
        "This file belongs to the project: start claude in this folder and approve the server when it asks. For "
        "yourself, in every folder, and with hooks that name tools that fit: `alita install claude-code-plugin`. "
        "`claude -p` can ask its model before the server is up, without its tools; with `--mcp-config FILE` it waits.",
        reference="${ALITA_TOKEN}",
        program="claude",
        folder="~/.claude",
    ),
    Client(
        PLUGIN,
        "Claude Code (plugin)",
        f"~/.claude/skills/{KEY}/.mcp.json",
        "Claude Code loads it as alita@skills-dir from its next session on, in every folder. ALITA_HOOK=off turns its "
        "hooks off.",
        program="claude",
        folder="~/.claude",
    ),
    Client("cursor", "Cursor", "~/.cursor/mcp.json", "Restart Cursor.", remote_entry=Remote.as_entry),
    Client(
        "vscode",
        "VS Code",
        ".vscode/mcp.json",
        "Open this folder in VS Code, then start the server.",
        "servers",
        lambda launch: {"type": "stdio", **launch.as_entry()},
        reference="${env:ALITA_TOKEN}",
        program="code",
        folder="~/.vscode",
    ),
    Client(
        "windsurf",
        "Windsurf",
        "~/.codeium/windsurf/mcp_config.json",
        "Refresh the servers in Windsurf's MCP settings.",
        remote_entry=lambda remote: {"serverUrl": remote.url, "headers": remote.headers},
    ),
    Client(
        "gemini-cli",
        "Gemini CLI",
        "~/.gemini/settings.json",
        "Restart gemini. It starts no server in a folder that it does not trust.",
        program="gemini",
    ),
    Client(
        "cline",
        "Cline",
        "~/.cline/data/settings/cline_mcp_settings.json",
        "Restart Cline. Keep `timeout`: without it, Cline gives the server 3 seconds to start, then goes on without "
        "it and does not say so.",
        entry=lambda launch: {"transport": {"type": "stdio", **launch.as_entry()}, "timeout": 60},
        remote_entry=lambda remote: remote.as_entry(type="streamableHttp"),
        folder="~/.cline",
    ),
    Client("copilot-cli", "Copilot CLI", "~/.copilot/mcp-config.json", "Restart copilot.", program="copilot"),
    Client(
        "qwen-code",
        "Qwen Code",
        "~/.qwen/settings.json",
        "Restart qwen.",
        remote_entry=lambda remote: {"httpUrl": remote.url, "headers": remote.headers},
        program="qwen",
    ),
    Client(
        "zed",
        "Zed",
        "settings.json" if sys.platform == "win32" else "~/.config/zed/settings.json",
        "Zed notices by itself.",
        "context_servers",
        lambda launch: {"source": "custom", **launch.as_entry(), "env": dict(launch.env)},
        Remote.as_entry,
        application="Zed" if sys.platform == "win32" else "",
    ),
    Client(
        "opencode",
        "opencode",
        "opencode.json",
        "Start opencode in this folder.",
        "mcp",
        opencode_entry,
        lambda remote: remote.as_entry(type="remote"),
        reference="{env:ALITA_TOKEN}",
        folder="~/.config/opencode",
    ),
    Client(
        "codex",
        "Codex CLI",
        "~/.codex/config.toml",
        "Restart codex. Keep `required = true`: without it, Codex asks its model before the server is up, and the "
        "model has none of its tools.",
        "mcp_servers",
        codex_entry,
        codex_entry,
        reference="ALITA_TOKEN",
        format="toml",
    ),
    Client(
        "goose",
        "Goose",
        "goose/config/config.yaml" if sys.platform == "win32" else "~/.config/goose/config.yaml",
        "Start a new session of goose.",
        "extensions",
        goose_entry,
        goose_entry,
        application="Block" if sys.platform == "win32" else "",
        format="yaml",
    ),
    Client(
        "continue",
        "Continue",
        "~/.continue/mcpServers/alita.json",
        "Continue reads the file when it starts.",
        program="cn",
        folder="~/.continue",
    ),
)
CLIENTS = {client.name: client for client in _ALL}
"""The clients under the names that `alita install` takes."""

READS_SKILLS = {"codex", "copilot-cli", "cursor", "gemini-cli", "goose", "opencode", "vscode", "zed"}
"""Those whose documentation says that they read `~/.agents/skills`."""
