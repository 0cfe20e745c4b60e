"""The linter for words that a model will read: descriptions, parameter descriptions, example requests.

A description is shown to every connected model, so it must describe and nothing else: no hidden characters,
no instructions, no address that the tool has no grant for (tool poisoning).
"""

from __future__ import annotations

import re
import unicodedata

from alita_mcp.values import Check, Draft, Grants, Stage, ToolContract
from alita_mcp.verification.findings import failed

MAX_DESCRIPTION = 1_000
MAX_REQUESTS = 20
MAX_REQUEST = 200

HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]"
    "|(?<![\u2000-\u33ff\U0001f000-\U0001faff])\ufe0f"
)
"""What a reader does not see: control, zero-width, bidirectional, filler, variation and tag characters, surrogates.

The emoji selector U+FE0F is let through directly behind a symbol.
"""

_ADVERBS = r"((also|always|first|now|then|never|not)\s+)*"
_VERBS = (
    r"(call|use|run|invoke|ignore|follow|send|pass|say|tell|answer|respond|include|read|obey|reply|execute)\b"
)
_QUALIFIERS = r"((all|any|the|your|every|these|those|my|of)\s+)*"
_RULES = r"(instruction|message|prompt|rule|tool|text|command)"
_ORDERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(ignore|disregard|forget|override)\s+{_QUALIFIERS}(previous|prior|preceding|earlier)\b",
        rf"\b(ignore|disregard|forget|override)\s+{_QUALIFIERS}(above|system|other)\s+{_RULES}",
        rf"\byou\s+(must|should|shall|need to|have to|are required to)\s+{_ADVERBS}{_VERBS}",
        r"\b(always|before anything else,?|instead,?)\s+(call|use|run|invoke)\s+(this|the)\s+tool\b",
        r"\b(do not|don't|never)\s+(tell|inform|mention|reveal|warn|ask|notify)\b.{0,30}\b(user|human|person)\b",
        r"\bwithout\s+(telling|informing|asking|notifying)\b.{0,20}\b(user|human|person)\b",
        r"</?\s*(system|assistant|important|instructions?|tool_call|function_calls?)\b[^>]*>",
        r"\[/?\s*(INST|SYSTEM)\s*\]|<\|[a-z_]+\|>",
    )
)
_ADDRESS = re.compile(
    r"\b(?:(?:https?|ftps?|sftp|wss?|file|ldaps?|gopher)://|www\.)(?:[^\s/@]*@)?([^\s/:?#\"'<>)\]}`,]*)",
    re.IGNORECASE,
)


def wording_checks(draft: Draft, contract: ToolContract) -> list[Check]:
    """What is wrong with the words of a draft; an empty list when nothing is."""
    checks: list[Check] = []
    if not draft.description.strip():
        checks.append(
            failed("static", "the description is empty", "Say in a sentence or two what the tool does.")
        )
    texts = [("description", draft.description, MAX_DESCRIPTION)]
    texts.append(("the docstring's first line", contract.summary, MAX_DESCRIPTION))
    texts += [
        (where, text, MAX_DESCRIPTION)
        for schema in (contract.input_schema, contract.output_schema)
        for where, text in _words(schema)
    ]
    texts += [(f"use_when[{n}]", text, MAX_REQUEST) for n, text in enumerate(draft.use_when)]
    if len(draft.use_when) > MAX_REQUESTS:
        message = f"use_when has {len(draft.use_when)} requests, the limit is {MAX_REQUESTS}"
        checks.append(failed("static", message, "Keep about five, in different words."))
    for where, text, limit in texts:
        checks += text_checks(where, text, limit, draft.grants)
    return checks


def text_checks(where: str, text: str, limit: int, grants: Grants, stage: Stage = "static") -> list[Check]:
    """What is wrong with one text; `where` names it in the messages."""
    checks = []
    if len(text) > limit:
        message = f"{where} has {len(text):,} characters, the limit is {limit:,}"
        checks.append(failed(stage, message, "Say it shorter."))
        text = text[:limit]
    if found := HIDDEN.search(text):
        message = f"{where} holds the hidden character U+{ord(found.group()):04X}"
        checks.append(failed(stage, message, "Use visible characters only."))
    plain = unicodedata.normalize("NFKC", text)
    for pattern in _ORDERS:
        if order := pattern.search(plain):
            message = f"{where} gives orders to the model: {order.group()!r}"
            checks.append(
                failed(stage, message, "Describe what the tool does; leave out what others should do.")
            )
    for address in _ADDRESS.finditer(plain):
        if not _granted(address.group(1).lower().rstrip("."), grants):
            message = f"{where} holds an address that the tool has no grant for: {address.group()!r}"
            checks.append(failed(stage, message, "Describe the tool without the address."))
    return checks


def _granted(host: str, grants: Grants) -> bool:
    return any(
        host == allowed or (allowed.startswith("*.") and host.endswith(allowed[1:]))
        for allowed in map(str.lower, grants.network)
    )


def _words(schema: object, path: str = "") -> list[tuple[str, str]]:
    """Each text in a schema that a model will read, with where it stands."""
    if not isinstance(schema, dict):
        return []
    where = path or "the result"
    texts = [("description", schema.get("description")), ("default", schema.get("default"))]
    texts += [("enum", value) for value in schema.get("enum", ())]
    found = [(f"the {what} of {where}", text) for what, text in texts if isinstance(text, str)]
    for name, node in schema.get("properties", {}).items():
        found += _words(node, f"{path}.{name}".lstrip("."))
    for keyword in ("items", "additionalProperties"):
        found += _words(schema.get(keyword), f"{path}[]")
    return found
