"""What kind of failure a rejection is, and when two of them are the same: a rejection in, class and signature out."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Literal

from alita_mcp.synthesis.outcomes import Rejected

FailureClass = Literal[
    "syntax", "dependency", "assertion", "exception", "time-out", "memory", "schema", "policy", "flakiness", "evidence"
]  # fmt: skip
"""`evidence` is the one that code cannot mend: the tests prove too little."""

_WORDS: tuple[tuple[str, FailureClass], ...] = (
    ("out of time", "time-out"),
    ("out of memory", "memory"),
    ("not json", "schema"),
    ("does not fit the return annotation", "schema"),
    ("against the schema", "schema"),
    ("does not load", "dependency"),
    ("raised", "exception"),
    ("raises", "exception"),
    ("printed too much", "exception"),
    ("the process died", "exception"),
    ("contradict", "evidence"),
    ("constant", "evidence"),
)
_STATIC: tuple[tuple[str, FailureClass], ...] = (
    ("does not parse", "syntax"),
    ("syntax", "syntax"),
    ("undefined name", "syntax"),
    ("import", "dependency"),
    ("package", "dependency"),
    ("credential", "policy"),
    ("secret", "policy"),
)
_VARYING = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?|'[^']*'|\"[^\"]*\"")


def classify(rejected: Rejected) -> FailureClass:
    """The class whose instruction helps best."""
    reason = rejected.reason.lower()
    match rejected.stage:
        case "environment":
            return "dependency"
        case "determinism":
            return "flakiness"
        case "schema" | "policy":
            return rejected.stage
        case "mutation" | "agreement":
            return "evidence"
        case "static":
            if "at import" in reason:
                return "policy"
            return next((kind for word, kind in _STATIC if word in reason), "schema")
    return next((kind for word, kind in _WORDS if word in reason), "assertion")


def signature(rejected: Rejected) -> str:
    """The same for failures that differ in numbers and names only: twice in a row, and mending leads nowhere."""
    said = _VARYING.sub("…", rejected.reason)
    where = json.dumps([rejected.stage, classify(rejected), said, rejected.case, rejected.got], default=repr)
    return hashlib.sha256(where.encode()).hexdigest()


def without_values(text: str, limit: int = 200) -> str:
    """A reason that tells nothing of the inputs it was found with."""
    return _VARYING.sub("…", text)[:limit]
