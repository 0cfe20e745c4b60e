"""Reader of Claude Code's session files (`~/.claude/projects/FOLDER/SESSION.jsonl`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from alita_mcp.transcripts.interface import (
    RUNS_PYTHON,
    Action,
    Answered,
    Began,
    Called,
    EditCell,
    EditFile,
    Entry,
    RunCell,
    ShellCommand,
    Step,
    WriteFile,
    object_in,
    text_in,
)

_KINDS = {"user", "assistant", "system", "summary", "progress", "queue-operation", "file-history-snapshot"}
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>|The user doesn't want|User rejected|Permission to use|Claude requested permissions"
    r"|\[Request interrupted|InputValidationError|This command requires approval)",
    re.IGNORECASE,
)
_IN_BACKGROUND = "Command running in background"


class ClaudeCode:
    """Lines with `type`, `sessionId`, `cwd` and a `message` whose content are blocks; subagents' lines as well."""

    agent = "claude-code"
    folder = ".claude/projects"

    def recognises(self, entry: Entry) -> bool:
        """By the names of its fields."""
        return (
            "payload" not in entry
            and entry.get("type") in _KINDS
            and bool({"sessionId", "message"} & set(entry))
        )

    def steps(self, entry: Entry) -> Iterator[Step]:
        """Calls of tools in lines of the assistant; their results in lines of the user."""
        if entry.get("type") not in ("user", "assistant"):
            return
        yield Began(text_in(entry.get("sessionId")), text_in(entry.get("cwd")))
        blocks = object_in(entry.get("message")).get("content")
        for block in blocks if isinstance(blocks, list) else ():
            match block:
                case {"type": "tool_use", "id": str(call), "name": str(name), "input": dict(given)}:
                    if action := _action(name, given):
                        yield Called(call, action)
                case {"type": "tool_result", "tool_use_id": str(call)}:
                    yield _answer(call, block, entry.get("toolUseResult"))


def _action(tool: str, given: Entry) -> Action | None:
    match tool, given:
        case "Bash", {"command": str(command)}:
            return ShellCommand(text_in(command))
        case "Write", {"file_path": str(path), "content": str(text)}:
            return WriteFile(text_in(path), text_in(text))
        case "Edit", {"file_path": str(path)}:
            return EditFile(text_in(path), (_edit(given),))
        case "MultiEdit", {"file_path": str(path), "edits": list(edits)}:
            return EditFile(text_in(path), tuple(_edit(each) for each in edits if isinstance(each, dict)))
        case "NotebookEdit", {"notebook_path": str(path), "new_source": str(source)}:
            if given.get("cell_type") == "markdown":
                return None
            mode = text_in(given.get("edit_mode")) or "replace"
            return EditCell(text_in(path), text_in(given.get("cell_id")), text_in(source), mode)
        case _, {"code": str(code)} if RUNS_PYTHON.search(tool):
            return RunCell(text_in(code))
    return None


def _edit(given: Entry) -> tuple[str, str, bool]:
    return (
        text_in(given.get("old_string")),
        text_in(given.get("new_string")),
        given.get("replace_all") is True,
    )


def _answer(call: str, block: Entry, result: object) -> Answered:
    said = text_in(block.get("content"))
    failed = block.get("is_error") is True
    output = object_in(result).get("stdout")
    seen = text_in(output) if isinstance(output, str) else said
    refused = failed and (bool(_REFUSED.match(said)) or result == "User rejected tool use")
    return Answered(call, "" if said.startswith(_IN_BACKGROUND) else seen, failed, refused)
