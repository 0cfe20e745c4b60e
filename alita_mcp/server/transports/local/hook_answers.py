"""Answers to the hook of a client that is about to run a program in its shell, or has run one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from alita_mcp.library.search.signature import signature_of
from alita_mcp.owners import Maker
from alita_mcp.server.results.unreviewed import visible_manifest

if TYPE_CHECKING:
    from alita_mcp.app import App


async def answer_hook(app: App, question: bytes) -> str:
    """What the client's model should know of a program; empty where that is nothing, or the question is none.

    No words of a tool's author are in it but the names of the tool and its parameters.
    """
    try:
        asked = json.loads(question)
    except (ValueError, RecursionError):
        return ""
    match asked:
        case {"event": "before", "code": str(code), "description": str(description)} if app.settings.hook:
            entry = await app.programs.find_tool(code, description)
            if entry is None:
                return ""
            signature = signature_of(visible_manifest(app, entry.manifest, Maker()))
            return (
                f"alita: verified `{entry.name}` does this: `{signature}`. Call that tool instead of running code "
                f"for it (through run_tool if it is not in your list)."
            )
        case {"event": "after", "code": str(code)} if app.settings.hook:
            hint = await app.programs.record_program(code)
            return f"alita: {hint}." if hint else ""
    return ""
