"""Reader of Codex CLI's session files (`~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`)."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

from alita_mcp.transcripts.interface import (
    RUNS_PYTHON,
    Action,
    Answered,
    ApplyPatch,
    Began,
    Called,
    Entry,
    RunCell,
    ShellCommand,
    Step,
    object_in,
    text_in,
)

_KINDS = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
_CALLS = {"function_call", "local_shell_call", "custom_tool_call"}
_ANSWERS = {"function_call_output", "custom_tool_call_output"}
_SHELLS = {"shell", "container.exec", "local_shell", "shell_command", "exec_command"}
_REFUSED = re.compile(
    r"(?i)\s*(?:exec command |patch )?(?:rejected|aborted) by user|\s*failed to parse function"
)
_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,6})")
_RUNNING = re.compile(r"Process running with session ID")
_OUTPUT = re.compile(r"(?m)^Output:\n")
_HEAD = 2_000
"""Characters of an answer in which its exit status is looked for."""


class Codex:
    """Lines with `timestamp`, `type` and `payload`; in files of early 2025 the payload is the line itself."""

    agent = "codex"
    folder = ".codex/sessions"

    def recognises(self, entry: Entry) -> bool:
        """By the names of its fields."""
        kind = entry.get("type")
        old = kind in _CALLS | _ANSWERS or (kind == "message" and "role" in entry)
        return old or (kind in _KINDS and "payload" in entry)

    def steps(self, entry: Entry) -> Iterator[Step]:
        """Calls of shells, patches and interpreters, and their outputs."""
        kind = entry.get("type")
        payload = object_in(entry.get("payload", entry))
        if kind in ("session_meta", "turn_context"):
            yield Began(
                text_in(payload.get("id")) if kind == "session_meta" else "", text_in(payload.get("cwd"))
            )
            return
        call = text_in(payload.get("call_id"))
        if kind in ("event_msg", "compacted") or not call:
            return
        if payload.get("type") in _ANSWERS:
            yield _answer(call, payload.get("output"))
        elif payload.get("type") in _CALLS:
            given = _arguments(payload)
            if action := _action(text_in(payload.get("name")), given):
                folder = given.get("workdir") or given.get("cwd") or given.get("working_directory")
                yield Called(call, action, text_in(folder))


def _arguments(payload: Entry) -> Entry:
    if payload.get("type") == "local_shell_call":
        return object_in(payload.get("action")) | {"_shell": True}
    if payload.get("type") == "custom_tool_call":
        return {"input": payload.get("input")}
    return _as_json(payload.get("arguments"))


def _as_json(text: object) -> Entry:
    try:
        return object_in(json.loads(text)) if isinstance(text, str) and text.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}


def _action(tool: str, given: Entry) -> Action | None:
    if tool == "apply_patch" and isinstance(patch := given.get("input"), str):
        return ApplyPatch(text_in(patch))
    if tool in _SHELLS or "_shell" in given:
        return _shell_command(given.get("command", given.get("cmd")))
    if RUNS_PYTHON.search(tool) and isinstance(code := given.get("code"), str):
        return RunCell(text_in(code))
    return None


def _shell_command(command: object) -> Action | None:
    if isinstance(command, str):
        return ShellCommand(text_in(command))
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return None
    words = [text_in(word) for word in command]
    if len(words) == 2 and words[0] in ("apply_patch", "applypatch"):
        return ApplyPatch(words[1])
    return ShellCommand(shlex.join(words))


def _answer(call: str, output: object) -> Answered:
    """Output is text behind a head that tells the exit status, or JSON with `output` and `metadata`."""
    told = output if isinstance(output, dict) else _as_json(output)
    text = text_in(told.get("output", told.get("content"))) if told else text_in(output)
    code = object_in(told.get("metadata")).get("exit_code")
    if _REFUSED.match(text):
        return Answered(call, refused=True)
    head = text[:_HEAD]
    parts = _OUTPUT.split(text, maxsplit=1)
    if code is None and len(parts) == 2 and len(parts[0]) < _HEAD:
        found = _EXIT.search(parts[0])
        code = int(found[1]) if found else None
        text = "" if _RUNNING.search(head) else parts[1]
    return Answered(call, text, failed=told.get("success") is False or code not in (None, 0))
