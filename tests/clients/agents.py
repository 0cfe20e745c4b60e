"""Real agent clients from npm, and how each is told of a model; the server's entry is what `alita install` prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from alita_mcp.clients.table import CLIENTS, Launch
from tests.client_configuration import configuration
from tests.clients.conversation import PROMPT

PACKAGES = Path(__file__).with_name("npm")
PINNED: dict[str, str] = json.loads((PACKAGES / "package.json").read_text(encoding="utf-8"))["dependencies"]
"""Each package and the version that is driven."""
QUIET = {
    "CI": "1",
    "NO_COLOR": "1",
    "DO_NOT_TRACK": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "GEMINI_TELEMETRY_ENABLED": "false",
}


@dataclass(frozen=True)
class Start:
    """How an agent is started; its configuration is written."""

    command: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True)
class Agent:
    """One client."""

    package: str
    protocol: str
    """The revision that it speaks with us."""
    follows: bool
    """Whether it lists the tools again when it hears of a change."""
    reads: str
    """What of an answer its model reads: `text` or `structured` content."""
    start: Callable[[Path, str, Launch], Start]
    """Writes the configuration below a folder, which is also its home; given the model's root URL."""


def _written(file: Path, content: Any) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")
    return str(file)


def _claude(how: Mapping[str, str]) -> Callable[[Path, str, Launch], Start]:
    def start(folder: Path, model: str, launch: Launch) -> Start:
        config = _written(folder / "mcp.json", configuration(CLIENTS["claude-code"], launch))
        command = (
            "claude", "-p", PROMPT, "--mcp-config", config, "--strict-mcp-config",
            "--allowedTools", "mcp__alita", "--model", "claude-sonnet-4-5",
        )  # fmt: skip
        return Start(
            command,
            {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "scripted", "MCP_TIMEOUT": "120000", **how},
        )

    return start


def _opencode(api: str) -> Callable[[Path, str, Launch], Start]:
    def start(folder: Path, model: str, launch: Launch) -> Start:
        provider = {
            "npm": f"@ai-sdk/{api}",
            "name": "Scripted",
            "options": {"baseURL": f"{model}/v1", "apiKey": "scripted"},
            "models": {"scripted": {"name": "Scripted", "tool_call": True}},
        }
        config = {
            "model": "local/scripted", "small_model": "local/scripted", "share": "disabled", "autoupdate": False,
            "provider": {"local": provider}, **configuration(CLIENTS["opencode"], launch),
        }  # fmt: skip
        _written(folder / "opencode.json", config)
        return Start(("opencode", "run", PROMPT), {})

    return start


def _gemini(folder: Path, model: str, launch: Launch) -> Start:
    settings = {
        **configuration(CLIENTS["gemini-cli"], launch),
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    }
    _written(folder / ".gemini" / "settings.json", settings)
    command = ("gemini", "--skip-trust", "--yolo", "-m", "gemini-2.5-flash", "-p", PROMPT)
    return Start(command, {"GEMINI_API_KEY": "scripted", "GOOGLE_GEMINI_BASE_URL": model})


def _codex(folder: Path, model: str, launch: Launch) -> Start:
    document = configuration(CLIENTS["codex"], launch)
    document["mcp_servers"]["alita"]["default_tools_approval_mode"] = "approve"
    config = f"""model = "gpt-5"
model_provider = "local"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.local]
name = "Scripted"
base_url = "{model}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
{tomlkit.dumps(document)}"""
    (folder / ".codex").mkdir()
    (folder / ".codex" / "config.toml").write_text(config, encoding="utf-8")
    command = ("codex", "exec", "--skip-git-repo-check", PROMPT)
    return Start(command, {"SCRIPTED_KEY": "scripted"})


AGENTS = {
    "Claude Code": Agent("@anthropic-ai/claude-code", "2026-07-28", True, "structured", _claude({})),
    "Claude Code, nothing deferred": Agent(
        "@anthropic-ai/claude-code",
        "2026-07-28",
        True,
        "structured",
        _claude({"ENABLE_TOOL_SEARCH": "false"}),
    ),
    "opencode": Agent("opencode-ai", "2025-11-25", True, "text", _opencode("openai-compatible")),
    "opencode, Responses": Agent("opencode-ai", "2025-11-25", True, "text", _opencode("openai")),
    "Gemini CLI": Agent("@google/gemini-cli", "2025-06-18", True, "text", _gemini),
    "Codex CLI": Agent("@openai/codex", "2025-06-18", False, "structured", _codex),
}
