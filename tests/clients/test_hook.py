"""Real Claude Code with the plugin: what the hook says of a shell command is in the model's very next request."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from alita_mcp.clients.changes import apply_change, plan_install
from alita_mcp.clients.skills import HOOK, apply_own_files, plan_own_files
from alita_mcp.clients.table import CLIENTS, PLUGIN, Launch
from tests.clients.agents import QUIET
from tests.clients.conversation import call_of
from tests.clients.dialects import Calls, Reply, Says, Turn
from tests.clients.model_server import model_server
from tests.conftest import CACHE
from tests.server.local.conftest import User
from tests.server.local.test_hook import WORKING_DAYS, heredoc
from tests.server.processes import ENTRY, ROOT, started

COUNTED = "35"
MOST_TURNS = 60
PATIENT_HOOK = f"import {HOOK} as hook; hook.WITHIN_S = 60; hook.main()"


def working_days(turn: Turn) -> Reply:
    """Waits for the server and searches, so that it is ready; then counts in the shell what a tool counts."""
    if "Bash" not in turn.tools:
        return Says("a title")
    if not turn.shown("search_capabilities"):
        reply = call_of(turn, "search_capabilities", {"query": "anything"})
        assert len(turn.results) < MOST_TURNS, turn.tools
        return (
            Calls("Bash", {"command": "python3 -c 'import time; time.sleep(1)'"})
            if isinstance(reply, Says)
            else reply
        )
    if not has_counted(turn):
        described = {"command": heredoc(WORKING_DAYS), "description": "Count business days between two dates"}
        return Calls("Bash", described)
    return Says("done")


def has_counted(turn: Turn) -> bool:
    return any(shown.startswith(COUNTED) for shown in turn.shown("Bash"))


@pytest.mark.exhaustive
async def test_the_very_next_request_holds_what_the_hook_says(programs: str, stocked_user: User) -> None:
    user = stocked_user
    settings = {
        "ALITA_HOME": str(user.home), "ALITA_SANDBOX": "wasm", "ALITA_SHARED": "on", "ALITA_PREPARE": "off",
        "PYTHONPATH": str(ROOT), **CACHE,
    }  # fmt: skip
    file = user.folder / ".claude" / "skills" / "alita" / ".mcp.json"
    change = plan_install(CLIENTS[PLUGIN], Launch(ENTRY[0], ENTRY[1:], settings), file)
    apply_own_files(plan_own_files(change))
    apply_change(change)
    hooks = file.parent / "hooks" / "hooks.json"
    said = json.loads(hooks.read_text(encoding="utf-8"))
    for each in (*said["hooks"]["PreToolUse"], *said["hooks"]["PostToolUse"]):
        patient = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", PATIENT_HOOK, str(file)])
        each["hooks"][0] |= {"command": patient, "timeout": 60}
    hooks.write_text(json.dumps(said), encoding="utf-8")

    with model_server(working_days) as (url, asked):
        env = {
            "HOME": str(user.folder), "TMPDIR": str(user.folder), "PATH": programs, "LANG": "C.UTF-8", **QUIET,
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "scripted", "MCP_TIMEOUT": "120000",
        }  # fmt: skip
        command = [
            "-p", "Count working days.", "--model", "claude-sonnet-4-5",
            "--allowedTools", "Bash,mcp__plugin_alita_alita",
        ]  # fmt: skip
        program = next(
            path for place in programs.split(os.pathsep) if (path := Path(place) / "claude").exists()
        )
        async with started([str(program), *command], env, user.folder) as peer:
            await peer.end_input()
            out = (await peer.rest()).decode()
            assert await peer.ended() == 0, out + peer.stderr
        after = next(turn for turn in asked.turns if has_counted(turn))  # it ran as it was
        assert "verified `business_days` does this" in json.dumps(after.body)
        assert "Finds, calls and makes tested tools" in json.dumps(asked.turns[0].body)
