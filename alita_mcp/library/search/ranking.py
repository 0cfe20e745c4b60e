"""Ranking of tools for a need by words, and by cosines where there are some, with one calibrated certainty for both."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Literal, NamedTuple

from alita_mcp.library.search.answer import MATCH_FROM, POSSIBLE_FROM
from alita_mcp.library.words.everyday_words import SHARE, everyday
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.thesaurus import companions
from alita_mcp.values import Value

MATCHED = 200
"""So many tools with most of a need's words are ranked."""
MOST_READ = 20_000
"""Rows that a search reads for its words, the rarest first; in a smaller library all of them."""
MAX_TERMS = 48
"""A need is a sentence; the certainty is calibrated for sentences."""
RELATED, RELATED_COVERS = 0.2, 0.6
"""What words that mean nearly the same as those of the need count, in BM25 and in the certainty."""
WORDS_BESIDE_COSINE = 0.02
"""Weight of BM25 beside the cosine; better than rank fusion, and flat around its best value."""
BORNE_OUT, BEYOND = 4.0, 120
"""What example requests add counts up to so many times what the tool's own words give, and beyond that by the share of
this number in all their characters: whoever lists many needs gets little for each."""
DECAY: Mapping[str, float] = {"words": 0.2, "meaning": 5.0}
"""How fast the probability falls with the distance of the score from the best one's."""
SHOWN = 50
COMPARED = 5
UNSEEN_RIVALS = 8
"""In a library of a few tools the best result leads for want of rivals; its lead counts as if there were more."""
LEAST_ASKED_FOR, LONG_DESCRIPTION = 0.35, 60
"""A match asks for this part of a name and description of so many words, and for less of a shorter one."""
LEAST_LEFT = 0.5
"""By words, a tool with a long description of which less is asked for loses up to this part of its score."""

Kind = Literal["words", "meaning"]
FEATURES: Mapping[Kind, Sequence[str]] = {
    "words": ("lead", "back", "shared", "margin"),
    "meaning": ("lead", "back", "shared", "margin", "cos"),
}

_RANKED = """
SELECT d.name, own, every, length(t.requests) FROM (
    SELECT rowid AS row, -bm25(document_text, 3.0, 1.5, 0.6, 0.0) AS own,
        -bm25(document_text, 3.0, 1.5, 0.6, 1.0) AS every
    FROM document_text WHERE document_text MATCH ? ORDER BY every DESC LIMIT ?
) m JOIN document d ON d.id = m.row JOIN document_text t ON t.rowid = m.row ORDER BY every DESC
"""
"""BM25 with the weights of name, description, parameters and requests, without the requests and with them; and how
long the requests are."""
_COUNT = "SELECT count(*) FROM document_text WHERE document_text MATCH ?"
_TEXTS = """
SELECT d.name, t.name || ' ' || t.description, t.parameters, t.requests
FROM json_each(?) n JOIN document d ON d.name = n.value JOIN document_text t ON t.rowid = d.id
"""


@dataclass(frozen=True)
class Hit:
    """Tool that may serve the need."""

    name: str
    probability: float
    score: float


@dataclass(frozen=True)
class Ranking:
    """Hits of a search, best first, and what its certainty rests on."""

    hits: tuple[Hit, ...] = ()
    features: Mapping[str, float] = field(default_factory=dict)
    """Of the best hit."""
    by_meaning: bool = False


class Calibration(Value):
    """Logistic model of the probability that the best hit is right, over named features."""

    weights: dict[str, float]
    intercept: float

    def probability(self, features: Mapping[str, float]) -> float:
        """Probability that the best hit is right, always above 0 and below 1."""
        logit = self.intercept + sum(weight * features[name] for name, weight in self.weights.items())
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))


@cache
def calibrations() -> Mapping[str, Calibration]:
    """The calibrations of searches by `words` and by `meaning`."""
    text = files("alita_mcp.library").joinpath("calibration.json").read_text("utf-8")
    return {name: Calibration.model_validate(each) for name, each in json.loads(text).items()}


class Score(NamedTuple):
    """A score of a tool, BM25 or a cosine."""

    full: float = 0.0
    """With its example requests."""
    own: float = 0.0
    """Of what the tool says of itself."""


