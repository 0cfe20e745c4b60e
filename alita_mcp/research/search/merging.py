"""Merged search: queries all back ends concurrently and removes duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.research.interface import SearchBackend
from alita_mcp.research.search.canonical import canonical_url
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import FailedBackend, Found, SearchHit

TIMEOUT_S = 12.0
"""For one back end; ours end by themselves before it."""
MOST = 50
_FLATTENING = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): how little the first ranks stand out."""


class MergedSearch:
    """Search over several back ends; implements `Search`."""

    def __init__(self, backends: Sequence[SearchBackend], *, timeout_s: float = TIMEOUT_S) -> None:
        self._backends = tuple(backends)
        self._timeout_s = timeout_s

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the back ends, in their order."""
        return tuple(each.name for each in self._backends)

    async def search(self, query: str, limit: int = 8) -> Found:
        """Merged and de-duplicated hits of all back ends, asked side by side; never raises for one that fails."""
        plain, most = one_line(query, MAX_QUERY), max(1, min(limit, MOST))
        if not plain:
            return Found()
        outcomes: list[tuple[Sequence[SearchHit], str]] = [((), "")] * len(self._backends)

        async def ask(place: int) -> None:
            outcomes[place] = await self._asked(self._backends[place], plain, most)

        async with anyio.create_task_group() as together:
            for place in range(len(self._backends)):
                together.start_soon(ask, place)
        by_name: dict[str, list[SearchHit]] = {}
        for name, (hits, _) in zip(self.backends, outcomes, strict=True):
            by_name.setdefault(name, []).extend(hits)
        failed = (
            FailedBackend(backend=name, reason=reason)
            for name, (_, reason) in zip(self.backends, outcomes, strict=True)
            if reason
        )
        return Found(hits=merged(by_name)[:most], failed=tuple(failed))

    async def _asked(self, backend: SearchBackend, query: str, limit: int) -> tuple[Sequence[SearchHit], str]:
        """The hits of one back end, and why there are none; empty where it answered."""
        try:
            with anyio.fail_after(self._timeout_s):
                return tuple(await backend.search(query, limit))[:limit], ""
        except UsageError as refused:
            return (), str(refused)
        except TimeoutError:
            return (), f"{backend.name} did not answer within {self._timeout_s:g} s."
        except Exception as failed:  # noqa: BLE001 - a back end of somebody else's may raise anything
            return (), f"{backend.name} failed: {type(failed).__name__}."


def merged(answers: Mapping[str, Sequence[SearchHit]]) -> tuple[SearchHit, ...]:
    """The hits of all back ends, once each, by the sum of their reciprocal ranks."""
    ranked: dict[str, dict[str, tuple[int, SearchHit]]] = {}
    for backend, hits in answers.items():
        for rank, hit in enumerate(hits, 1):
            if key := canonical_url(hit.url):
                ranked.setdefault(key, {}).setdefault(backend, (rank, hit))
    ordered = sorted(ranked.values(), key=_merit)
    return tuple(_joined(found) for found in ordered)


def _merit(found: Mapping[str, tuple[int, SearchHit]]) -> tuple[float, int]:
    ranks = [rank for rank, _ in found.values()]
    return -sum(1 / (_FLATTENING + rank) for rank in ranks), min(ranks)


def _joined(found: Mapping[str, tuple[int, SearchHit]]) -> SearchHit:
    by_rank = sorted(found.items(), key=lambda item: item[1][0])
    hits = [hit for _, (_, hit) in by_rank]
    return hits[0].model_copy(
        update={
            "backends": tuple(backend for backend, _ in by_rank),
            "snippet": next((hit.snippet for hit in hits if hit.snippet), ""),
            "published": next((hit.published for hit in hits if hit.published), ""),
        }
    )
