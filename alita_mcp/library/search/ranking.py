"""Ranking of tools for a need, by words and cosines, with calibrated probabilities and a band of certainty."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from alita_mcp.library.search.answer import Fit
from alita_mcp.library.search.calibration import WORDS, Calibration, shipped
from alita_mcp.library.words.corpus import LETTERS_WEIGHT, Corpus

MATCH_FROM, POSSIBLE_FROM = 0.7, 0.3
MAX_QUERY_TOKENS = 48
"""A need is a sentence; the calibration knows nothing of longer texts, and counts them as this long."""
WORDS_BESIDE_COSINE = 0.02
"""Weight of BM25 beside the cosine; better than rank fusion, and flat around its best value."""
DECAY_OF_WORDS, DECAY_OF_COSINES = 0.2, 5.0
"""How fast the probability falls with the distance of the score from the best one's."""
LOOKED_AT_CLOSELY = 100
LEAST_ASKED_FOR, LEAST_OWN = 0.1, 0.2
"""A match asks for this part of a tool's name and description, which hold this part of the need if requests help."""
COMPARED = 5
CROWD, CROWD_DECAY = 50, 10.0
"""So many of the first ones are rivals, each of which counts less the further its score is behind the best."""
RELATED_COVERS = 2.0
UNSEEN_RIVALS = 8
"""In a library of a few tools the best result leads for want of rivals; its lead counts as if there were more."""
SMALL, UNRELATED, UNSEEN_CROWD = 100, 0.04, 200
"""Up to a small library's number, tools that are missing count as unrelated ones with this score; and all of them
as if there were this many more."""


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
    words: Mapping[str, float] | None = None
    """Features of the best hit by the words alone."""
    meaning: Mapping[str, float] | None = None
    """Features of the best hit by cosine too, where there are cosines."""


def rank(words: Sequence[str], names: Iterable[str], corpus: Corpus) -> Ranking:
    """The named tools by the query's words alone."""
    matched = corpus.scores(corpus.expanded(words), [name for name in names if name in corpus])
    likely = _in_order(matched)[:LOOKED_AT_CLOSELY]
    letters = corpus.letter_scores(words, likely)
    scores = {name: matched[name] + LETTERS_WEIGHT * letters[name] for name in likely}
    if not scores:
        return Ranking()
    order = _in_order(scores)
    features = word_features(words, order, scores, corpus)
    top = _sure(shipped()[WORDS].probability(features), words, order[0], corpus)
    return Ranking(_hits(order, scores, top, DECAY_OF_WORDS), words=features)


def rank_by_meaning(
    words: Sequence[str],
    cosines: Mapping[str, float],
    corpus: Corpus,
    calibration: Calibration | None = None,
) -> Ranking:
    """The tools whose cosines are known, by cosine and words; without a calibration the words say how sure."""
    near = {name: cosine for name, cosine in cosines.items() if name in corpus}
    if not near:
        return Ranking()
    matched = corpus.scores(corpus.expanded(words), near)
    scores = {name: cosine + WORDS_BESIDE_COSINE * matched.get(name, 0.0) for name, cosine in near.items()}
    order = _in_order(scores)
    best, second = order[0], scores[order[1]] if len(order) > 1 else 0.0
    said = word_features(words, order, matched, corpus)
    margin = _lead(scores[best], second, len(corpus))
    crowd = _crowd(scores[best], [scores[name] for name in order[1:CROWD]], len(corpus))
    heard = _cover(set(words), order, corpus, borne=False)
    meaning = {**said, **heard, "cos": near[best], "margin": margin, "crowd": crowd}
    top = calibration.probability(meaning) if calibration else shipped()[WORDS].probability(said)
    top = _sure(top, words, best, corpus, by_meaning=True)
    return Ranking(_hits(order, scores, top, DECAY_OF_COSINES), words=said, meaning=meaning)


def word_features(
    words: Sequence[str], order: Sequence[str], scores: Mapping[str, float], corpus: Corpus
) -> dict[str, float]:
    """Features of the first of `order`, by words.

    `cov`: how much of the need it covers; `lead`: how much more than the next ones; `back`: how much of its own
    name and description is asked for; `margin` and `amount`: how far it leads in score, and how high that is;
    `qlen`: how many words of the need are no everyday ones. Everyday words count less in the first three.
    """
    best, *others = order[:COMPARED]
    distinct = set(words)
    mass = math.fsum(map(corpus.idf, distinct)) or 1e-9
    distinctive = [word for word in distinct if word not in corpus.everyday]
    own = scores.get(best, 0.0)
    second = max((scores.get(name, 0.0) for name in others), default=0.0)
    return {
        **_cover(distinct, order, corpus),
        "back": _asked_for(distinct, best, corpus),
        "margin": _lead(own, second, len(corpus)) / mass,
        "amount": own / corpus.highest_idf,
        "qlen": math.log(1 + min(len(distinctive), MAX_QUERY_TOKENS)),
    }