def rank(db: sqlite3.Connection, need: str, cosines: Mapping[str, Score] | None = None) -> Ranking:
    """The tools for a need, best first, by words, and by meaning where cosines are known."""
    terms: dict[str, str] = {}
    """The words of the need as they were typed, by their stems."""
    for word in re.findall(r"[^\W_]+", need.lower()):
        for stem in stems(word) if len(terms) < MAX_TERMS else ():
            terms.setdefault(stem, word)
    counts = count_documents(db, terms.values())
    related = companions(stems)
    alike = {other for stem in terms for other in related.get(stem, ())} - terms.keys()
    words = match_words(db, counts)
    for name, score in match_words(db, count_documents(db, alike)).items():
        known = words.get(name, Score())
        words[name] = Score(known.full + RELATED * score.own, known.own + RELATED * score.own)
    scores = words
    if cosines:
        farthest = min(cosine.full for cosine in cosines.values())  # no tool without a cosine is nearer
        unknown = Score(farthest, farthest)
        scores = {}
        for name in (*cosines, *words):
            near, word = cosines.get(name, unknown), words.get(name, Score())
            scores[name] = Score(
                near.full + WORDS_BESIDE_COSINE * word.full, near.own + WORDS_BESIDE_COSINE * word.own
            )

    def best(names: Iterable[str]) -> list[str]:
        # what differs by less than a sum's rounding error goes by name, so that no two runs differ
        return sorted(names, key=lambda name: (-round(scores[name].full, 9), name))[:SHOWN]

    found = db.execute(_TEXTS, (json.dumps(best(scores)),))
    candidates = {name: _Candidate(*texts) for name, *texts in found}
    if not candidates:  # tools with a cosine may be gone by now
        return Ranking()
    for name, candidate in candidates.items():
        # A long description that lists many things is no answer to a need that asks for one of them. Where there is a
        # cosine it says so itself.
        if not cosines and len(candidate.head) > LONG_DESCRIPTION / 2:
            asked = len(candidate.head & terms.keys()) / len(candidate.head) / candidate.asked_for
            scores[name] = Score(*(score * min(1.0, max(LEAST_LEFT, asked)) for score in scores[name]))
    order = best(candidates)
    (total,) = db.execute("SELECT count(*) FROM document").fetchone()
    compared = [candidates[name] for name in order[:COMPARED]]
    counts |= count_documents(db, compared[0].head)
    idf = {word: _idf(count, total) for word, count in counts.items()}
    weights = {stem: idf[word] for stem, word in terms.items()}
    nearest = [scores[name] for name in order[:COMPARED]]
    every, own = (
        _features(weights, idf, total, compared, nearest, by_own=by_own) for by_own in (False, True)
    )
    kind: Kind = "words"
    if cosines:
        kind = "meaning"
        every["cos"], own["cos"] = cosines.get(order[0], unknown)
    else:
        for features in (every, own):
            features["margin"] /= math.fsum(weights.values()) or 1e-9
    top = calibrations()[kind].probability(every)
    # No match rests on one of the many things that a tool lists, nor on its requests alone.
    if every["back"] < compared[0].asked_for or calibrations()[kind].probability(own) < POSSIBLE_FROM:
        top = min(top, MATCH_FROM - 0.01)
    highest = nearest[0].full
    hits = [
        Hit(name, top * math.exp((scores[name].full - highest) * DECAY[kind]), scores[name].full)
        for name in order
    ]
    return Ranking(tuple(hits), every, bool(cosines))


def count_documents(db: sqlite3.Connection, words: Iterable[str]) -> dict[str, int]:
    """The number of documents that have each of these words."""
    return {word: int(db.execute(_COUNT, (f'"{word}"',)).fetchone()[0]) for word in words}


def match_words(db: sqlite3.Connection, counts: Mapping[str, int], limit: int = MATCHED) -> dict[str, Score]:
    """The documents with most of these words, best first.

    `counts` are the numbers of documents that have each word; in a large library only the rarest are looked for.
    """
    asked: list[str] = []
    read = 0
    for count, word in sorted((count, word) for word, count in counts.items() if count):
        read += count
        if asked and read > MOST_READ:
            break
        asked.append(f'"{word}"')
    scores = {}
    for name, own, every, length in db.execute(_RANKED, (" OR ".join(asked), limit)) if asked else ():
        borne_out = min(every - own, BORNE_OUT * own)
        scores[name] = Score(
            own + borne_out + min(1.0, BEYOND / max(1, length)) * (every - own - borne_out), own
        )
    return scores


class _Candidate:
    """One of the first tools, with the stems of its texts."""

    def __init__(self, head: str, parameters: str, requests: str) -> None:
        self.head = frozenset(stems(head))
        """Of name and description."""
        self.asked_for = LEAST_ASKED_FOR * min(1.0, len(self.head) / LONG_DESCRIPTION)
        """Which part of the head a need must ask for."""
        self._parameters, self._requests = parameters, requests

    @cached_property
    def own(self) -> frozenset[str]:
        """Of all that the tool says of itself."""
        return self.head.union(stems(self._parameters))

    @cached_property
    def every(self) -> frozenset[str]:
        """Those of its example requests too."""
        return self.own.union(stems(self._requests))


def _features(
    need: Mapping[str, float],
    idf: Mapping[str, float],
    total: int,
    compared: Sequence[_Candidate],
    nearest: Sequence[Score],
    *,
    by_own: bool,
) -> dict[str, float]:
    """Features of the first candidate, by its own words, or by those of its requests too.

    `lead`: how much more of the need it covers than the next ones; `back`: how much of its own name and description is
    asked for; `shared`: how many words it shares with the need that are no everyday ones; `margin`: how far it leads
    in score. Everyday words count less in the first two.
    """
    common, related = everyday(stems), companions(stems)
    covered = []
    scores = [score.own if by_own else score.full for score in nearest]
    weights = {stem: weight * (SHARE if stem in common else 1.0) for stem, weight in need.items()}
    for each in compared:
        having = each.own if by_own else each.every
        found = [
            weight * (1.0 if stem in having else RELATED_COVERS)
            for stem, weight in weights.items()
            if stem in having or not having.isdisjoint(related.get(stem, ()))
        ]
        covered.append(math.fsum(found) / (math.fsum(weights.values()) or 1e-9))
    asked = need.keys() | {other for stem in need for other in related.get(stem, ())}
    head = {stem: idf[stem] * (SHARE if stem in common else 1.0) for stem in compared[0].head}
    shared = need.keys() & (compared[0].own if by_own else compared[0].every)
    return {
        "lead": _lead(covered[0], max(covered[1:], default=0.0), total),
        "back": math.fsum(weight for stem, weight in head.items() if stem in asked)
        / (math.fsum(head.values()) or 1e-9),
        "shared": math.log1p(len(shared - common)),
        "margin": _lead(scores[0], max(scores[1:], default=0.0), total),
    }


def _idf(documents: int, total: int) -> float:
    """Inverse document frequency; that of a word which no tool has is that of a word which a single one has."""
    count = documents or 1
    return math.log1p(max(0.0, total - count + 0.5) / (count + 0.5))


def _lead(best: float, second: float, total: int) -> float:
    return min(best - second, best * total / (total + UNSEEN_RIVALS))
