"""Views of all tools at one moment: what counts as a change, what is to be found, what a search answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alita_mcp.library.ranking import Document, band, signature_of
from alita_mcp.library.search_answer import SearchAnswer, SearchHit
from alita_mcp.values import CatalogueEntry

ALWAYS_SHOWN = 3
"""A search shows this many tools even where none fits, so that the asker can judge."""

NEAR_TIE = 0.9
"""A verified tool with this share of a provisional one's probability stands before it."""

Entries = Mapping[str, CatalogueEntry]


def standing(entries: Entries) -> list[tuple[Any, ...]]:
    """All about each tool but its use."""
    return [(*_listed(entry), entry.versions, entry.sandboxes) for entry in entries.values()]


def listing(entries: Entries) -> list[tuple[Any, ...]]:
    """What decides about the lists of tools that clients see."""
    return [_listed(entry) for entry in entries.values() if entry.state != "deleted"]


def _listed(entry: CatalogueEntry) -> tuple[Any, ...]:
    manifest = entry.manifest
    version = (manifest.version, manifest.digest, manifest.trust)
    return (entry.name, *version, entry.state, entry.pinned, entry.approved)


def documents(entries: Entries) -> dict[str, Document]:
    """What the enabled tools are found by."""
    return {name: Document.of(entry.manifest) for name, entry in entries.items() if entry.state == "enabled"}


def answer(found: Sequence[tuple[str, float]], entries: Entries, limit: int) -> SearchAnswer:
    """The answer to a search that found these names with these probabilities, best first."""
    enabled = {name: entry for name, entry in entries.items() if entry.state == "enabled"}
    scores = _by_trust({name: score for name, score in found if name in enabled}, enabled)
    fit = band(next(iter(scores.values()), 0.0))
    most_used = sorted(
        enabled.values(), key=lambda entry: (entry.manifest.trust != "verified", -entry.calls, entry.name)
    )
    others = [entry.name for entry in most_used if entry.name not in scores]
    shown = list(scores)[: ALWAYS_SHOWN if fit == "none" else limit]
    shown += others[: max(0, ALWAYS_SHOWN - len(shown))]
    hits = tuple(_hit(enabled[name], scores.get(name, 0.0)) for name in shown[: max(1, limit)])
    return SearchAnswer(fit=fit, total=len(enabled), results=hits)


def _by_trust(scores: Mapping[str, float], entries: Entries) -> dict[str, float]:
    """Probabilities, best first; a tool that is not verified yields to verified ones that are nearly as likely."""

    def rank(name: str) -> float:
        return -scores[name] * (1 if entries[name].manifest.trust == "verified" else NEAR_TIE)

    return {name: scores[name] for name in sorted(scores, key=rank)}


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
