"""Removal of Markdown fences around code that a model sent."""

from __future__ import annotations

import re

from alita_mcp.verification.code.source import parse_code
from alita_mcp.verification.findings import ContractError

_FENCED = re.compile(
    r"^ {0,3}(`{3,}|~{3,})[^`\n]*\n(?P<code>.*)^ {0,3}\1[`~]*[ \t\r]*$", re.MULTILINE | re.DOTALL
)
"""From the first line that opens a block to the last that closes one, as CommonMark has them."""
_CODE = re.compile(r"^\s*(async def|def|class|import|from\s+\S+\s+import|@\w+)\b", re.MULTILINE)


def unfenced(text: str) -> str:
    """Returns the code of the one fenced block, with or without prose around it; any other text as it is.

    Code that only holds fences, in a docstring for instance, is left alone.
    """
    found = _FENCED.search(text)
    if found is None or _is_code(text) or not _is_code(found["code"]):
        return text
    around = text[: found.start()] + text[found.end() :]
    return text if _CODE.search(around) else found["code"]


def _is_code(text: str) -> bool:
    try:
        return bool(parse_code(text).body)
    except ContractError:
        return False
