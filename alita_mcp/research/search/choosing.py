"""Choice of search back ends from the settings, opened as one search."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
from pydantic import SecretStr

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
from alita_mcp.research.search.mcp_tool import McpToolSearch, tool_place
from alita_mcp.research.search.merging import MergedSearch
from alita_mcp.research.search.package_index import PackageIndexSearch
from alita_mcp.settings import Settings

NAMES = ("package_index", "github", "searxng", "tavily", "brave", "mcp")
"""In the order of the results that rank alike, where ALITA_SEARCH says no other."""
_NEEDS = {"searxng": "searxng_url", "tavily": "tavily_key", "brave": "brave_key", "mcp": "search_mcp"}
_NEED_NOTHING = ("package_index", "github")
_Maker = Callable[[httpx.AsyncClient, Endpoint, frozenset[str]], SearchBackend]
_APIS: dict[str, tuple[_Maker, Callable[[Settings], Endpoint]]] = {
    "github": (GithubSearch, lambda told: github_endpoint(told.github_url, _plain(told.github_token))),
    "searxng": (SearxngSearch, lambda told: searxng_endpoint(told.searxng_url or "")),
    "tavily": (TavilySearch, lambda told: tavily_endpoint(_plain(told.tavily_key))),
    "brave": (BraveSearch, lambda told: brave_endpoint(_plain(told.brave_key))),
}


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
        if (needed := _NEEDS.get(name)) and not getattr(settings, needed):
            raise UsageError(
                f"ALITA_SEARCH names {name!r}, which needs ALITA_{needed.upper()}.",
                hint="Set it, or leave the name out.",
            )
    return said


def _is_set_up(name: str, settings: Settings, *, has_model: bool) -> bool:
    if name in _NEED_NOTHING:
        return has_model or (name == "github" and settings.github_token is not None)
    return bool(getattr(settings, _NEEDS[name]))


@asynccontextmanager
async def open_search(
    settings: Settings, *, has_model: bool, also_backends: Sequence[SearchBackend] = ()
) -> AsyncIterator[Search]:
    """Opens one search over the chosen back ends and `also_backends`, without any request.

    Raises:
        UsageError: a setting does not fit; the message names it.
    """
    names = chosen_names(settings, has_model=has_model)
    endpoints = {name: _APIS[name][1](settings) for name in names if name in _APIS}
    allowed = allowed_places(settings.web_allow)
    async with AsyncExitStack() as stack:
        backends: list[SearchBackend] = []
        named = [at for name, at in endpoints.items() if _is_named(name, settings)]
        client = await stack.enter_async_context(open_client(named)) if endpoints else None
        for name in names:
            if name == "package_index":
                reader = await stack.enter_async_context(open_project_reader(settings))
                backends.append(PackageIndexSearch(reader, allowed))
            elif name == "mcp":
                backends.append(McpToolSearch(tool_place(settings.search_mcp or ""), allowed))
            elif client is not None:
                backends.append(_APIS[name][0](client, endpoints[name], allowed))
        yield MergedSearch([*backends, *also_backends])


def _is_named(name: str, settings: Settings) -> bool:
    """Whether a person named the address, which may then be a private one."""
    return name == "searxng" or (name == "github" and "github_url" in settings.model_fields_set)


def _plain(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret is not None else ""
