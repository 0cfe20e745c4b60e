"""Counts that language models guess wrong: characters, words, sentences, occurrences."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+(?:['’.-]\w+)*")
_SENTENCE_END = re.compile(r"[.!?…]+(?=[\"'”’)\]]*(?:\s|$))|[。！？]+")


def text_statistics(text: str, find: str = "", match_case: bool = False) -> dict[str, int]:
    """Counts characters, words, sentences, lines and paragraphs of a text, and how often a phrase occurs.

    Args:
        text: Text to measure.
        find: Letter, word or phrase to count.
        match_case: Of `find`.

    Returns:
        `characters` (Unicode code points), `characters_without_spaces`, `utf8_bytes`, `words`, `unique_words`, `sentences`, `lines`,
        `paragraphs`, and `occurrences` of `find` (0 when nothing is looked for).

    Raises:
        ValueError: The text is longer than a million characters, or `find` longer than 200.
    """
    if len(find) > 200:
        raise ValueError("what is looked for is longer than 200 characters")
    if len(text) > 1_000_000:
        raise ValueError("the text is longer than a million characters")
    words = _WORD.findall(text)
    sentences = len(_SENTENCE_END.findall(text))
    tail = _SENTENCE_END.split(text)[-1]
    if _WORD.search(tail):
        sentences += 1
    return {
        "characters": len(text),
        "characters_without_spaces": len("".join(text.split())),
        "utf8_bytes": len(text.encode("utf-8")),
        "words": len(words),
        "unique_words": len({word.casefold() for word in words}),
        "sentences": sentences,
        "lines": _lines(text),
        "paragraphs": len([part for part in re.split(r"\n\s*\n", text) if part.strip()]),
        "occurrences": _occurrences(text, find, match_case),
    }


def _lines(text: str) -> int:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return plain.count("\n") + (1 if plain and not plain.endswith("\n") else 0)


def _occurrences(text: str, find: str, match_case: bool) -> int:
    if not find:
        return 0
    if match_case:
        return text.count(find)
    return text.casefold().count(find.casefold())
