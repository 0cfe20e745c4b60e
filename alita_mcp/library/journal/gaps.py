"""Missing capabilities: searches that found no tool, grouped by like words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from alita_mcp.library.catalogue.use import FOUND_NOTHING
from alita_mcp.library.rows import JournalRow
from alita_mcp.library.words.text import plain_tokens, split_words
from alita_mcp.values import Value

ALIKE_FROM = 0.4
"""Share of common words from which on two searches mean one thing."""
MAX_TEXTS = 10_000
"""So many different searches are looked at, the newest ones."""
COMPARED = 40
"""A search is compared with so many others that share a word with it, for each of its words."""
MAX_SHOWN = 5
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]"
)


class Gap(Value):
    """Capability that was searched for in vain."""

    need: str
    """How it was asked for most often."""
    times: int
    others: tuple[str, ...] = ()
    """The same in other words, the most frequent first."""
    first: str
    last: str
    """When it was searched for."""
    nearest: str = ""
    """The tool that came nearest the last time, if any did."""
    now: str = ""
    """A tool that has come since and fits."""


def find_gaps(rows: Iterable[JournalRow]) -> list[Gap]:
    """Gaps, the most wanted first, from rows of the journal; those of other events do not matter."""
    asked: dict[str, list[JournalRow]] = {}
    for row in sorted(rows, key=lambda row: row.id, reverse=True):
        text = str(row.detail.get("query", "")) if row.event == FOUND_NOTHING else ""
        if text and (text in asked or len(asked) < MAX_TEXTS):
            asked.setdefault(text, []).append(row)
    gaps = [_gap({text: asked[text] for text in texts}) for texts in together(list(asked))]
    return sorted(gaps, key=lambda gap: (gap.times, gap.last), reverse=True)


def together(texts: Sequence[str]) -> list[list[str]]:
    """Texts in groups: each shares enough of its words with another one of its group.

    Only the newest few with a word in common are compared, so the time grows as the number of texts.
    """
    alike: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for text in texts:
        alike[words_of(text)].append(text)
    words = list(alike)
    group = list(range(len(words)))

    def leader(number: int) -> int:
        while group[number] != number:
            group[number] = number = group[group[number]]
        return number

    for one, other in pairs_alike(words):
        group[leader(one)] = leader(other)
    groups: dict[int, list[str]] = {}
    for number, own in enumerate(words):
        groups.setdefault(leader(number), []).extend(alike[own])
    return list(groups.values())


def pairs_alike(words: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Pairs that share enough words, each a later and an earlier one."""
    holders: defaultdict[str, deque[int]] = defaultdict(lambda: deque(maxlen=COMPARED))
    for number, own in enumerate(words):
        shared = Counter(other for word in own for other in holders[word])
        for other, count in shared.items():
            if count >= ALIKE_FROM * (len(own) + len(words[other]) - count):
                yield number, other
        for word in own:
            holders[word].append(number)


def words_of(text: str) -> frozenset[str]:
    """Words to compare two searches by, and pairs of letters where a script writes no spaces."""
    words: set[str] = set()
    for word in plain_tokens(split_words(unicodedata.normalize("NFKC", text).casefold())):
        if len(word) > 1 and _UNSPACED.search(word):
            words |= {word[at : at + 2] for at in range(len(word) - 1)}
        else:
            words.add(word)
    return frozenset(words) or frozenset([text])


def _gap(asked: Mapping[str, Sequence[JournalRow]]) -> Gap:
    rows = sorted((row for each in asked.values() for row in each), key=lambda row: row.id)
    texts = sorted(asked, key=lambda text: (-len(asked[text]), len(text), text))
    return Gap(
        need=texts[0],
        times=len(rows),
        others=tuple(texts[1 : MAX_SHOWN + 1]),
        first=rows[0].time,
        last=rows[-1].time,
        nearest=str(rows[-1].detail.get("nearest", "")),
    )
