"""Files beside a client's configuration that tell its model when to use this server: a skill, and Claude Code's hooks.

Each names its origin; a file in such a place from anybody else is left alone.
"""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from pathlib import Path

from alita_mcp import __version__
from alita_mcp.clients.changes import Change, find_clients
from alita_mcp.clients.table import KEY, PLUGIN, READS_SKILLS
from alita_mcp.errors import UsageError
from alita_mcp.private_files import read_small_file, write_whole

ORIGIN = "alita-mcp-server"
SKILL = Path(__file__).with_name("SKILL.md")
"""When to search, when to make a tool, and how."""
SHARED_SKILL = Path("~/.agents/skills", KEY, "SKILL.md")
"""Read by several clients."""
HOOK = "alita_mcp.server.transports.local.hook"


def plan_own_files(change: Change) -> dict[Path, bytes | None]:
    """What the files that go with a client's configuration become, as far as that changes; None: they go.

    Raises:
        UsageError: a file there is somebody else's.
    """
    wanted, remove = {}, change.entry is None
    if change.client.name == PLUGIN:
        wanted = plugin_files(change.file)
    elif change.client.name in READS_SKILLS:
        others = {each.name for each, is_wired, _ in find_clients() if is_wired} - {change.client.name}
        if not (remove and others & READS_SKILLS):
            wanted = {SHARED_SKILL.expanduser(): SKILL.read_bytes()}
    planned = {}
    for file, content in wanted.items():
        before, after = read_small_file(file), None if remove else content
        if before is not None and ORIGIN.encode() not in before:
            raise UsageError(f"{file} is not this server's.", hint="Move it away, then try again.")
        if before != after:
            planned[file] = after
    return planned


def apply_own_files(planned: dict[Path, bytes | None]) -> None:
    """Writes and removes files, and folders that are empty then.

    Raises:
        UsageError: a file cannot be written.
    """
    for file, after in planned.items():
        try:
            if after is not None:
                write_whole(file, after)
                continue
            file.unlink(missing_ok=True)
        except OSError as refused:
            raise UsageError(f"{file} cannot be written: {refused.strerror or refused}.") from refused
        with suppress(OSError):  # something else is in it
            for folder in file.parents[:3]:
                folder.rmdir()


def plugin_files(configuration: Path) -> dict[Path, bytes]:
    """Claude Code's plugin but for its configuration, in which the hooks read which settings its server gets."""
    command = shlex.join([sys.executable, "-I", "-m", HOOK, str(configuration)])
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": command, "timeout": 2}]}
    about = f"Names a tested tool where a shell command does its work again ({ORIGIN}). Off: ALITA_HOOK=off"
    plugin = {"name": KEY, "version": __version__, "description": about, "author": {"name": ORIGIN}}
    hooks = {"description": about, "hooks": {"PreToolUse": [hook], "PostToolUse": [hook]}}
    folder = configuration.parent
    return {
        folder / "skills" / KEY / "SKILL.md": SKILL.read_bytes(),
        folder / "hooks" / "hooks.json": json.dumps(hooks, indent=2).encode(),
        folder / ".claude-plugin" / "plugin.json": json.dumps(plugin, indent=2).encode(),
    }
