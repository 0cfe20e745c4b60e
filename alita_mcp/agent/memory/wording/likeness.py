"""Similarity of two tasks, 0 to 1, by their words without literals, and by what they want done.

Tasks that want another operation (the highest, the lowest) are not alike, however many words they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from alita_mcp.agent.memory.wording.literals import literals
from alita_mcp.agent.memory.wording.parameters import PARAMETER, kind_of
from alita_mcp.library.words.stems import stems

SHARED_WEIGHT = 0.4
"""Of words that unlike tasks share; `count` says as little as `how many`: what is counted tells tasks apart."""
OTHER_OPERATION, ONE_OPERATION, OTHER_STRUCTURE = 0.4, 0.75, 0.15
"""What is left where the operations differ, or only one task names one; what differing kinds of values cost."""
MOST_WORDS = 120

_OPERATIONS = """
sum total altogether overall add up
mean average typical
median
count many
max maximum highest largest biggest greatest top longest hottest warmest busiest oldest best most
min minimum lowest smallest least fewest shortest coldest worst
difference subtract gap
ratio share percentage percent proportion
sort order rank arrange
translate translation
merge join combine concatenate
split divide separate
remove delete drop strip
encode
decode
encrypt
decrypt
compress zip
summarize summary condense
correlation correlate
variance deviation spread
plot chart graph draw diagram
download fetch
upload
rename
validate check verify
reverse backwards
random generate
duplicate duplicates repeated twice
earliest
latest newest
before
after
increase grow growth rise
decrease shrink fall decline
"""

_SHARED = """
count many much find give get show name tell say want need please use make take see look let one some any every way
number part place other another
"""

_SYNONYMS = """
write wrote written author
speak spoke spoken
spend spent pay paid
buy bought purchase
sell sold
begin began begun start
population inhabitants people
language tongue
page website site
picture image photo photograph
link hyperlink
book novel
"""


class _Features(NamedTuple):
    """A task prepared for comparison."""

    words: frozenset[str]
    """Those outside its values; words of one meaning are one."""
    kinds: frozenset[str]
    """Of its values."""
    operations: frozenset[str]


@lru_cache(maxsize=4_096)
def _features(task: str) -> _Features:
    """Prepares a task, or one with `{parameter}` in it, for comparison."""
    kinds = {kind_of(name) for name in PARAMETER.findall(task)}
    plain = PARAMETER.sub(" ", task)
    rest = list(plain)
    for each in literals(plain):
        kinds.add("text" if each.kind in ("quote", "name") else each.kind)
        rest[each.start : each.end] = " " * (each.end - each.start)
    words = frozenset(_meanings(stems("".join(rest))[:MOST_WORDS]))
    kinds = {"number" if kind == "year" else kind for kind in kinds}
    return _Features(
        words, frozenset(kinds), frozenset(each for each in words if each.startswith("operation "))
    )


def task_similarity(task: str, other: str) -> float:
    """Similarity of two tasks, 0 to 1."""
    one, two = _features(task), _features(other)
    whole = _weight(one.words) + _weight(two.words)
    alike = 2 * _weight(one.words & two.words) / whole if whole else 0.0
    kinds = one.kinds | two.kinds
    same_kinds = len(one.kinds & two.kinds) / len(kinds) if kinds else 1.0
    alike *= 1 - OTHER_STRUCTURE * (1 - same_kinds)
    if not one.operations & two.operations and one.operations != two.operations:
        alike *= OTHER_OPERATION if one.operations and two.operations else ONE_OPERATION
    return round(alike, 4)


def coverage(subject: str, task: str) -> float:
    """Share of a subject's words that a task mentions, 0 to 1, with names and numbers."""
    asked, said = set(_meanings(stems(subject)[:MOST_WORDS])), _meanings(stems(task)[: 4 * MOST_WORDS])
    return round(len(asked.intersection(said)) / len(asked), 4) if asked else 0.0


def _weight(words: Iterable[str]) -> float:
    return sum(SHARED_WEIGHT if word in _common_words() else 1.0 for word in words)


@lru_cache(maxsize=1)
def _common_words() -> frozenset[str]:
    return frozenset(stems(_SHARED))


def _meanings(words: Iterable[str]) -> list[str]:
    """The words, each of a table as its whole line."""
    known = _meaning_by_word()
    return [known.get(word, word) for word in words]


@lru_cache(maxsize=1)
def _meaning_by_word() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for table, mark in ((_SYNONYMS, ""), (_OPERATIONS, "operation ")):
        for line in table.strip().splitlines():
            found |= dict.fromkeys(stems(line), f"{mark}{line}")
    return found
