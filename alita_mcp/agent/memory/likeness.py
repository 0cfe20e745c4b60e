"""Similarity of two tasks, 0 to 1, by their words without values, and by what they want done.

Tasks that want another operation (the highest, the lowest) are not alike, however many words they share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from alita_mcp.library.words.stems import stems

SHARED_WEIGHT = 0.4
"""Of words that unlike tasks share; `count` says as little as `how many`: what is counted tells tasks apart."""
OTHER_OPERATION, ONE_OPERATION = 0.4, 0.75
"""What is left where the operations differ, or only one task names one."""
MOST_WORDS, MOST_CHARACTERS = 120, 20_000
_VALUES = re.compile(
    r"""https?://\S{1,2000} | "[^"\n]{1,200}" | “[^”\n]{1,200}” | «[^»\n]{1,200}» | `[^`\n]{1,200}`
    | (?<!\w)['\u2018][^'\u2019\n]{1,200}['\u2019](?!\w)
    | (?<![\w/.~-])[\w/.~-]{0,200}?[\w-]\.[A-Za-z]\w{0,6}(?![\w/])
    | (?<![\w.,-])-?\d[\w.,:/-]{0,60}
    | (?<=[a-z,;:]\ )[A-Z][\w'\u2019-]{1,40}(?:\ (?:(?:of|de|van|von|the|del|la)\ )?[A-Z][\w'\u2019-]{1,40}){0,4}""",
    re.VERBOSE,
)
"""Addresses, quotations, files, numbers with dates, and names: what differs between tasks of one kind."""

_OPERATIONS = """
sum total altogether overall add up; mean average typical; median; count many;
max maximum highest largest biggest greatest top longest hottest warmest busiest oldest best most;
min minimum lowest smallest least fewest shortest coldest worst; difference subtract gap;
ratio share percentage percent proportion; sort order rank arrange; translate translation;
merge join combine concatenate; split divide separate; remove delete drop strip; encode; decode; encrypt;
decrypt; compress zip; summarize summary condense; correlation correlate; variance deviation spread;
plot chart graph draw diagram; download fetch; upload; rename; validate check verify; reverse backwards;
random generate; duplicate duplicates repeated twice; earliest; latest newest; before; after;
increase grow growth rise; decrease shrink fall decline
"""

_SHARED = """
count many much find give get show name tell say want need please use make take see look let one some any every way
number part place other another
"""

_SYNONYMS = """
write wrote written author; speak spoke spoken; spend spent pay paid; buy bought purchase; sell sold;
begin began begun start; population inhabitants people; language tongue; page website site;
picture image photo photograph; link hyperlink; book novel
"""


@lru_cache(maxsize=4_096)
def _words(task: str) -> frozenset[str]:
    """The words of a task outside its values; words of one meaning are one."""
    return frozenset(_meanings(stems(_VALUES.sub(" ", task[:MOST_CHARACTERS]))[:MOST_WORDS]))


def task_similarity(task: str, other: str) -> float:
    """Similarity of two tasks, 0 to 1."""
    one, two = _words(task), _words(other)
    whole = _weight(one) + _weight(two)
    alike = 2 * _weight(one & two) / whole if whole else 0.0
    wants, others = ({word for word in words if word.startswith("operation ")} for words in (one, two))
    if not wants & others and wants != others:
        alike *= OTHER_OPERATION if wants and others else ONE_OPERATION
    return round(alike, 4)


def _weight(words: Iterable[str]) -> float:
    common = stems(_SHARED)
    return sum(SHARED_WEIGHT if word in common else 1.0 for word in words)


def _meanings(words: Iterable[str]) -> list[str]:
    """The words, each of a table as all words of its meaning."""
    known = _meaning_by_word()
    return [known.get(word, word) for word in words]


@lru_cache(maxsize=1)
def _meaning_by_word() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for table, mark in ((_SYNONYMS, ""), (_OPERATIONS, "operation ")):
        for words in table.split(";"):
            found |= dict.fromkeys(stems(words), f"{mark}{words}")
    return found
