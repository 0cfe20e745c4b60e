"""Similarity of two tasks, 0 to 1, by words and structure, regardless of literals.

Words with the same meaning or nearly the same spelling count as one another. Tasks that want another operation done
(the highest, the lowest) are not alike, however many words they share.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from alita_mcp.agent.memory.wording.literals import literals
from alita_mcp.agent.memory.wording.parameters import PARAMETER, kind_of
from alita_mcp.library.words.stems import stems

SAME_MEANING, MOST_SPELLED, SPELLED_FROM = 0.8, 0.8, 0.5
VALUE_FORGIVEN = 0.8
"""Of the weight of a word that may stand where the other task has a value."""
NAME_WEIGHT = 0.25
"""Of the words of a name, which mostly is a value."""
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

_ALSO = """
write wrote written author
speak spoke spoken say said
spend spent pay paid
buy bought purchase
sell sold
begin began begun start
find found
give gave given
population inhabitants people
count number many
much total sum
current newest latest recent
show list
language tongue
way method
page website site
picture image photo photograph
link hyperlink
book novel
"""
"""Words with one meaning that stems do not bring together."""


class _Features(NamedTuple):
    """A task prepared for comparison."""

    weights: Mapping[str, float]
    """Its words but the values, with what each says."""
    kinds: tuple[str, ...]
    """Of its values, sorted."""
    operations: frozenset[int]
    texts: int
    """How many of its values are texts."""


@lru_cache(maxsize=4_096)
def _features(task: str) -> _Features:
    """Prepares a task, or one with `{parameter}` in it, for comparison."""
    kinds = [kind_of(name) for name in PARAMETER.findall(task)]
    plain = PARAMETER.sub(" ", task)
    weights: dict[str, float] = {}
    rest = list(plain)
    for each in literals(plain):
        kinds.append("text" if each.kind in ("quote", "name") else each.kind)
        rest[each.start : each.end] = " " * (each.end - each.start)
        if each.kind == "name":
            weights |= dict.fromkeys(stems(each.text), NAME_WEIGHT)
    words = list(dict.fromkeys(stems("".join(rest))))[:MOST_WORDS]
    known = _operations()
    weights |= {word: SHARED_WEIGHT if word in _common_words() else 1.0 for word in words}
    operations = frozenset(known[word] for word in words if word in known)
    return _Features(weights, tuple(sorted(kinds)), operations, kinds.count("text"))


def task_similarity(task: str, other: str) -> float:
    """Similarity of two tasks, 0 to 1."""
    one, two = _features(task), _features(other)
    there = _coverage(one.weights, two.weights, two.texts - one.texts)
    back = _coverage(two.weights, one.weights, one.texts - two.texts)
    words = 2 * there * back / (there + back) if there + back else 0.0
    # Tasks with other kinds of values are a little less alike; a year is a number too.
    kinds, others = ({"number" if kind == "year" else kind for kind in each.kinds} for each in (one, two))
    same_kinds = len(kinds & others) / len(kinds | others) if kinds | others else 1.0
    alike = words * (1 - OTHER_STRUCTURE * (1 - same_kinds))
    # Tasks that want something else done are much less alike.
    if not one.operations & two.operations and one.operations != two.operations:
        alike *= OTHER_OPERATION if one.operations and two.operations else ONE_OPERATION
    return round(min(1.0, alike), 4)


def coverage(subject: str, task: str) -> float:
    """Share of a subject's words that a task mentions, 0 to 1, with names and numbers."""
    said = dict.fromkeys(stems(task)[: 4 * MOST_WORDS], 1.0)
    return round(_coverage(dict.fromkeys(stems(subject)[:MOST_WORDS], 1.0), said, 0), 4)


def _coverage(asked: Mapping[str, float], has: Mapping[str, float], values: int) -> float:
    """Which part of the words the other one has, or has something like; so many of the others may be values."""
    given = [(_credit(word, has), weight) for word, weight in asked.items()]
    strange = sorted((weight for credit, weight in given if not credit), reverse=True)[: max(0, values)]
    whole = sum(asked.values()) - VALUE_FORGIVEN * sum(strange)
    return sum(credit * weight for credit, weight in given) / whole if whole > 0 else 0.0


def _credit(word: str, has: Mapping[str, float]) -> float:
    """Credit for a word among others: 1, less for a synonym or a similar spelling, or 0."""
    if word in has:
        return 1.0
    known = _operations()
    same_operation = word in known and any(known.get(other) == known[word] for other in has)
    if same_operation or not _synonyms().get(word, frozenset()).isdisjoint(has):
        return SAME_MEANING
    return max((_spelling_similarity(word, other) for other in has), default=0.0)


@lru_cache(maxsize=20_000)
def _spelling_similarity(word: str, other: str) -> float:
    if word[:2] != other[:2] or word.isdigit() or other.isdigit():
        return 0.0
    one, two = ({f" {each} "[at : at + 3] for at in range(len(each))} for each in (word, other))
    share = 2 * len(one & two) / (len(one) + len(two))
    return min(MOST_SPELLED, share) if share >= SPELLED_FROM else 0.0


@lru_cache(maxsize=1)
def _common_words() -> frozenset[str]:
    return frozenset(stems(_SHARED))


@lru_cache(maxsize=1)
def _operations() -> Mapping[str, int]:
    return {word: at for at, line in enumerate(_OPERATIONS.strip().splitlines()) for word in stems(line)}


@lru_cache(maxsize=1)
def _synonyms() -> Mapping[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in _ALSO.strip().splitlines():
        group = frozenset(stems(line))
        for word in group:
            found[word] = found.get(word, frozenset()) | group - {word}
    return found
