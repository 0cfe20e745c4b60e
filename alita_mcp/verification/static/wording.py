"""Checks of texts that a model will read: descriptions, parameter descriptions, example requests.

They find what a reader does not see and addresses that the tool has no grant for. What a text asks of a model is not
judged: until a person reviews the tool, clients see one marked sentence of it (`library/unreviewed.py`).
"""

from __future__ import annotations

import re
import unicodedata

from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Check, Draft, Grants, Stage, ToolContract
from alita_mcp.verification.findings import fail_check

MAX_DESCRIPTION = 1_000
MAX_REQUESTS = 20
MAX_REQUEST = 200

_ADDRESS = re.compile(
    r"\b(?:(?:https?|ftps?|sftp|wss?|file|ldaps?|gopher)://|www\.)(?:[^\s/@]*@)?([^\s/:?#\"'<>)\]}`,]*)",
    re.IGNORECASE,
)


def wording_checks(draft: Draft, contract: ToolContract) -> list[Check]:
    """Faults in the wording of a draft; empty when there are none."""
    checks: list[Check] = []
    if not draft.description.strip():
        fix = "Say in a sentence or two what the tool does."
        checks.append(fail_check("static", "the description is empty", fix))
    texts = [
        ("description", draft.description, MAX_DESCRIPTION),
        ("the docstring's first line", contract.summary, MAX_DESCRIPTION),
    ]
    texts += [
        (where, text, MAX_DESCRIPTION)
        for schema in (contract.input_schema, contract.output_schema)
        for where, text in _words(schema)
    ]
    texts += [(f"use_when[{n}]", text, MAX_REQUEST) for n, text in enumerate(draft.use_when)]
    if len(draft.use_when) > MAX_REQUESTS:
        message = f"use_when has {len(draft.use_when)} requests, the limit is {MAX_REQUESTS}"
        checks.append(fail_check("static", message, "Keep about five, in different words."))
    parameters = contract.input_schema.get("properties", {})
    for where, text, limit in texts:
        checks += text_checks(where, text, limit, draft.grants)
    for name in (draft.name, *parameters):
        checks += text_checks(f"the name {name!r}", name.replace("_", " "), MAX_DESCRIPTION, draft.grants)
    return checks


def text_checks(where: str, text: str, limit: int, grants: Grants, stage: Stage = "static") -> list[Check]:
    """Faults in one text; `where` names it in messages."""
    checks = []
    if len(text) > limit:
        message = f"{where} has {len(text):,} characters, the limit is {limit:,}"
        checks.append(fail_check(stage, message, "Shorten it."))
        text = text[:limit]
    if found := HIDDEN.search(text):
        message = f"{where} holds the hidden character U+{ord(found.group()):04X}"
        checks.append(fail_check(stage, message, "Use visible characters only."))
    plain = unicodedata.normalize("NFKC", text)
    for address in _ADDRESS.finditer(plain):
        host = address.group(1).lower().rstrip(".")
        granted = (
            host == allowed or (allowed.startswith("*.") and host.endswith(allowed[1:]))
            for allowed in map(str.lower, grants.network)
        )
        if not any(granted):
            message = f"{where} holds an address that the tool has no grant for: {address.group()!r}"
            checks.append(fail_check(stage, message, "Describe the tool without the address."))
    return checks


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
