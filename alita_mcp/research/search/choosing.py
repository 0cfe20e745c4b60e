"""Choice of search back ends from the settings, opened as one search."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import httpx

from alita_mcp.errors import UsageError
from alita_mcp.research.addresses import allowed_places
from alita_mcp.research.interface import Search, SearchBackend
from alita_mcp.research.json_api import Endpoint, open_client
from alita_mcp.research.packages import open_project_reader
from alita_mcp.research.search.apis import (
    BraveSearch,
    SearxngSearch,
    TavilySearch,
    brave_endpoint,
    searxng_endpoint,
    tavily_endpoint,
)
from alita_mcp.research.search.github import GithubSearch, github_endpoint
from alita_mcp.research.search.merging import MergedSearch
from alita_mcp.research.search.package_index import PackageIndexSearch
from alita_mcp.settings import SEARCH_KEYS, Settings, key_from

NAMES = ("package_index", "github", "searxng", "tavily", "brave")
"""In the order of the results that rank alike, where ALITA_SEARCH says no other."""
_Maker = Callable[[httpx.AsyncClient, Endpoint, frozenset[str]], SearchBackend]
_APIS: dict[str, tuple[_Maker, Callable[[str], Endpoint]]] = {
    "github": (GithubSearch, github_endpoint),
    "searxng": (SearxngSearch, searxng_endpoint),
    "tavily": (TavilySearch, tavily_endpoint),
    "brave": (BraveSearch, brave_endpoint),
}
"""The class of each back end, and what makes its endpoint from its key or, of SearXNG, its address."""


def chosen_names(settings: Settings, *, has_model: bool) -> tuple[str, ...]:
    """The back ends that the settings name or, where they name none, those that are set up.

    Raises:
        UsageError: a name is unknown, or its key or address is missing; the message names the setting.
    """
    said = tuple(dict.fromkeys(filter(None, re.split(r"[,\s]+", settings.search))))
    if not said:
        return tuple(name for name in NAMES if _is_set_up(name, settings, has_model=has_model))
    for name in said:
        if name not in NAMES:
            raise UsageError(
                f"ALITA_SEARCH names {name!r}, which is no search back end.",
                hint=f"Known: {', '.join(NAMES)}.",
            )
        if not _is_set_up(name, settings, has_model=True):
            needed = SEARCH_KEYS.get(name, "ALITA_SEARXNG_URL")
            raise UsageError(
                f"ALITA_SEARCH names {name!r}, which needs {needed}.", hint="Set it, or leave the name out."
            )
    return said


def _is_set_up(name: str, settings: Settings, *, has_model: bool) -> bool:
    """Whether a back end has the key or address that it needs; those that need none are for servers with a model."""
    return has_model if name in {"package_index", "github"} else bool(_key_or_address(name, settings))


def _key_or_address(name: str, settings: Settings) -> str:
    if name == "searxng":
        return settings.searxng_url or ""
    return key_from(SEARCH_KEYS[name]) or ""


@asynccontextmanager
async def open_search(
    settings: Settings, *, has_model: bool, also_backends: Sequence[SearchBackend] = ()
) -> AsyncIterator[Search]:
    """Opens one search over the chosen back ends and `also_backends`, without any request.

    Raises:
        UsageError: a setting does not fit; the message names it.
    """
    names = chosen_names(settings, has_model=has_model)
    endpoints = {name: _APIS[name][1](_key_or_address(name, settings)) for name in names if name in _APIS}
    allowed = allowed_places(settings.web_allow)
    async with AsyncExitStack() as stack:
        backends: list[SearchBackend] = []
        named = [at for name, at in endpoints.items() if name == "searxng"]  # it may be at a private address
        client = await stack.enter_async_context(open_client(named)) if endpoints else None
        for name in names:
            if name == "package_index":
                reader = await stack.enter_async_context(open_project_reader(settings))
                backends.append(PackageIndexSearch(reader, allowed))
            elif client is not None:
                backends.append(_APIS[name][0](client, endpoints[name], allowed))
        yield MergedSearch([*backends, *also_backends])
