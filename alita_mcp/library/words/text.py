"""Documents and queries of word search, and the words they are compared by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

Tokens = Callable[[str], list[str]]

MAX_QUERY_CHARACTERS = 2_000

_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for from i if in into is it my no not of on or such that the their then"
        " there these they this to was will with you your",
    )
)


@dataclass(frozen=True)
class Document:
    """Text that a tool is found by, in its parts."""

    text: str
    """What it says of itself: name, description, parameters, tags."""
    hash: str
    about: str = ""
    """`name in words: description`, what an embedder is given."""
    requests: tuple[str, ...] = ()
    """Requests that it is said to serve."""


def compose(
    name: str,
    description: str,
    parameters: Iterable[tuple[str, str]] = (),
    *,
    tags: Sequence[str] = (),
    requests: Sequence[str] = (),
) -> Document:
    """A document of these parts; parameters are pairs of name and description."""
    words = split_words(name)
    said = [f"{split_words(parameter)} {about}" for parameter, about in parameters]
    text = " ".join([words, description, *said, *tags])
    about = f"{words}: {description}"
    seal = "\0".join([" ".join([text, *requests]), about, *requests]).encode("utf-8", "replace")
    return Document(text, hashlib.sha256(seal).hexdigest()[:16], about, tuple(requests))


def without_request(document: Document, at: int) -> Document:
    """The document with one of its example requests left out."""
    left = document.requests
    return Document(document.text, "", document.about, (*left[:at], *left[at + 1 :]))


def split_words(identifier: str) -> str:
    """`toCSVFile`, `to_csv_file` and `to-csv-file` as words."""
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", identifier)
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
    return re.sub(r"[_.\-/]+", " ", text)


def bounded_query(query: str) -> str:
    """The query as any model can take it: bounded, no lone surrogates, no control characters."""
    text = query[:MAX_QUERY_CHARACTERS].encode("utf-8", "replace").decode()
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def clean_query(query: str) -> str:
    """The query as it is searched for by words: bounded, in lower case, each word once."""
    return " ".join(dict.fromkeys(bounded_query(query).lower().split()))


def plain_tokens(text: str) -> list[str]:
    """Words without a stemmer: lower case, no stop words, no plural s."""
    words = re.findall(r"[^\W_]+", text.lower())
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") else word
        for word in words
        if word not in _STOP_WORDS
    ]


def words_of(text: str) -> frozenset[str]:
    """The words of a text, those inside identifiers too, for comparing it with another one."""
    return frozenset(plain_tokens(split_words(text)))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Of the words of two texts: the share that both have."""
    return len(one & other) / max(1, len(one | other))


@lru_cache(maxsize=2_000)
def letter_groups(word: str) -> frozenset[str]:
    """All runs of three and of four letters, with the word's two ends marked."""
    marked = f"#{word[:40]}#"
    return frozenset(marked[at : at + size] for size in (3, 4) for at in range(len(marked) - size + 1))
