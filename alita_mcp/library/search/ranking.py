"""Ranking of tools for a need by words, and by meaning where there are cosines, with one calibrated certainty."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from alita_mcp.library.search.answer import MATCH_FROM
from alita_mcp.library.words.everyday_words import everyday
from alita_mcp.library.words.stems import stems
from alita_mcp.library.words.thesaurus import companions
from alita_mcp.values import Value

MAX_MATCHES = 200
"""Tools ranked by words, those with most of them."""
MAX_ROWS = 20_000
"""Rows that a search reads for its words, the rarest first; in a smaller library all of them."""
MAX_TERMS = 48
"""A need is a sentence; the certainty is calibrated for sentences."""
MAX_HITS = 50
COMPARED = 5
"""The best hit is compared with the next ones to say how sure it is."""
BM25_WEIGHT = 0.02
"""Weight of BM25 beside the cosine; better than rank fusion, and flat around its best value."""
SYNONYM_WEIGHT = 0.2
"""Weight of the BM25 of words that mean nearly the same as those of the need."""
SYNONYM_COVERS = 0.6
"""Share of a word of the need that such a word covers."""
EVERYDAY_WEIGHT = 0.4
"""What an everyday word says of a need, compared with another that as many tools have."""
SUPPORTED, REQUESTS_COUNTED = 4.0, 60
"""What example requests add counts up to so many times what the tool's own words give, and beyond that by the share of
this number in all their characters: whoever lists many needs gets little for each."""
UNSEEN_RIVALS = 8
"""In a library of a few tools the best hit leads for want of rivals; its lead counts as if there were more."""
DECAY = 10.0
"""How fast the probability falls with the distance of the score from the best one's."""

