"""Example of a search back end: the REST search of a MediaWiki, beside the back ends that the settings name.

python docs/examples/extending/mediawiki_search.py https://en.wikipedia.org "tea ceremony"
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from urllib.parse import quote

import anyio
import httpx

from alita_mcp.research.http_client import open_http_client
from alita_mcp.research.json_api import Endpoint, JsonApi, endpoint, rows_of
from alita_mcp.research.search.apis import hits_of
from alita_mcp.research.search.backends import open_search
from alita_mcp.research.texts import MAX_QUERY, one_line, without_markup
from alita_mcp.research.values import Found, SearchHit
from alita_mcp.settings import Settings, read_settings

MOST = 50


class MediaWikiSearch:
    """Search back end of a MediaWiki; fills `SearchBackend`."""

    name = "mediawiki"

    def __init__(self, client: httpx.AsyncClient, at: Endpoint) -> None:
        self._api = JsonApi(client, at)
        self._url = at.base_url

    async def search(self, query: str, limit: int) -> Sequence[SearchHit]:
        """At most `limit` pages, best first; raises UsageError."""
        asked = {"q": one_line(query, MAX_QUERY), "limit": str(min(limit, MOST))}
        rows = rows_of(self.name, await self._api.get("/w/rest.php/v1/search/page", asked), "pages")
        return hits_of(
            self.name,
            (
                (
                    f"{self._url}/wiki/{quote(str(row.get('key')))}",
                    row.get("title"),
                    without_markup(row.get("excerpt")),
                    "",
                )
                for row in rows
            ),
            limit,
        )


async def search(settings: Settings, url: str, query: str) -> Found:
    """Hits of the wiki and of the configured back ends, merged."""
    at = endpoint("mediawiki", url, setting="the wiki's address")
    async with open_http_client([at.host_port]) as client:
        wiki = MediaWikiSearch(client, at)
        async with open_search(settings, has_model=False, also_backends=[wiki]) as merged:
            return await merged.search(query)


if __name__ == "__main__":
    print(anyio.run(partial(search, read_settings(), *sys.argv[1:])).model_dump_json(indent=2))
