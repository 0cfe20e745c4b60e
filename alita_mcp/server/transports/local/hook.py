"""Hook of Claude Code around shell commands: `python -m` with the event on stdin, as the plugin's `hooks.json` says.

Before a command that runs inline Python it asks the person's server whether a tool does that, and passes the answer on
to the model; after it, the server counts the program. It starts no server, blocks no command, and says nothing where
anything is wrong or takes too long. Standard library only: a client waits for it.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

WITHIN_S = 0.15
"""How long the hook may take."""
MAX_COMMAND = 50_000
"""Characters; a longer command is not looked at."""
MAX_CONTEXT = 1_000
SWITCH = "ALITA_HOOK"

_PYTHON = r"(?<![\w.-])(?:python[\d.]*|pypy3?)(?:\.exe)?(?:\s+-(?:[bBdEiIOPqsSuvx]+|[WX]\s*\S+))*"
_WORD = r"""(?:'[^']*+'|"(?:[^"\\]|\\.)*+"|\\.|[^\s'"\\;|&<>()])++"""
_ARGUMENT = re.compile(rf"{_PYTHON}\s+-[bBdEiIOPqsSuvx]*c\s*({_WORD})", re.DOTALL)
"""`python -c` and its program, as a shell reads it."""
_HEREDOC = re.compile(r"<<(-?)\s*(['\"]?)(\w+)\2")
_READS_STDIN = re.compile(rf"(?:{_PYTHON}|(?<![\w.-])uv\s+run)(?:\s+-)?\s*(?:$|[|;&<>)]|\d>)")
"""Python, or `uv run`, whose program comes from its input."""
_PART = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)""", re.DOTALL)


def main() -> None:
    """Answers one event; the exit status is 0 whatever happens.

    An argument names the configuration file that says which variables the client sets for the server.
    """
    timer = threading.Timer(WITHIN_S, os._exit, [0])
    timer.daemon = True
    timer.start()
    with suppress(Exception):
        environment = dict(os.environ)  # noqa: TID251 - as the relay
        for configuration in sys.argv[1:]:
            with open(configuration, encoding="utf-8") as stream:
                environment |= json.load(stream)["mcpServers"]["alita"].get("env", {})
        if answer := answer_event(sys.stdin.buffer.read(), environment):
            os.write(1, json.dumps(answer).encode() + b"\n")
    os._exit(0)


def answer_event(event: bytes, environment: Mapping[str, str]) -> dict[str, Any] | None:
    """What the client is told about an event; None where that is nothing.

    Raises:
        Exception: the event is none, or the server is gone, slow or not ours.
    """
    from alita_mcp.server.transports.local.endpoint import OFF, connect, find_endpoint, read_answer

    if environment.get(SWITCH, "").lower() in OFF:
        return None
    asked = json.loads(event)
    name, tool = asked["hook_event_name"], asked["tool_input"]
    if name not in ("PreToolUse", "PostToolUse") or len(tool["command"]) > MAX_COMMAND:
        return None
    code = max(inline_programs(tool["command"]), key=len, default="")
    if not code:
        return None
    question = {"event": name, "code": code, "description": str(tool.get("description", ""))[:MAX_CONTEXT]}
    link = connect(find_endpoint(environment, os.getcwd()), "hook", WITHIN_S, **question)
    context = read_answer(link).get("context")
    if not context or len(context) > MAX_CONTEXT or not context.isprintable():
        return None
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}


def inline_programs(command: str) -> Iterator[str]:
    """The Python programs that stand in a shell command: after `-c`, or in a heredoc that Python reads."""
    if not any(word in command for word in ("python", "pypy", "uv run")):
        return
    for found in _ARGUMENT.finditer(command):
        yield "".join(map(_unquote, _PART.finditer(found[1])))
    for found in _HEREDOC.finditer(command):
        start, end = command.rfind("\n", 0, found.start()) + 1, command.find("\n", found.end())
        if end < 0 or not _READS_STDIN.search(command[start : found.start()] + command[found.end() : end]):
            continue
        lines = [line.lstrip("\t") if found[1] else line for line in command[end + 1 :].split("\n")]
        if found[3] in lines:
            yield "\n".join(lines[: lines.index(found[3])])


def _unquote(part: re.Match[str]) -> str:
    single, double, escaped, plain = part.groups()
    if double is not None:
        return re.sub(r'\\([\\"$`\n])', lambda found: found[1].strip("\n"), double)
    return next(text for text in (single, escaped, plain) if text is not None)


if __name__ == "__main__":
    main()
