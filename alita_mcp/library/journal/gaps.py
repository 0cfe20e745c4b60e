"""Missing capabilities: searches that found no tool, grouped by like words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from alita_mcp.library.catalogue.use import FOUND_NOTHING
from alita_mcp.library.rows import JournalRow
from alita_mcp.library.words.text import likeness, plain_tokens, split_words
from alita_mcp.values import Value

ALIKE_FROM = 0.4
"""Share of common words from which on two searches mean one thing."""
MAX_TEXTS = 1_000
"""So many different searches are looked at, the newest ones."""
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
    gaps = []
    for texts in group_texts(asked):
        found = sorted((row for text in texts for row in asked[text]), key=lambda row: row.id)
        texts.sort(key=lambda text: (-len(asked[text]), len(text), text))
        gaps.append(
            Gap(
                need=texts[0],
                times=len(found),
                others=tuple(texts[1 : MAX_SHOWN + 1]),
                first=found[0].time,
                last=found[-1].time,
                nearest=str(found[-1].detail.get("nearest", "")),
            )
        )
    return sorted(gaps, key=lambda gap: (gap.times, gap.last), reverse=True)


def group_texts(texts: Iterable[str]) -> list[list[str]]:
    """Texts in groups: each shares enough of its words with the first one of its group."""
    groups: list[tuple[frozenset[str], list[str]]] = []
    for text in texts:
        words = words_of(text)
        group = next((group for known, group in groups if likeness(words, known) >= ALIKE_FROM), None)
        if group is None:
            groups.append((words, [text]))
        else:
            group.append(text)
    return [group for _, group in groups]


def words_of(text: str) -> frozenset[str]:
    """Words to compare two searches by, and pairs of letters where a script writes no spaces."""
    words: set[str] = set()
    for word in plain_tokens(split_words(unicodedata.normalize("NFKC", text).casefold())):
        if len(word) > 1 and _UNSPACED.search(word):
            words |= {word[at : at + 2] for at in range(len(word) - 1)}
        else:
            words.add(word)
    return frozenset(words) or frozenset([text])
