"""Which back ends a search has, by the settings, and what is said of settings that do not fit."""

from __future__ import annotations

import socket
from typing import Any

import anyio
import pytest

from alita_mcp.errors import UsageError
from alita_mcp.research.search.backends import backend_names, open_search
from alita_mcp.settings import Settings
from tests.research.search.apis import KEY

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("said", "keys", "has_model", "names"),
    [
        ({}, (), False, ()),
        ({}, (), True, ("github",)),
        ({}, ("GITHUB_TOKEN",), False, ()),
        ({"searxng_url": "http://x"}, ("BRAVE_API_KEY",), False, ("searxng", "brave")),
        ({}, ("TAVILY_API_KEY",), True, ("github", "tavily")),
        ({"search": "github"}, (), False, ("github",)),
        ({"search": "brave, github,brave"}, ("BRAVE_API_KEY", "TAVILY_API_KEY"), True, ("brave", "github")),
    ],
)
def test_back_ends_are_those_named_or_those_set_up(
    said: dict[str, Any],
    keys: tuple[str, ...],
    has_model: bool,
    names: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in keys:
        monkeypatch.setenv(variable, KEY)
    assert backend_names(Settings(**said), has_model=has_model) == names


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"search": "package_index"}, "ALITA_SEARCH names 'package_index', which is not a search back end"),
        ({"search": "tavily"}, "ALITA_SEARCH names 'tavily', which needs TAVILY_API_KEY"),
        ({"search": "brave"}, "needs BRAVE_API_KEY"),
        ({"search": "searxng"}, "needs ALITA_SEARXNG_URL"),
        ({"searxng_url": "ftp://example.org"}, "ALITA_SEARXNG_URL is not a plain http"),
        ({"searxng_url": "http://[bad"}, "ALITA_SEARXNG_URL is not a plain http"),
        ({"search": "github", "web_allow": "nonsense"}, "Invalid part 'nonsense' of ALITA_WEB_ALLOW"),
    ],
)
async def test_a_setting_that_does_not_fit_is_named(said: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        async with open_search(Settings(**said), has_model=False):
            pass


async def test_a_key_that_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BRAVE_API_KEY", "a\nb")
    with pytest.raises(UsageError, match="The key of 'brave' has characters that no key has"):
        async with open_search(Settings(), has_model=False):
            pass


async def test_the_default_addresses_stay_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the name of a public API resolves to this machine, nothing is sent."""

    def here(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", here)
    for variable in ("TAVILY_API_KEY", "BRAVE_API_KEY", "GITHUB_TOKEN"):
        monkeypatch.setenv(variable, KEY)
    settings = Settings(search="tavily,brave,github")
    with anyio.fail_after(60):
        async with open_search(settings, has_model=False) as search:
            found = await search.search("owls")
    assert found.hits == ()
    assert [each.backend for each in found.failed] == ["tavily", "brave", "github"]
    assert all("not a public address" in each.reason for each in found.failed)
    assert KEY not in found.model_dump_json()


@pytest.mark.parametrize("place", ["[::1]:1", "127.0.0.1:1"])
async def test_an_address_that_a_person_named_may_be_this_machine(place: str) -> None:
    with anyio.fail_after(60):
        async with open_search(Settings(searxng_url=f"http://{place}"), has_model=False) as search:
            found = await search.search("owls")
    assert found.failed[0].reason == "searxng did not answer: ConnectError."
