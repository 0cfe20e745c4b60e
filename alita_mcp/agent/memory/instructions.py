# ruff: noqa: E501 - tables of patterns read best a line each
"""Detector of instructions to the agent in texts that should only state something.

A filter, not the defence: what is recalled is shown to models as data between tags, whatever it says.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from alita_mcp.values import META_TOOLS

_BEFORE = r"(?:previous|prior|earlier|above|preceding|other|all|any|your|the|system|these|those)"
_SAID = r"(?:instructions?|prompts?|rules?|guidelines?|directives?|orders?|messages?|polic(?:y|ies)|restrictions?|context)"
_PRIVATE = (
    r"(?:passwords?|credentials?|(?:api|private|secret|access|ssh) ?keys?|keys?|tokens?|secrets?|system prompts?|"
    r"environment variables?|conversations?|chat history|memor(?:y|ies))"
)
_GIVE = (
    r"(?:send|reveal|print|show|leak|share|forward|upload|post|paste|include|transmit|exfiltrate|disclose|give|output|"
    r"email|submit|copy|dump)"
)
_CALL = r"(?:call|run|use|invoke|execute|fetch|open|visit|build|approve|delete|install|download|browse)"
_ORDERS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:ignore|disregard|forget|override|bypass)\b.{{0,30}}\b{_BEFORE}\b.{{0,40}}\b{_SAID}\b",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what(?:ever)?)\b",
        r"\b(?:from now on|you are now|new instructions?|your new (?:task|goal|role)|act as|pretend to be|jailbreak)\b",
        rf"(?:^|[.!?:;,]\s*|\b(?:please|then|and|must|should|now|always|also|to)\s+){_GIVE}\b.{{0,60}}\b{_PRIVATE}\b",
        rf"\byou\s+(?:must|should|have to|need to|are (?:required|instructed|ordered) to|will now)\b.{{0,40}}\b(?:{_CALL}|{_GIVE})\b",
        rf"\b(?:always|immediately|first|silently|secretly|quietly),?\s+(?:{_CALL}|{_GIVE})\b",
        r"\b(?:do not|don't|never)\s+(?:tell|inform|ask|warn|alert|notify|mention|reveal)\b.{0,40}\b(?:user|person|human|owner|anyone)\b",
        r"\b(?:dear|attention|note to|message to|instructions? (?:for|to)|hey)\W+(?:the |all |any )?(?:ai|assistants?|agents?|llms?|models?|claude|chatgpt)\b",
        r"\b(?:ai|assistants?|agents?|llms?|language models?)\s+(?:\w+\s+)?(?:must|should|shall|has to|have to|needs? to)\b",
        r"</?\s*(?:system|assistant|instructions?|observation|task|tool_call|memory|important)\b|\[/?inst\]|<\|[a-z_]+\|>",
        r"^\s*(?:system|assistant|developer)\s*:",
    )
)  # fmt: skip
_POSES = re.compile(
    r"\b(?:you are now|your new (?:task|goal|role) is|new instructions?:)|<\|im_start\|>|\[inst\]"
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_TOOL_NAME = re.compile(
    rf"\b(?:{'|'.join(META_TOOLS)}|(?:read|write|delete|send|get|list|create|update|remove|run|call|fetch|open|search|post)_[a-z_]+)\b"
)
READ_CHARACTERS = 40_000


def overrides_instructions(text: str) -> bool:
    """Whether a text tells the agent to ignore its instructions, or poses as its prompt."""
    return _has_any((_ORDERS[0], _POSES), text)


def gives_orders(text: str) -> bool:
    """Whether a stranger's text gives orders; it has no reason to name our tools either."""
    return _has_any((*_ORDERS, _TOOL_NAME), text)


def _has_any(patterns: Iterable[re.Pattern[str]], text: str) -> bool:
    plain = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text[:READ_CHARACTERS])).lower()
    plain = " ".join(plain.split())
    return any(pattern.search(plain) for pattern in patterns)
