"""Removal of Markdown fences around code that a model sent."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError, refusal

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^`]*)$")
"""A line that opens or closes a block, as CommonMark has it."""
_CODE = re.compile(r"\s*(async def|def|class|import|from\s+\S+\s+import|@\w+)\b")
_FIX = "Send the code alone, without Markdown around it."


def unfenced(text: str) -> str:
    """Returns the code of the one fenced block, with or without prose around it.

    What is code as it stands is left alone, and so is code that only holds fences, in a docstring for instance.

    Raises:
        ContractError: a fence is never closed, or the text is not one block.
    """
    if ("```" not in text and "~~~" not in text) or _is_code(text):
        return text
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    if not fences or _holds_code(lines[: fences[0]]):
        return text
    first = fences[0]
    closing = [number for number in fences[1:] if _closes(lines[number], lines[first])]
    if not closing:
        message = f"the fence {lines[first].strip()[:20]!r} around the code is never closed"
        raise refusal(message, f"See that nothing was cut off. {_FIX}", line=first + 1)
    block, after = "\n".join(lines[first + 1 : closing[-1]]) + "\n", lines[closing[-1] + 1 :]
    # more fences than two are those of a docstring, or there are several blocks
    if (len(fences) == 2 or _is_code(block)) and not _holds_code(after):
        return block
    fix = f"Put everything into one text. {_FIX}"
    raise refusal("the code is not one block: there are several fences, or code outside", fix, line=first + 1)


def _is_code(text: str) -> bool:
    try:
        return bool(parse_code(text).body)
    except ContractError:
        return False


def _holds_code(lines: Sequence[str]) -> bool:
    return any(_CODE.match(line) for line in lines)


def _closes(line: str, opening: str) -> bool:
    found, opened = _FENCE.match(line), _FENCE.match(opening)
    return bool(found and opened and not found[2].strip() and found[1].startswith(opened[1]))
