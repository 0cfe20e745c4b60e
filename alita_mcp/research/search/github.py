"""Search of GitHub: repositories, and with a token code files."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from alita_mcp.research.json_api import JsonApi
from alita_mcp.research.search.apis import Row, SearchApi
from alita_mcp.research.search.package_index import keywords
from alita_mcp.research.texts import iso_date

_URL = "https://api.github.com"
_MAX_RESULTS = 30
_MAX_WORDS = 5
"""GitHub requires every word of a query; with more of them it finds nothing."""


def _ask_repositories(api: JsonApi, query: str, limit: int) -> Awaitable[Any]:
    words = f"{' '.join(keywords(query, _MAX_WORDS))} in:name,description,topics,readme"
    parameters = {"q": words, "per_page": str(min(limit, _MAX_RESULTS))}
    return api.get("/search/repositories", parameters, accept="application/vnd.github+json")


def _ask_code(api: JsonApi, query: str, limit: int) -> Awaitable[Any]:
    parameters = {"q": " ".join(keywords(query, _MAX_WORDS)), "per_page": str(min(limit, _MAX_RESULTS))}
    return api.get("/search/code", parameters, accept="application/vnd.github.text-match+json")


def _repository_row(found: dict[str, Any]) -> Row:
    licence, pushed = found.get("license"), found.get("pushed_at")
    spdx = licence.get("spdx_id") if isinstance(licence, dict) else None
    facts = (
        found.get("description"),
        found.get("language"),
        f"{found['stargazers_count']} stars" if isinstance(found.get("stargazers_count"), int) else "",
        f"licence {spdx}" if spdx and spdx != "NOASSERTION" else "no known licence",
        f"last push {iso_date(pushed)}" if iso_date(pushed) else "",
        "archived" if found.get("archived") is True else "",
    )
    description = "; ".join(fact for fact in facts if isinstance(fact, str) and fact)
    return found.get("html_url"), found.get("full_name"), description, pushed


def _file_row(found: dict[str, Any]) -> Row:
    repository, matches = found.get("repository"), found.get("text_matches")
    owner = repository.get("full_name") if isinstance(repository, dict) else ""
    first = matches[0] if isinstance(matches, list) and matches else None
    fragment = first.get("fragment") if isinstance(first, dict) else ""
    return found.get("html_url"), f"{owner}: {found.get('path')}", fragment, ""


REPOSITORIES = SearchApi(_URL, _ask_repositories, ("items",), _repository_row)
CODE = SearchApi(_URL, _ask_code, ("items",), _file_row)
"""It needs a token."""
