"""Failure classes of rejections, their signatures, and what may be disclosed of them to whom."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from alita_mcp.synthesis.failures.error_words import HIDDEN, known_message, known_type, python_names, words_of
from alita_mcp.synthesis.requests.outcomes import Rejected
from alita_mcp.values import Example
from alita_mcp.verification.findings import shown_arguments

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
_MASKED = re.compile(r"0x[0-9a-f]+|\d+(\.\d+)?|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`")
_INPUT = "with {"
"""Opens a generated input in a reason."""
_RAISED = "raised "
_SILENT = ("does not fit the return annotation", "the check raised ")
"""What follows these is made of values."""
_OPENED = ("the module does not load", "the result is not JSON", "the process died", "printed too much")
_SPOKEN = re.compile("|".join((*_SILENT, _RAISED, *_OPENED)))
_ENDINGS = (
    "out of time", "out of memory", "it returned another result", "it returned a result", "the check does not hold",
    "gave another result in a fresh process",
)  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_PLACE = re.compile(r"[^:\s]{1,80}:(\d{1,5}) in ")
MAX_TOLD = 600
MAX_LINE = 160
MAX_LESSON = 300
MIN_PIECES = 6
"""Shorter inputs are alike by chance."""
NEAR = 0.7


def classify(rejected: Rejected) -> FailureClass:
    """Returns the failure class, which decides the instruction for the author."""
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
    """Returns a key that is equal for failures which differ in numbers and names only: repairing leads nowhere then."""
    said = _VARYING.sub("…", rejected.reason)
    where = json.dumps([rejected.stage, classify(rejected), said, rejected.case, rejected.got], default=repr)
    return hashlib.sha256(where.encode()).hexdigest()


def lesson_text(rejected: Rejected) -> str:
    """Lesson of a rejection that other requests may read."""
    return f"{without_values(rejected.reason)[:MAX_LESSON]} {_MASKED.sub(_python_or_hidden, rejected.fix)}"[
        :500
    ]


def without_values(reason: str) -> str:
    """A reason for strangers: without inputs, quoted words, numbers, and what an error says in its code's own words."""
    said, spoken, rest = _parted(reason)
    said, generated, _ = said.partition(_INPUT)
    ending = _ending(reason) if generated and not spoken else ""
    told = _error_words(spoken, rest, python_names(), frozenset()) if spoken else ""
    own = _MASKED.sub(_python_or_hidden, said) + ("with an input: " if generated else "")
    return f"{own}{spoken or ending}{told}".strip()[:MAX_TOLD]


def shows(case: Mapping[str, Any] | None, hidden: Example) -> bool:
    """Whether a call is that of an example, as checks cut it, or near it: gates vary the examples that they have."""
    if case is None:
        return False
    if case in (hidden.arguments, shown_arguments(hidden.arguments)):
        return True
    one, other = (_pieces_of(arguments) for arguments in (case, hidden.arguments))
    return min(len(one), len(other)) >= MIN_PIECES and 2 * len(one & other) >= NEAR * (len(one) + len(other))


def _pieces_of(arguments: Mapping[str, Any]) -> frozenset[str]:
    """Three characters each of what the values are as JSON."""
    text = json.dumps(list(arguments.values()), ensure_ascii=False, default=str)
    return frozenset(text[at : at + 3] for at in range(len(text) - 2))


def hidden_failure(reason: str, example: Example, code: str, trace: Sequence[str] = ()) -> str:
    """Description of a failure for the author of its code, who may see neither the example nor anything made from it.

    Names in Python's own messages are shown where the code or Python holds them and the example does not; of what the
    code says itself, nothing but the line that it says it in.
    """
    said, spoken, rest = _parted(reason)
    if not spoken:
        return _ending(said) or "it fails"
    known = python_names() | frozenset(_IDENTIFIER.findall(code))
    hidden = words_of([*example.arguments.values(), example.expected])
    words = f"it {spoken}" if spoken == _RAISED else spoken.strip()
    return f"{words}{_error_words(spoken, rest, known, hidden)}{_line_of(trace, code)}"[:MAX_TOLD]


def _ending(said: str) -> str:
    return next((ending for ending in _ENDINGS if ending in said), "")


def _parted(reason: str) -> tuple[str, str, str]:
    """Our own words, what opens the words of somebody else, and those."""
    found = _SPOKEN.search(reason)
    return (reason, "", "") if found is None else (reason[: found.start()], found[0], reason[found.end() :])


def _error_words(spoken: str, rest: str, known: frozenset[str], hidden: frozenset[str]) -> str:
    """What may be told of somebody else's words; the reason may go on behind them."""
    if spoken in _SILENT:
        return ""
    kind, _, message = rest.removeprefix(": ").partition(": ")
    kind = known_type(kind.partition(",")[0].partition(";")[0].strip(), known, hidden)
    name = kind or ("an error" if spoken == _RAISED else "")
    parts = (
        message,
        message.partition("; example ")[0],
        message.rpartition(", which neither")[0],
        "" if kind else rest.removeprefix(": "),
    )
    told = next(filter(None, (known_message(part, known, hidden) for part in parts)), "")
    space = "" if spoken == _RAISED or not (name or told) else ": "
    return space + ": ".join(part for part in (name, told) if part)


def _line_of(trace: Sequence[str], code: str) -> str:
    """The line of the code that failed, as its author wrote it; a trace is believed its number alone."""
    number = next((int(found[1]) for line in reversed(trace) if (found := _PLACE.match(line))), 0)
    lines = code.splitlines()
    return f" in line {number}: {lines[number - 1].strip()[:MAX_LINE]}" if 0 < number <= len(lines) else ""


def _python_or_hidden(found: re.Match[str]) -> str:
    return found[0] if found[0].strip("'\"`") in python_names() else HIDDEN
