"""Answer of a search: which of the ranked tools it shows, in which order, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.search.answer import SearchAnswer, SearchHit
from alita_mcp.library.search.ranking import band
from alita_mcp.library.search.signature import signature_of

ALWAYS_SHOWN = 3
"""A search shows this many tools even where none fits, so that the asker can judge."""

COMPARABLE = 0.5
"""Beside a match a tool is shown that has at least this share of its probability."""

NEAR_TIE = 0.9
"""A tool with this share of another one's probability may stand before it, by its trust and its use."""

FORGOTTEN_DAYS = 30.0
"""A tool last used this long before another one is out of use beside it."""


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
    likely = {
        name: score for name, score in found.items() if name in entries and entries[name].state == "enabled"
    }
    scores = _by_standing(likely, entries)
    fit = band(next(iter(scores.values()), 0.0))
    shown = [(entries[name], score) for name, score in scores.items()]
    if fit == "match":
        shown = [(entry, score) for entry, score in shown if score >= COMPARABLE * shown[0][1]]
    shown = shown[: ALWAYS_SHOWN if fit == "none" else limit]
    if fit != "match" and len(shown) < min(ALWAYS_SHOWN, limit):
        more = [(entry, 0.0) for entry in others if entry.name not in scores]
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


def _by_standing(scores: Mapping[str, float], entries: Mapping[str, CatalogueEntry]) -> dict[str, float]:
    """Probabilities, best first; among nearly as likely ones, those that are verified, succeed and are in use."""
    top = max(scores.values(), default=0.0)
    newest = max((entries[name].last_used or "" for name in scores), default="")

    def rank(name: str) -> float:
        return -scores[name] * (1 - (1 - NEAR_TIE) * usage_penalty(entries[name], newest))

    return {name: scores[name] for name in sorted(scores, key=rank)} if top else dict(scores)


def usage_penalty(entry: CatalogueEntry, newest: str) -> float:
    """Penalty of a tool among equally likely ones, from 0 to 1, for low trust, failures and disuse.

    `newest` is when one of those was last used. Trust says more than any use; a few failures say little.
    """
    if entry.manifest.trust != "verified":
        return 1.0
    failed, last, out_of_use = entry.failures / (entry.calls + 5), entry.last_used or "", 0.0
    if last < newest:
        try:
            behind = datetime.fromisoformat(newest) - datetime.fromisoformat(last)
            out_of_use = min(behind.total_seconds() / 86_400 / FORGOTTEN_DAYS, 1.0)
        except (ValueError, TypeError):  # it was never used
            out_of_use = 1.0
    return min(0.9, 0.8 * failed + 0.1 * out_of_use)