_BM25 = """
SELECT d.name, own, every, length(t.requests) FROM (
    SELECT rowid AS row, -bm25(document_text, 2.0, 1.0, 0.5, 0.0) AS own,
        -bm25(document_text, 2.0, 1.0, 0.5, 0.5) AS every
    FROM document_text WHERE document_text MATCH ? {seen} ORDER BY every DESC LIMIT ?
) m JOIN document d ON d.id = m.row JOIN document_text t ON t.rowid = m.row
"""
"""The weights are those of name, description, parameters and requests; without the requests, and with them."""
_COUNT = "SELECT count(*) FROM document_text WHERE document_text MATCH ? {seen}"
OF_READER = "AND EXISTS (SELECT 1 FROM document s WHERE s.id = document_text.rowid)"
"""Has matches count alone that a reader sees whose table `document` lacks some that the full text has."""
_TEXTS = """
SELECT d.name, t.name, t.description, t.parameters, t.requests
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
def default_calibration() -> Calibration:
    """The calibration that comes with the package, fitted by `python -m benchmarks retrieval --fit`."""
    text = files("alita_mcp.library").joinpath("calibration.json").read_text("utf-8")
    return Calibration.model_validate_json(text)


def rank(
    db: sqlite3.Connection, need: str, cosines: Mapping[str, float] | None = None, seen: str = ""
) -> Ranking:
    """The tools for a need, best first, by words, and by meaning where cosines are known.

    The features of the best hit are `lead`: how much more of the need it covers than the next ones; `covered`: how much
    it covers; `back`: how much of its own name and description is asked for; `shared`: how many words it shares with
    the need that are no everyday ones; `margin`: how far it leads in score.
    """
    common, synonyms = everyday(stems), companions(stems)
    terms: dict[str, str] = {}
    """The words of the need as they were typed, by their stems."""
    for word in re.findall(r"[^\W_]+", need.lower()):
        for stem in stems(word) if len(terms) < MAX_TERMS else ():
            terms.setdefault(stem, word)
    alike = {other for stem in terms for other in synonyms.get(stem, ())} - terms.keys()
    counts = count_documents(db, terms.values(), seen)
    by_words = score_words(db, counts, seen)
    for name, score in score_words(db, count_documents(db, alike, seen), seen).items():
        by_words[name] = by_words.get(name, 0.0) + SYNONYM_WEIGHT * score
    total = int(db.execute("SELECT count(*) FROM document").fetchone()[0])
    cosines = cosines or {}
    farthest = min(cosines.values(), default=0.0)  # no tool without a cosine is nearer
    scores = {
        name: cosines.get(name, farthest) + BM25_WEIGHT * by_words.get(name, 0.0)
        for name in (*cosines, *by_words)
    }
    # What differs by less than a sum's rounding error goes by name, so that no two runs differ.
    best = sorted(scores, key=lambda name: (-round(scores[name], 9), name))[:MAX_HITS]
    texts = {name: columns for name, *columns in db.execute(_TEXTS, (json.dumps(best),))}
    order = [name for name in best if name in texts]  # tools with a cosine may be gone by now
    if not order:
        return Ranking()

    own_name, description, parameters, _ = texts[order[0]]
    head = {*stems(own_name), *stems(description)}
    counts |= count_documents(db, head - counts.keys(), seen)

    weights = {}
    for stem, word in {**{stem: stem for stem in head}, **terms}.items():
        # inverse document frequency; a word that no tool has says as much as one that a single tool has
        count = counts[word] or 1
        idf = math.log1p(max(0.0, total - count + 0.5) / (count + 0.5))
        weights[stem] = idf * (EVERYDAY_WEIGHT if stem in common else 1.0)
    need_weight = math.fsum(weights[stem] for stem in terms) or 1e-9

    def coverage(*columns: str) -> float:
        there = frozenset(stems(" ".join(columns)))
        found = (
            weights[stem] * (1.0 if stem in there else SYNONYM_COVERS)
            for stem in terms
            if stem in there or not there.isdisjoint(synonyms.get(stem, ()))
        )
        return math.fsum(found) / need_weight

    def lead(values: list[float], least: float = 0.0) -> float:
        ahead = values[0] - max(values[1:], default=least)
        return min(ahead, (values[0] - least) * total / (total + UNSEEN_RIVALS))

    compared = order[:COMPARED]
    covered = [coverage(*texts[name]) for name in compared]
    best_has = frozenset(stems(" ".join(texts[order[0]])))
    asked = terms.keys() | alike
    said = math.fsum(weights[stem] for stem in head) or 1e-9
    back = math.fsum(weights[stem] for stem in head & asked) / said
    features = {
        "lead": lead(covered),
        "covered": covered[0],
        "back": back,
        "shared": math.log1p(len(terms.keys() & best_has - common)),
        "margin": lead([scores[name] for name in compared], farthest),
    }
    top = default_calibration().probability(features)
    # A match rests on what the tool says of itself. It is none
    # 1. where its own words cover less than a third of what its example requests cover of the need,
    # 2. where the need neither has a word of its name nor asks for half of what it describes: a description can list
    #    many things, a name cannot.
    by_itself = coverage(own_name, description, parameters) >= covered[0] / 3
    is_meant = back >= 0.5 or not asked.isdisjoint(frozenset(stems(own_name)) - common)
    if not (by_itself and is_meant):
        top = min(top, MATCH_FROM - 0.01)
    highest = scores[order[0]]
    hits = (Hit(name, top * math.exp((scores[name] - highest) * DECAY), scores[name]) for name in order)
    return Ranking(tuple(hits), features, bool(cosines))


def count_documents(db: sqlite3.Connection, words: Iterable[str], seen: str) -> dict[str, int]:
    """The number of documents that have each of these words."""
    count = _COUNT.format(seen=seen)
    return {word: int(db.execute(count, (f'"{word}"',)).fetchone()[0]) for word in words}


def score_words(db: sqlite3.Connection, counts: Mapping[str, int], seen: str) -> dict[str, float]:
    """BM25 of the documents with most of these words.

    `counts` are the numbers of documents that have each word; in a large library only the rarest are looked for.
    """
    asked: list[str] = []
    rows = 0
    for count, word in sorted((count, word) for word, count in counts.items() if count):
        rows += count
        if asked and rows > MAX_ROWS:
            break
        asked.append(f'"{word}"')
    scores = {}
    ranked = _BM25.format(seen=seen)
    for name, own, every, length in db.execute(ranked, (" OR ".join(asked), MAX_MATCHES)) if asked else ():
        supported = min(every - own, SUPPORTED * own)
        share = min(1.0, REQUESTS_COUNTED / max(1, length))
        scores[name] = own + supported + share * (every - own - supported)
    return scores
