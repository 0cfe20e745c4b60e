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
MOST_WORDS = 120
MOST_CHARACTERS = 20_000
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


@lru_cache(maxsize=4_096)
def _words(task: str) -> frozenset[str]:
    """The words of a task outside its values; words of one meaning are one."""
    return frozenset(_meanings(stems(_VALUES.sub(" ", task[:MOST_CHARACTERS]))[:MOST_WORDS]))


def task_similarity(task: str, other: str) -> float:
    """Similarity of two tasks, 0 to 1."""
    one, two = _words(task), _words(other)
    whole = _weight(one) + _weight(two)
    alike = 2 * _weight(one & two) / whole if whole else 0.0
    wanted, other_wanted = (
        frozenset(word for word in each if word.startswith("operation ")) for each in (one, two)
    )
    if not wanted & other_wanted and wanted != other_wanted:
        alike *= OTHER_OPERATION if wanted and other_wanted else ONE_OPERATION
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
