"""Files beside a client's configuration that tell its model when to use this server: a skill, and Claude Code's hooks.

Each names its origin; a file of that name from anybody else is left alone.
"""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from alita_mcp import __version__
from alita_mcp.clients.changes import Change, apply_change, read_file, wired_clients, write_whole
from alita_mcp.clients.table import CLIENTS, KEY, PLUGIN
from alita_mcp.errors import UsageError

ORIGIN = "alita-mcp-server"
SHARED_SKILL = Path("~/.agents/skills", KEY, "SKILL.md")
"""Read by several clients."""
HOOK = "alita_mcp.server.transports.local.hook"


@dataclass(frozen=True)
class OwnFile:
    """A file that is this server's as a whole."""

    file: Path
    before: bytes | None
    after: bytes | None

    def apply(self) -> None:
        """Writes or removes the file, and folders that are empty then.

        Raises:
            UsageError: the file cannot be written.
        """
        try:
            if self.after is None:
                self.file.unlink(missing_ok=True)
                with suppress(OSError):  # something else is in it
                    for folder in self.file.parents[:3]:
                        folder.rmdir()
            else:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(self.file, self.after, like=self.file, is_private=False)
        except OSError as refused:
            raise UsageError(f"{self.file} cannot be written: {refused.strerror or refused}.") from refused


def connect(change: Change) -> Path | None:
    """Writes an installation with the files that go with it; returns where a copy of the file as it was lies.

    Raises:
        UsageError: a file cannot be written, or is somebody else's.
    """
    own_files = plan_own_files(change, remove=False)
    backup = apply_change(change)
    for each in own_files:
        each.apply()
    return backup


def plan_own_files(change: Change, *, remove: bool) -> list[OwnFile]:
    """The files that go with a change of a client's configuration, and are not yet as they should be.

    Raises:
        UsageError: a file of that name is somebody else's.
    """
    skill = files("alita_mcp.clients").joinpath("SKILL.md").read_bytes()
    wanted: dict[Path, bytes] = {}
    if change.name == PLUGIN:
        folder = change.file.parent
        wanted[folder / "skills" / KEY / "SKILL.md"] = skill
        wanted[folder / "hooks" / "hooks.json"] = _as_json(hooks(change.file))
        wanted[folder / ".claude-plugin" / "plugin.json"] = _as_json(
            {
                "name": KEY,
                "version": __version__,
                "description": "Tools that are tested before they are kept: search, call and make them.",
                "author": {"name": ORIGIN},
            }
        )
    elif change.client.reads_skills:
        others = (each for each in wired_clients() if remove and each.name != change.name)
        if not any(CLIENTS[each.name].reads_skills for each in others):
            wanted[SHARED_SKILL.expanduser()] = skill
    planned = []
    for file, content in wanted.items():
        before = read_file(file, file)
        if before is not None and ORIGIN.encode() not in before:
            raise UsageError(f"{file} is not this server's.", hint="Move it away, then try again.")
        after = None if remove else content
        if before != after or (remove and file.parent.is_dir()):  # its folder goes too
            planned.append(OwnFile(file, before, after))
    return planned


def hooks(configuration: Path) -> dict[str, object]:
    """The hooks of Claude Code, which read in the plugin's configuration which settings its server gets."""
    command = shlex.join([sys.executable, "-I", "-m", HOOK, str(configuration)])
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": command, "timeout": 2}]}
    return {
        "description": f"Names a tested tool where a shell command does its work again ({ORIGIN}). Off: ALITA_HOOK=off",
        "hooks": {"PreToolUse": [hook], "PostToolUse": [hook]},
    }


def _as_json(document: dict[str, object]) -> bytes:
    return json.dumps(document, indent=2).encode() + b"\n"
