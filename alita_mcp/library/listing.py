"""Views of all tools at one moment: what counts as a change, what is to be found, what a search answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest
from typing import Any, NamedTuple

from alita_mcp.library.ranking import band
from alita_mcp.library.search_answer import SearchAnswer, SearchHit
from alita_mcp.library.signature import signature_of
from alita_mcp.library.weighing import drawback
from alita_mcp.values import CatalogueEntry

ALWAYS_SHOWN = 3
"""A search shows this many tools even where none fits, so that the asker can judge."""

NEAR_TIE = 0.9
"""A tool with this share of another one's probability may stand before it, by its trust and its use."""

Entries = Mapping[str, CatalogueEntry]


class Difference(NamedTuple):
    """What came about between two moments."""

    stands: bool
    """Some tool stands differently; its use does not count."""
    listed: bool
    """The lists of tools that clients see are others."""


def difference(before: Entries, after: Entries) -> Difference:
    """What is different; entries that are the same object are not looked into."""
    pairs = [(before.get(name), entry) for name, entry in after.items() if before.get(name) is not entry]
    if len(before) + sum(known is None for known, _ in pairs) > len(after):
        return Difference(stands=True, listed=True)
    changed = [
        (known, entry) for known, entry in pairs if known is None or _standing(known) != _standing(entry)
    ]
    return Difference(
        stands=bool(changed), listed=any(_in_lists(known) != _in_lists(entry) for known, entry in changed)
    )


def _standing(entry: CatalogueEntry) -> tuple[Any, ...]:
    """All about a tool but its use."""
    return (*_listed(entry), entry.versions, entry.sandboxes, entry.wordings)


def _in_lists(entry: CatalogueEntry | None) -> tuple[Any, ...] | None:
    """What decides about the lists of tools that clients see."""
    return _listed(entry) if entry and entry.state != "deleted" else None


def _listed(entry: CatalogueEntry) -> tuple[Any, ...]:
    manifest = entry.manifest
    version = (manifest.version, manifest.digest, manifest.trust)
    return (entry.name, *version, entry.state, entry.pinned, entry.approved)


def enabled(entries: Entries) -> int:
    """How many tools can be found."""
    return sum(entry.state == "enabled" for entry in entries.values())


def answer(
    found: Sequence[tuple[str, float]], entries: Entries, limit: int, total: int | None = None
) -> SearchAnswer:
    """The answer to a search that found these names with these probabilities, best first, among `total` tools."""
    likely = {name: score for name, score in found if name in entries and entries[name].state == "enabled"}
    scores = _by_standing(likely, entries)
    fit = band(next(iter(scores.values()), 0.0))
    shown = list(scores)[: ALWAYS_SHOWN if fit == "none" else limit]
    if len(shown) < min(ALWAYS_SHOWN, limit):
        shown += _most_used(entries, scores.keys(), ALWAYS_SHOWN - len(shown))
    hits = tuple(_hit(entries[name], scores.get(name, 0.0)) for name in shown[: max(1, limit)])
    return SearchAnswer(fit=fit, total=enabled(entries) if total is None else total, results=hits)


def _most_used(entries: Entries, left_out: Collection[str], count: int) -> list[str]:
    others = (entry for name, entry in entries.items() if entry.state == "enabled" and name not in left_out)
    best = nsmallest(
        count, others, key=lambda entry: (entry.manifest.trust != "verified", -entry.calls, entry.name)
    )
    return [entry.name for entry in best]


def _by_standing(scores: Mapping[str, float], entries: Entries) -> dict[str, float]:
    """Probabilities, best first; among nearly as likely ones, those that are verified, succeed and are in use."""
    top = max(scores.values(), default=0.0)
    newest = max((entries[name].last_used or "" for name in scores), default="")

    def rank(name: str) -> float:
        return -scores[name] * (1 - (1 - NEAR_TIE) * drawback(entries[name], newest))

    return {name: scores[name] for name in sorted(scores, key=rank)} if top else dict(scores)


def _hit(entry: CatalogueEntry, score: float) -> SearchHit:
    manifest = entry.manifest
    return SearchHit(
        name=manifest.name,
        version=manifest.version,
        signature=signature_of(manifest),
        summary=manifest.summary,
        trust=manifest.trust,
        score=round(score, 3),
    )
