"""Builders of tool results in both forms: `structuredContent` for programs, short text for readers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import mcp_types as types

from alita_mcp.errors import AlitaError, InvalidArguments, SandboxBusy, SandboxError, ToolNotFound
from alita_mcp.texts import clip
from alita_mcp.unseen import spell_hidden

MAX_TEXT = 400
"""Longest text of a result that does not carry an asked value, in characters."""
MAX_ERROR_TEXT = 1_500
"""Longest text of an error, in characters; only a `fix` that is longer by itself is let through."""
MAX_DEPTH = 100
"""Deepest nesting that is let in or out; parsers and serializers of clients end soon after."""


def tool_result(
    structured: dict[str, Any] | None,
    text: str,
    *,
    is_error: bool = False,
    meta: dict[str, Any] | None = None,
) -> types.CallToolResult:
    """A tool's result in both forms; the text of an error is what a model reads to do better."""
    return types.CallToolResult(
        content=[types.TextContent(text=text)], structured_content=structured, is_error=is_error, _meta=meta
    )


def refusal(failure: AlitaError) -> types.CallToolResult:
    """An error of ours as a tool error: what happened and what to do, also for programs."""
    # 1. Busy: the same call may work in a moment.
    # 2. The sandbox failed: said first, so that it is not taken for a failing tool.
    # 3. The arguments do not fit, or there is no such tool: a better call may work.
    status, prefix, hint = "failed", "", failure.hint
    structured: dict[str, Any] = {}
    meta: dict[str, Any] | None = None
    if isinstance(failure, SandboxBusy):
        status, prefix, structured = "busy", "busy: ", {"retry_after_s": failure.retry_after_s}
        meta = {
            "alita/retry_after_s": failure.retry_after_s
        }  # also where a tool's schema leaves no structured part
    elif isinstance(failure, SandboxError):
        prefix = "The sandbox failed, not the tool: "
    elif isinstance(failure, InvalidArguments):
        status, structured = "rejected", {"stage": "schema"}
    elif isinstance(failure, ToolNotFound) and failure.nearest:
        hint = hint or f"Nearest: {', '.join(failure.nearest[:3])}."
    reason, fix = printable(prefix + failure.message, 4_000), printable(hint, len(hint))
    text = f"{clip(reason, max(1, MAX_ERROR_TEXT - len(fix) - 1))} {fix}".strip()
    structured = {"status": status, "reason": reason, "fix": fix, **structured}
    return tool_result(structured, text, is_error=True, meta=meta)


def printable(text: str, limit: int = 200) -> str:
    """Text from outside as it may be shown: hidden, bidirectional and half characters spelled out, cut to `limit`."""
    return clip(spell_hidden(text[: limit + 1]), limit)


def as_json(value: Any) -> str:
    """Compact JSON as a reader sees it; the letters of every language as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)


def bullets(items: Sequence[str]) -> str:
    """Items as a bulleted list."""
    return "".join(f"\n- {item}" for item in items)


def is_deeper_than(value: Any, levels: int) -> bool:
    """Whether a JSON value nests lists and objects deeper than so many levels."""
    layer = [value]
    for _ in range(levels + 1):
        nodes = [node for node in layer if isinstance(node, Mapping | list | tuple)]
        layer = [child for node in nodes for child in (node.values() if isinstance(node, Mapping) else node)]
        if not layer:
            return False
    return True
