"""Search back ends that the settings name, asked at once and merged into one search."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import chain, zip_longest

import anyio

from alita_mcp.errors import UsageError
from alita_mcp.research.addresses import parse_web_allow
from alita_mcp.research.http_client import open_http_client
from alita_mcp.research.json_api import Endpoint, endpoint
from alita_mcp.research.search.apis import BRAVE, GITHUB, SEARXNG, TAVILY, JsonSearch, SearchApi
from alita_mcp.research.texts import MAX_QUERY, one_line
from alita_mcp.research.values import FailedBackend, Found, SearchHit
from alita_mcp.settings import SEARCH_KEYS, Settings, key_from

BACKENDS = ("github", "searxng", "tavily", "brave")
"""In the order in which their results take turns, where ALITA_SEARCH names no other."""
KEYLESS = "github"
"""It works without a key or an address."""
APIS = {"github": GITHUB, "searxng": SEARXNG, "tavily": TAVILY, "brave": BRAVE}
MAX_HITS = 50


def backend_names(settings: Settings, *, has_model: bool) -> tuple[str, ...]:
    """The back ends that ALITA_SEARCH names, else those that are set up; keyless ones only for servers with a model.

    Raises:
        UsageError: a name is unknown, or its key or address is missing; the message names the setting.
    """
    names = tuple(dict.fromkeys(filter(None, re.split(r"[,\s]+", settings.search))))
    if not names:
        return tuple(
            name for name in BACKENDS if (has_model if name == KEYLESS else _read_setting(name, settings)[1])
        )
    for name in names:
        if name not in BACKENDS:
            why = f"ALITA_SEARCH names {name!r}, which is not a search back end."
            raise UsageError(why, hint=f"Known: {', '.join(BACKENDS)}.")
        setting, value = ("", "none") if name == KEYLESS else _read_setting(name, settings)
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


class MergedSearch:
    """Search over several back ends."""

    def __init__(self, backends: Sequence[JsonSearch]) -> None:
        self._backends = tuple(backends)

    @property
    def backends(self) -> tuple[str, ...]:
        """Names of the back ends, in their order."""
        return tuple(each.name for each in self._backends)

    async def search(self, query: str, limit: int = 8) -> Found:
        """Merged hits of all back ends, once each; never raises for one that fails."""
        plain, limit = one_line(query, MAX_QUERY), max(1, min(limit, MAX_HITS))
        if not plain:
            return Found()
        hits: list[Sequence[SearchHit]] = [()] * len(self._backends)
        failed: dict[int, str] = {}

        async def ask_backend(number: int, backend: JsonSearch) -> None:
            try:
                hits[number] = await backend.search(plain, limit)
            except UsageError as refused:
                failed[number] = str(refused)

        async with anyio.create_task_group() as tasks:
            for number, backend in enumerate(self._backends):
                tasks.start_soon(ask_backend, number, backend)
        reasons = [
            FailedBackend(backend=self._backends[number].name, reason=failed[number])
            for number in sorted(failed)
        ]
        return Found(hits=merge_hits(hits)[:limit], failed=tuple(reasons))


def merge_hits(hits_by_backend: Sequence[Sequence[SearchHit]]) -> tuple[SearchHit, ...]:
    """The hits of all back ends in turns, those of one address once."""
    found: dict[str, SearchHit] = {}
    for hit in chain.from_iterable(zip_longest(*hits_by_backend)):
        if hit is not None:
            before = found.get(hit.url, hit.model_copy(update={"backends": ()}))
            found[hit.url] = before.model_copy(
                update={"backends": tuple(dict.fromkeys((*before.backends, *hit.backends)))}
            )
    return tuple(found.values())


@asynccontextmanager
async def open_search(settings: Settings, *, has_model: bool) -> AsyncIterator[MergedSearch]:
    """Opens one search over the configured back ends, without any request.

    Raises:
        UsageError: a setting is invalid; the message names it.
    """
    allowed = parse_web_allow(settings.web_allow)
    backends: list[JsonSearch] = []
    async with AsyncExitStack() as stack:
        for name in backend_names(settings, has_model=has_model):
            setting, value = _read_setting(name, settings)
            at = api_endpoint(name, APIS[name], setting, value)
            own = [at.host_port] if name == "searxng" else []  # it may be at a private address
            client = await stack.enter_async_context(open_http_client(own))
            backends.append(JsonSearch(client, at, APIS[name], allowed))
        yield MergedSearch(backends)
