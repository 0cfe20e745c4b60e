"""What clients of both protocol eras teach the library by using it, and how tools that sound alike are told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from alita_mcp.library.opening import open_library
from alita_mcp.server.client.identity import identity_of
from alita_mcp.server.client.owner import ANYONE, set_owner
from alita_mcp.server.context import Context
from alita_mcp.settings import Settings
from tests.server.drafts import VOWEL_SHARE
from tests.server.in_memory import PATIENCE_S, Build, succeeded
from tests.server.test_http import listening

pytestmark = pytest.mark.slow

ASKED = "share of the letters a e i o u, the vowels, in poems"


async def wordings(settings: Settings, name: str, count: int) -> tuple[str, ...]:
    with anyio.fail_after(PATIENCE_S):
        async with open_library(settings, starters=lambda: None) as library:
            while len(library.entry(name).wordings) < count:
                await anyio.sleep(0.05)
                await library.refresh()
            return library.entry(name).wordings


@pytest.mark.parametrize("way", ["direct", "run_tool"])
async def test_a_search_and_a_call_by_either_way_teach_the_tool_these_words(
    client: Client, settings: Settings, way: str
) -> None:
    await succeeded(client, "synthesize_tool", **VOWEL_SHARE)
    found = await succeeded(client, "search_capabilities", query=ASKED)
    assert "vowel_share" in {each["name"] for each in found["results"] if each["score"] > 0}
    if way == "direct":
        await succeeded(client, "vowel_share", text="abc")
    else:
        await succeeded(client, "run_tool", name="vowel_share", arguments={"text": "abc"})
    assert await wordings(settings, "vowel_share", 1) == (ASKED,)
    again = await succeeded(client, "search_capabilities", query=ASKED)
    assert again["results"][0]["name"] == "vowel_share"
    assert again["results"][0]["score"] >= found["results"][0]["score"]


async def test_clients_of_one_kind_behind_one_address_teach_nothing_with_each_others_searches(
    build: Build, settings: Settings
) -> None:
    async with listening(settings, server=build()) as url:
        async with Client(url) as one, Client(url) as other:
            assert one.protocol_version in MODERN_PROTOCOL_VERSIONS
            await succeeded(one, "synthesize_tool", **VOWEL_SHARE)
            found = await succeeded(one, "search_capabilities", query=ASKED)
            assert found["results"][0]["name"] == "vowel_share"
            await succeeded(other, "vowel_share", text="abc")
            await succeeded(one, "search_capabilities", query=ASKED)
            await succeeded(one, "vowel_share", text="abc")
        async with Client(url, mode="legacy") as legacy:
            await succeeded(legacy, "search_capabilities", query="share of vowel letters of text in percent")
            await succeeded(legacy, "vowel_share", text="abc")
        learned = await wordings(settings, "vowel_share", 1)
    assert learned == ("share of vowel letters of text in percent",), "a session tells its client apart"


@dataclass
class Session:
    client_params: types.ClientCapabilities | None = None


def context(user: object) -> Context:
    scope: dict[str, Any] = {"type": "http", "headers": [], "user": user}
    set_owner(scope, ANYONE)
    request = Request(scope)
    return ServerRequestContext(
        session=cast("Any", Session()), lifespan_context=None, protocol_version=MODERN_PROTOCOL_VERSIONS[0],
        method="tools/call", request=request,
    )  # fmt: skip


def test_an_authenticated_subject_is_one_client_and_a_shared_token_is_none() -> None:
    def user(subject: str | None, client: str = "agent") -> AuthenticatedUser:
        token = AccessToken(token="t", client_id=client, scopes=[], subject=subject)
        return AuthenticatedUser(token)

    keys = [identity_of(context(user(*who))).key for who in (("ann",), ("ann",), ("bob",), ("ann", "other"))]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert "" not in keys
    assert identity_of(context(user(None))).key == ""
    assert identity_of(context(None)).key == ""
