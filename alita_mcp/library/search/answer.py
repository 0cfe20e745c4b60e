"""Answer of a search: the tools that it shows, in which order, and how sure it is that one fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.signature import signature_of
from alita_mcp.values import Trust, Value

Fit = Literal["match", "possible", "none"]

MATCH_FROM, POSSIBLE_FROM = 0.7, 0.39

ALWAYS_SHOWN = 3
"""A search shows this many tools even where none fits, so that the asker can judge."""

COMPARABLE = 0.5
"""Beside a match a tool is shown that has at least this share of its probability."""

NEAR_TIE = 0.9
"""A verified tool that works may stand before another one of which it has this share of the probability."""


class SearchHit(Value):
    """Tool that may serve the need."""

    name: str
    version: int
    signature: str
    """As in `slugify(text: str, max_length?: int) -> str`."""
    summary: str
    trust: Trust
    score: float
    """Calibrated probability that this is the tool asked for."""
    entry: CatalogueEntry = Field(exclude=True, repr=False)
    """The tool as it stood when it was found; no part of what travels."""


class SearchAnswer(Value):
    """What `search_capabilities` found."""

    fit: Fit
    """`match`: call the first result. `possible`: read them and judge. `none`: make a new tool."""
    total: int
    """How many tools there are to be found at all."""
    results: tuple[SearchHit, ...]


def band(probability: float) -> Fit:
    """The answer's first word."""
    if probability >= MATCH_FROM:
        return "match"
    return "possible" if probability >= POSSIBLE_FROM else "none"


def search_answer(
    found: Mapping[str, float],
    entries: Mapping[str, CatalogueEntry],
    limit: int,
    total: int,
    others: Sequence[CatalogueEntry] = (),
) -> SearchAnswer:
    """The answer to a search that found these names with these probabilities, best first, among `total` tools.

    Beside a match only comparable tools are shown: what is far less likely is of no use then. Where none
    matches, `others` are shown if fewer than `ALWAYS_SHOWN` were found.
    """
    likely = {name: found[name] for name in found if name in entries and entries[name].state == "enabled"}

    # Among nearly as likely ones those stand first that are verified and succeed. A few failures say little.
    merits = {}
    for name, probability in likely.items():
        entry = entries[name]
        doubt = 0.9 * entry.failures / (entry.calls + 5) if entry.manifest.trust == "verified" else 1.0
        merits[name] = probability * (1 - (1 - NEAR_TIE) * doubt)
    order = sorted(likely, key=lambda name: -merits[name])
    shown = [(entries[name], likely[name]) for name in order]
    fit = band(shown[0][1] if shown else 0.0)
    if fit == "match":
        shown = [(entry, score) for entry, score in shown if score >= COMPARABLE * shown[0][1]]
    shown = shown[: ALWAYS_SHOWN if fit == "none" else limit]
    if fit != "match" and len(shown) < min(ALWAYS_SHOWN, limit):
        more = [(entry, 0.0) for entry in others if entry.name not in likely]
        shown += more[: ALWAYS_SHOWN - len(shown)]
    hits = [
        SearchHit(
            name=entry.name,
            version=entry.manifest.version,
            signature=signature_of(entry.manifest),
            summary=entry.manifest.summary,
            trust=entry.manifest.trust,
            score=round(score, 3),
            entry=entry,
        )
        for entry, score in shown[: max(1, limit)]
    ]
    return SearchAnswer(fit=fit, total=total, results=tuple(hits))
