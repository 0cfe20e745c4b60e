"""Search back ends that the settings name, opened as one search."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from alita_mcp.errors import UsageError
from alita_mcp.research.addresses import parse_web_allow
from alita_mcp.research.http_client import open_http_client
from alita_mcp.research.interface import SearchBackend
from alita_mcp.research.json_api import Endpoint, endpoint
from alita_mcp.research.packages import open_package_index
from alita_mcp.research.search.apis import (
    BRAVE,
    GITHUB,
    GITHUB_CODE,
    SEARXNG,
    TAVILY,
    JsonSearch,
    SearchApi,
)
from alita_mcp.research.search.merged_search import MergedSearch
from alita_mcp.research.search.package_index import PackageIndexSearch
from alita_mcp.settings import SEARCH_KEYS, Settings, key_from

BACKENDS = ("package_index", "github", "searxng", "tavily", "brave")
"""In the order of results that rank alike, where ALITA_SEARCH names no other."""
KEYLESS = ("package_index", "github")
"""They work without a key or an address."""
APIS = {"github": GITHUB, "searxng": SEARXNG, "tavily": TAVILY, "brave": BRAVE}


def backend_names(settings: Settings, *, has_model: bool) -> tuple[str, ...]:
    """The back ends that ALITA_SEARCH names, else those that are set up; keyless ones only for servers with a model.

    Raises:
        UsageError: a name is unknown, or its key or address is missing; the message names the setting.
    """
    names = tuple(dict.fromkeys(filter(None, re.split(r"[,\s]+", settings.search))))
    if not names:
        return tuple(
            name for name in BACKENDS if (has_model if name in KEYLESS else _read_setting(name, settings)[1])
        )
    for name in names:
        if name not in BACKENDS:
            why = f"ALITA_SEARCH names {name!r}, which is not a search back end."
            raise UsageError(why, hint=f"Known: {', '.join(BACKENDS)}.")
        setting, value = ("", "none") if name in KEYLESS else _read_setting(name, settings)
        if not value:
            why = f"ALITA_SEARCH names {name!r}, which needs {setting}."
            raise UsageError(why, hint=f"Set {setting}, or remove {name!r} from ALITA_SEARCH.")
    return names


def _read_setting(name: str, settings: Settings) -> tuple[str, str]:
    """The setting with the key or, for SearXNG, the URL of a back end, and its value."""
    if name == "searxng":
        return "ALITA_SEARXNG_URL", settings.searxng_url or ""
    return SEARCH_KEYS[name], key_from(SEARCH_KEYS[name]) or ""


def api_endpoint(name: str, api: SearchApi, setting: str, value: str) -> Endpoint:
    """The endpoint of a back end whose key or URL is `value`.

    Raises:
        UsageError: the URL or the key is invalid; the message names `setting`, not its value.
    """
    if not api.url:
        advice = f"Check {setting}, and that search.formats in the server's settings.yml names json."
        return endpoint(name, value, setting=setting, advice=advice)
    return endpoint(name, api.url, setting=setting, key=value, key_header=api.key_header)


@asynccontextmanager
async def open_search(
    settings: Settings, *, has_model: bool, also_backends: Sequence[SearchBackend] = ()
) -> AsyncIterator[MergedSearch]:
    """Opens one search over the configured back ends and `also_backends`, without any request.

    Raises:
        UsageError: a setting is invalid; the message names it.
    """
    allowed = parse_web_allow(settings.web_allow)
    backends: list[SearchBackend] = []
    async with AsyncExitStack() as stack:
        for name in backend_names(settings, has_model=has_model):
            if name == "package_index":
                index = await stack.enter_async_context(open_package_index(settings))
                backends.append(PackageIndexSearch(index, allowed))
                continue
            setting, value = _read_setting(name, settings)
            at = api_endpoint(name, APIS[name], setting, value)
            own = [at.host_port] if name == "searxng" else []  # it may be at a private address
            client = await stack.enter_async_context(open_http_client(own))
            backends.append(JsonSearch(client, at, APIS[name], allowed))
            if name == "github" and value:
                backends.append(JsonSearch(client, at, GITHUB_CODE, allowed))
        yield MergedSearch([*backends, *also_backends])