def _cover(words: set[str], order: Sequence[str], corpus: Corpus, *, borne: bool = True) -> dict[str, float]:
    best, *others = order[:COMPARED]
    covered = coverage(words, best, corpus, borne=borne)
    rivals = max((coverage(words, name, corpus, borne=borne) for name in others), default=0.0)
    return {"cov": covered, "lead": _lead(covered, rivals, len(corpus))}


def coverage(words: Collection[str], name: str, corpus: Corpus, *, borne: bool = True) -> float:
    """Share of the need's words that a document has, by weight; a related term counts in part.

    What only its requests have counts no more than the words that bear them out; all of it if it need not be `borne`
    out, as where cosines are there to do so.
    """
    document = corpus.document(name)
    has = (*document.own, *document.lent)
    own, every = _share(words, document.own, corpus), _share(words, has, corpus)
    if every <= own or not borne:
        return every
    bearing = has if document.has_few_requests else (*document.own, *document.agreed)
    return own + min(every - own, _share(words, bearing, corpus, distinctive=True))


def _share(
    words: Collection[str], having: Iterable[str], corpus: Corpus, *, distinctive: bool = False
) -> float:
    """Which part of the need's words, by weight, without everyday ones if `distinctive`, are among these."""
    found, has = [], frozenset(having)
    for word in words:
        if distinctive and word in corpus.everyday:
            continue
        share = 1.0
        if word not in has:
            related = corpus.related_terms(word)
            nearest = max((related[other] for other in related if other in has), default=0.0)
            share = min(1.0, nearest * RELATED_COVERS)
        found.append(corpus.term_weight(word) * share)
    return math.fsum(found) / (math.fsum(map(corpus.term_weight, words)) or 1e-9)


def _asked_for(words: Collection[str], name: str, corpus: Corpus) -> float:
    """Which part of the words in a tool's name and description, by weight, a need has, or has related terms of."""
    asked, head = corpus.expanded(words), frozenset(corpus.document(name).head)
    mass = math.fsum(map(corpus.term_weight, head)) or 1e-9
    return math.fsum(corpus.term_weight(word) for word in head if word in asked) / mass


def _sure(
    probability: float, words: Sequence[str], best: str, corpus: Corpus, *, by_meaning: bool = False
) -> float:
    """The probability, less than a match's where what a tool says of itself does not bear one out."""
    asked, document = set(words), corpus.document(best)
    own = _share(asked, document.own, corpus)
    borne = by_meaning or _asked_for(asked, best, corpus) >= LEAST_ASKED_FOR
    if _share(asked, (*document.own, *document.lent), corpus) > own:
        borne &= _share(asked, document.own, corpus, distinctive=True) >= LEAST_OWN
    return probability if borne else min(probability, MATCH_FROM - 0.01)


def band(probability: float) -> Fit:
    """The answer's first word."""
    if probability >= MATCH_FROM:
        return "match"
    return "possible" if probability >= POSSIBLE_FROM else "none"


def _lead(best: float, second: float, known: int) -> float:
    return min(best - second, best * known / (known + UNSEEN_RIVALS))


def _crowd(best: float, others: Iterable[float], known: int) -> float:
    """How many others come close, as a logarithm: 0 where none does. One that leads by much stands in no crowd."""
    rivals = math.fsum(math.exp(CROWD_DECAY * (score - best)) for score in others)
    missing = max(0, SMALL - known) * math.exp(CROWD_DECAY * (UNRELATED - best))
    return math.log1p((rivals + missing) * (1 + UNSEEN_CROWD / max(known, SMALL)))


def _in_order(scores: Mapping[str, float]) -> list[str]:
    """Best first; what differs by less than a sum's rounding error goes by name, so that no two runs differ."""
    return sorted(scores, key=lambda name: (-round(scores[name], 9), name))


def _hits(order: Sequence[str], scores: Mapping[str, float], top: float, decay: float) -> tuple[Hit, ...]:
    best = scores[order[0]]
    return tuple(Hit(name, top * math.exp((scores[name] - best) * decay), scores[name]) for name in order)
