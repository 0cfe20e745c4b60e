"""Search back end for GitHub: repositories, and with a token code files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any

import anyio
import httpx

from alita_mcp.errors import UsageError
from alita_mcp.research.json_api import Endpoint, JsonApi, endpoint, rows_of
from alita_mcp.research.search.apis import Row, hits_of
from alita_mcp.research.search.package_index import keywords
from alita_mcp.research.texts import day
from alita_mcp.research.values import SearchHit

_JSON, _WITH_MATCHES = "application/vnd.github+json", "application/vnd.github.text-match+json"
_MOST, _MOST_WORDS = 30, 5
"""GitHub wants every word of a query; with more of them it finds nothing."""


def github_endpoint(token: str = "", base_url: str = "https://api.github.com") -> Endpoint:
    """The endpoint of GitHub's API; raises UsageError for an invalid token."""
    return endpoint(
        "github", base_url, setting="GITHUB_TOKEN", key=token, header="authorization", prefix="Bearer "
    )


class GithubSearch:
    """GitHub search with one request, or two at once with a token; implements `SearchBackend`."""

    name = "github"

    def __init__(
        self, client: httpx.AsyncClient, at: Endpoint, allowed: frozenset[str] = frozenset()
    ) -> None:
        self._api = JsonApi(client, at)
        self._with_code = bool(at.secret)
        self._allowed = allowed | {at.place}

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` hits, repositories and files in turn; raises UsageError where neither was answered."""
        words = " ".join(keywords(query, _MOST_WORDS))
        rows: dict[str, list[Row]] = {}
        failed: list[UsageError] = []

        async def ask(kind: str, words: str, accept: str) -> None:
            parameters = {"q": words, "per_page": str(min(limit, _MOST))}
            try:
                reply = await self._api.get(f"/search/{kind}", parameters, accept=accept)
                rows[kind] = list(_KINDS[kind](rows_of(self.name, reply, "items")))
            except UsageError as refused:
                failed.append(refused)

        async with anyio.create_task_group() as both:
            both.start_soon(ask, "repositories", f"{words} in:name,description,topics,readme", _JSON)
            if self._with_code:
                both.start_soon(ask, "code", words, _WITH_MATCHES)
        if not rows and failed:
            raise failed[0]
        in_turn = chain.from_iterable(zip_longest(rows.get("repositories", ()), rows.get("code", ())))
        return hits_of(self.name, (row for row in in_turn if row is not None), limit, self._allowed)


def _repositories(found: Iterable[dict[str, Any]]) -> Iterable[Row]:
    for row in found:
        licence = row.get("license")
        spdx = licence.get("spdx_id") if isinstance(licence, dict) else None
        facts = (
            row.get("description") or "",
            row.get("language") or "",
            f"{row['stargazers_count']} stars" if isinstance(row.get("stargazers_count"), int) else "",
            f"licence {spdx}" if spdx and spdx != "NOASSERTION" else "no known licence",
            f"last push {day(row.get('pushed_at'))}" if day(row.get("pushed_at")) else "",
            "archived" if row.get("archived") is True else "",
        )
        description = "; ".join(fact for fact in facts if isinstance(fact, str) and fact)
        yield row.get("html_url"), row.get("full_name"), description, row.get("pushed_at")


def _files(found: Iterable[dict[str, Any]]) -> Iterable[Row]:
    for row in found:
        repository, matches = row.get("repository"), row.get("text_matches")
        where = repository.get("full_name") if isinstance(repository, dict) else ""
        first = matches[0] if isinstance(matches, list) and matches else None
        fragment = first.get("fragment") if isinstance(first, dict) else ""
        yield row.get("html_url"), f"{where}: {row.get('path')}", fragment, ""


_KINDS = {"repositories": _repositories, "code": _files}
