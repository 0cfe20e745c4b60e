"""Linter for texts that a model will read: descriptions, parameter descriptions, example requests.

A description is shown to every connected model, so it must describe and nothing else: no hidden characters,
no instructions, no address that the tool has no grant for (tool poisoning).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from itertools import islice

from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Check, Draft, Grants, Stage, ToolContract
from alita_mcp.verification.findings import failed
from alita_mcp.verification.wording.imperatives import imperatives_in

MAX_DESCRIPTION = 1_000
MAX_REQUESTS = 20
MAX_REQUEST = 200
MAX_IMPERATIVES = 3
MAX_SHOWN = 120

_ADDRESS = re.compile(
    r"\b(?:(?:https?|ftps?|sftp|wss?|file|ldaps?|gopher)://|www\.)(?:[^\s/@]*@)?([^\s/:?#\"'<>)\]}`,]*)",
    re.IGNORECASE,
)


def wording_checks(draft: Draft, contract: ToolContract) -> list[Check]:
    """Faults in the wording of a draft; empty when there are none."""
    checks: list[Check] = []
    if not draft.description.strip():
        fix = "Say in a sentence or two what the tool does."
        checks.append(failed("static", "the description is empty", fix))
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
    parameters = contract.input_schema.get("properties", {})
    own_names = {draft.name, *parameters, *draft.grants.tools}
    for where, text, limit in texts:
        checks += text_checks(where, text, limit, draft.grants, own_names=own_names)
    for name in (draft.name, *parameters):
        checks += text_checks(f"the name {name!r}", name.replace("_", " "), MAX_DESCRIPTION, draft.grants)
    return checks


def text_checks(
    where: str,
    text: str,
    limit: int,
    grants: Grants,
    stage: Stage = "static",
    own_names: Collection[str] = (),
) -> list[Check]:
    """Faults in one text; `where` names it in messages, `own_names` are those of tool and parameters."""
    checks = []
    if len(text) > limit:
        message = f"{where} has {len(text):,} characters, the limit is {limit:,}"
        checks.append(failed(stage, message, "Say it shorter."))
        text = text[:limit]
    if found := HIDDEN.search(text):
        message = f"{where} holds the hidden character U+{ord(found.group()):04X}"
        checks.append(failed(stage, message, "Use visible characters only."))
    plain = unicodedata.normalize("NFKC", text)
    for address in _ADDRESS.finditer(plain):
        if not _granted(address.group(1).lower().rstrip("."), grants):
            message = f"{where} holds an address that the tool has no grant for: {address.group()!r}"
            checks.append(failed(stage, message, "Describe the tool without the address."))
    for imperative in islice(imperatives_in(text, own_names), MAX_IMPERATIVES):
        message = f"{where} gives orders to the model: {imperative[:MAX_SHOWN]!r}"
        fix = "Describe what the tool does; leave out what others should do, other tools, and private files."
        checks.append(failed(stage, message, fix))
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
