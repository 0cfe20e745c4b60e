"""What an author is told of a failure, above all of one with an example that stays hidden."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.toolsmith.requests.outcomes import Rejected
from alita_mcp.values import Example
from alita_mcp.verification.findings import cut_arguments

_ERROR = re.compile(
    r"(?:(?<!check )raised |the module does not load|the result is not JSON|the process died|printed too much).*?"
    r"(?=; example |, which neither |$)",
    re.DOTALL,
)
"""An error in a reason, with its message; the reason may go on behind it."""
_ENDINGS = (
    "does not fit the return annotation", "the check raised", "out of time", "out of memory",
    "it returned another result", "it returned a result", "the check does not hold",
    "gave another result in a fresh process",
)  # fmt: skip
"""What follows these is made of values."""
_PLACE = re.compile(r"[^:\s]{1,80}:(\d{1,5}) in ")
_WORD = re.compile(r"[^\W_]+")
HIDDEN = "…"
MAX_ERROR = 300
MAX_LINE = 160
MIN_PART = 4
"""Shorter parts of a value's words stand in others by chance."""
MIN_PIECES = 6
"""Shorter inputs are alike by chance."""
NEAR = 0.7


def blames_tests(rejected: Rejected) -> bool:
    """Whether the tests prove too little or contradict one another, which no change of the code repairs."""
    told = any(words in rejected.reason for words in ("contradict each other", "a function that always"))
    return rejected.stage in ("mutation", "agreement") or (rejected.stage == "examples" and told)


def shows(case: Mapping[str, Any] | None, hidden: Example) -> bool:
    """Whether a call is that of an example, as checks cut it, or near it: gates vary the examples that they have."""
    if case is None:
        return False
    if case in (hidden.arguments, cut_arguments(hidden.arguments)):
        return True
    calls = (list(arguments.values()) for arguments in (case, hidden.arguments))
    texts = (json.dumps(values, ensure_ascii=False, default=str) for values in calls)
    one, other = ({text[at : at + 3] for at in range(len(text) - 2)} for text in texts)
    return min(len(one), len(other)) >= MIN_PIECES and 2 * len(one & other) >= NEAR * (len(one) + len(other))


def describe_hidden_failure(reason: str, example: Example, code: str, trace: Sequence[str] = ()) -> str:
    """Returns how the example failed, for the code's author, who may not see the example.

    An error is told as it is, without numbers and the words of the example's values, with the line that it came from.
    """
    error = _ERROR.search(reason)
    if error is None:
        return next((ending for ending in _ENDINGS if ending in reason), "it fails")
    words = set[str]()  # of the example's values
    values: list[Any] = [*example.arguments.values(), example.expected]
    while values:
        match values.pop():
            case list(parts):
                values += parts
            case dict(parts):
                values += [*parts, *parts.values()]
            case scalar:
                words.update(map(str.casefold, _WORD.findall(str(scalar))))
    all_words = "\n".join(words)

    def mask(found: re.Match[str]) -> str:
        word = found[0].casefold()
        is_number = word[0].isdecimal() or sum(map(str.isdecimal, word)) >= MIN_PART
        is_of_a_value = word in words or (len(word) >= MIN_PART and word in all_words)
        return HIDDEN if is_number or is_of_a_value else found[0]

    masked = " ".join(_WORD.sub(mask, error[0][:MAX_ERROR]).split())
    subject = "it " if error[0].startswith("raised") else ""
    # the line as its author wrote it: a trace is believed its number alone
    number = next((int(found[1]) for line in reversed(trace) if (found := _PLACE.match(line))), 0)
    lines = code.splitlines()
    line = f" in line {number}: {lines[number - 1].strip()[:MAX_LINE]}" if 0 < number <= len(lines) else ""
    return f"{subject}{masked}{line}"
