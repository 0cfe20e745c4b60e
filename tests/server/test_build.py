"""The server as a whole: what it waits for, what it seals, what it says when the library is broken."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from alita_mcp.errors import LibraryError
from alita_mcp.server.build import build_server
from alita_mcp.server.context import ToolResult
from alita_mcp.server.results.failures import protocol_error
from alita_mcp.server.sources import ToolCall
from alita_mcp.settings import Settings
from alita_mcp.values import META_TOOLS
from tests.server.fixture_sources import one_tool, said
from tests.server.in_memory import Build, connected, names_of, refused, succeeded


async def test_a_greeting_waits_for_no_library(settings: Settings, era: str) -> None:
    shutil.rmtree(settings.home)
    never = anyio.Event()

    @asynccontextmanager
    async def open_never() -> AsyncIterator[Any]:
        await never.wait()
        yield None

    async with connected(build_server(settings, open_app=open_never), era) as client:
        assert client.server_capabilities.tools is not None
        assert not settings.home.exists()


async def test_a_library_that_cannot_be_opened_is_said_in_every_call_and_tried_again(
    settings: Settings, era: str
) -> None:
    shutil.rmtree(settings.home)
    settings.home.write_text("a file where the library should be")

    async with connected(build_server(settings), era) as client:
        assert tuple(await names_of(client)) == META_TOOLS
        text = await refused(client, "search_capabilities", query="x")
        assert "Traceback" not in text
        assert str(settings.home) in text
        with pytest.raises(MCPError):
            await client.read_resource("alita://tools")
        assert len((await client.list_resources(cache_mode="bypass")).resources) == 1
        settings.home.unlink()
        assert (await succeeded(client, "search_capabilities", query="x"))["fit"]


async def ask_first(call: ToolCall) -> ToolResult:
    """A tool that asks, and then says the state that came back."""
    if call.params.request_state is None:
        schema = {"type": "object", "properties": {}}
        question = types.ElicitRequest(
            params=types.ElicitRequestFormParams(message="Sure?", requested_schema=schema)
        )
        return types.InputRequiredResult(input_requests={"q": question}, request_state="plain words")
    return said(call.params.request_state)


async def test_state_that_travels_through_a_client_is_sealed(build: Build) -> None:
    async with connected(build(extra_sources=[one_tool(ask_first)]), "modern") as client:
        asked = await client.session.call_tool("try_me", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        assert asked.request_state is not None
        assert "plain words" not in asked.request_state
        for forged in ("plain words", asked.request_state[:-2] + "AA"):
            with pytest.raises(MCPError) as refusal:
                await client.session.call_tool("try_me", {}, request_state=forged)
            assert refusal.value.error.code == types.INVALID_PARAMS
        answered = await client.session.call_tool("try_me", {}, request_state=asked.request_state)

    assert isinstance(answered, types.CallToolResult)
    assert answered.content[0].text == "plain words"


@pytest.mark.parametrize("other_key", ["k" * 43, "x" * 43, None])
async def test_state_is_read_by_servers_with_the_same_key_alone(
    settings: Settings, other_key: str | None
) -> None:
    source = [one_tool(ask_first)]
    one = build_server(settings, extra_sources=source, state_key="k" * 43)
    other = build_server(settings, extra_sources=source, state_key=other_key)
    async with connected(one, "modern") as client, connected(other, "modern") as elsewhere:
        asked = await client.session.call_tool("try_me", {}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        answering = elsewhere.session.call_tool("try_me", {}, request_state=asked.request_state)
        if other_key != "k" * 43:
            with pytest.raises(MCPError, match="requestState"):
                await answering
        else:
            assert (await answering).content[0].text == "plain words"


async def test_no_method_leaks_the_words_of_an_unexpected_error(settings: Settings, era: str) -> None:
    @asynccontextmanager
    async def open_broken() -> AsyncIterator[Any]:
        raise RuntimeError("secret")
        yield None

    async with connected(build_server(settings, open_app=open_broken), era) as client:
        with pytest.raises(MCPError) as refusal:
            await client.read_resource("alita://tools")
        assert refusal.value.error.code == types.INTERNAL_ERROR
        assert "secret" not in str(refusal.value.error)
        assert await names_of(client)


def test_an_error_of_ours_outside_a_tool_keeps_its_words() -> None:
    full = protocol_error(ExceptionGroup("", [LibraryError("the disk is full", hint="Make room.")]))
    assert isinstance(full, MCPError)
    assert full.error.message == "the disk is full Make room."
    inner = MCPError(types.INVALID_PARAMS, "inner")
    assert protocol_error(ExceptionGroup("", [inner])) is inner
