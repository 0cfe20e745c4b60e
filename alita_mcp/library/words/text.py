"""Text of queries and identifiers, and the words that two texts have in common."""

from __future__ import annotations

import re

from alita_mcp.library.words.stems import STOP_WORDS

MAX_QUERY_CHARACTERS = 2_000


def split_words(identifier: str) -> str:
    """`toCSVFile`, `to_csv_file` and `to-csv-file` as words."""
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", identifier)
    text = re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return re.sub(r"[_.\-/]+", " ", text)


def clean_query(query: str) -> str:
    """The query as any model can take it: bounded, no lone surrogates, no control characters."""
    text = query[:MAX_QUERY_CHARACTERS].encode("utf-8", "replace").decode()
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def plain_tokens(text: str) -> list[str]:
    """Words without a stemmer: lower case, no stop words, no plural s."""
    words = re.findall(r"[^\W_]+", text.lower())
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in words
        if word not in STOP_WORDS
    ]


def words_of(text: str) -> frozenset[str]:
    """The words of a text, those inside identifiers too, for comparing it with another one."""
    return frozenset(plain_tokens(split_words(text)))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Of the words of two texts: the share that both have."""
    return len(one & other) / max(1, len(one | other))
