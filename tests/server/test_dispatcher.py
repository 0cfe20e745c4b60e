"""The one door for tool calls: what goes in, what comes out, what failures become."""

from __future__ import annotations

import json
import logging
from typing import Any

import anyio
import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, MCPError

from alita_mcp.errors import AlitaError, InvalidArguments, SandboxError, SandboxUnavailable, ToolNotFound
from alita_mcp.server.context import ToolResult
from alita_mcp.server.results.building import printable
from alita_mcp.server.sources import ToolCall
from tests.server.drafts import VOWEL_SHARE
from tests.server.fixture_sources import Handler, HandlerTools, giving, one_tool, raising, said
from tests.server.in_memory import Build, called, connected, names_of, refused, succeeded, text_of
from tests.tables import each_case

OUTPUT = {"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}}}}


async def call_of(build: Build, source: HandlerTools, era: str, **arguments: Any) -> types.CallToolResult:
    async with connected(build(extra_sources=[source]), era) as client:
        assert "try_me" in await names_of(client)
        return await called(client, "try_me", **arguments)


@each_case(
    "name",
    [
        "",
        "x" * 5_000,
        "../../etc/passwd",
        "a\x00b",
        "\u202egnirts",
        "tools/list",
        "SEARCH_CAPABILITIES",
        "名前",
    ],
)
async def test_a_hostile_name_is_an_unknown_tool(client: Client, name: str) -> None:
    for text in (await refused(client, name), await refused(client, "run_tool", name=name)):
        assert len(text) < 1_000
        text.encode()
        assert not set(text) & {"\u202e", "\x00"}
    assert await names_of(client)


@each_case(
    "failure, words",
    [
        (AlitaError("it broke", hint="Mend it."), "it broke Mend it."),
        (SandboxUnavailable("No sandbox works here.", hint="Install Docker."), "Install Docker."),
        (SandboxError("The worker broke."), "The sandbox failed, not the tool: The worker broke."),
        (InvalidArguments("x is missing."), "x is missing."),
        (ToolNotFound("There is no such version.", nearest=("a_tool", "b_tool")), "a_tool, b_tool"),
        (ExceptionGroup("", [ExceptionGroup("", [AlitaError("deep inside")])]), "deep inside"),
        (AlitaError("half \ud800 and \u202e turned"), "half"),
    ],
)
async def test_an_error_of_ours_reaches_the_model(
    build: Build, era: str, failure: BaseException, words: str
) -> None:
    result = await call_of(build, one_tool(raising(failure)), era)

    assert result.is_error
    assert words in text_of(result)
    assert result.structured_content["status"] in ("failed", "rejected")


@each_case(
    "failure", [RuntimeError("secret /home/me"), ExceptionGroup("secret", [OSError("secret"), KeyError("k")])]
)
@pytest.mark.both_eras
async def test_any_other_error_is_a_number_in_the_log(
    build: Build, era: str, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "alita_mcp"):
        result = await call_of(build, one_tool(raising(failure)), era)

    assert result.is_error
    assert "secret" not in result.model_dump_json()
    number = text_of(result).partition("(id ")[2].partition(")")[0]
    assert number
    assert number in caplog.text
    assert "secret" in caplog.text


@pytest.mark.both_eras
async def test_a_protocol_error_stays_one(build: Build, era: str) -> None:
    source = one_tool(raising(MCPError(types.INVALID_PARAMS, "on purpose")))

    async with connected(build(extra_sources=[source]), era) as client:
        with pytest.raises(MCPError) as refusal:
            await called(client, "try_me")

    assert (refusal.value.error.code, refusal.value.error.message) == (types.INVALID_PARAMS, "on purpose")


async def test_arguments_are_checked_before_a_source_sees_them(build: Build, era: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    source = one_tool(giving(said("ran")), input_schema=schema)

    result = await call_of(build, source, era, a="x")

    assert result.is_error
    assert "a" in text_of(result)
    assert result.structured_content["stage"] == "schema"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("\ud800", "surrogate"),
        ("x" * 1_000_001, "the limit is 1,000,000"),
        ([[[]]] * 200_000, "the limit is 1,000,000"),
        (json.loads("[" * 200 + "]" * 200), "nested too deeply"),
    ],
    ids=["half a pair", "a megabyte", "many", "deep"],
)
async def test_arguments_that_are_no_honest_json_are_refused(build: Build, value: Any, words: str) -> None:
    ran: list[dict[str, Any]] = []

    async def handler(call: ToolCall) -> ToolResult:
        ran.append(call.arguments)
        return said("ran")

    result = await call_of(build, one_tool(handler), "modern", a=value)

    assert result.is_error
    assert words in text_of(result)
    assert not ran


@pytest.mark.parametrize(
    "handler",
    [
        raising(AlitaError("x")),
        raising(RuntimeError("x")),
        giving(said("x", is_error=True, structured_content={"x": 1})),
    ],
    ids=["ours", "unexpected", "its own"],
)
async def test_an_error_of_a_tool_with_an_output_schema_has_no_structured_part(
    build: Build, era: str, handler: Handler
) -> None:
    result = await call_of(build, one_tool(handler, output_schema=OUTPUT), era)

    assert result.is_error
    assert result.structured_content is None


async def test_the_sdk_is_told_schemas_without_a_list(build: Build) -> None:
    server = build()
    lookup = server.get_tool_input_schema
    assert lookup is not None

    assert lookup("vowel_share") is None
    async with connected(server, "modern") as client:
        await succeeded(client, "synthesize_tool", **VOWEL_SHARE)
        assert (lookup("vowel_share") or {})["properties"].keys() == {"text", "digits"}
        assert (lookup("run_tool") or {})["required"] == ["name"]
        assert lookup("nothing") is None


@pytest.mark.both_eras
async def test_a_cancelled_call_is_cancelled_at_its_source(build: Build, era: str) -> None:
    started, ended = anyio.Event(), anyio.Event()

    async def handler(_call: ToolCall) -> ToolResult:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        raise AssertionError("unreachable")

    async with connected(build(extra_sources=[one_tool(handler)]), era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "try_me", {})
            await started.wait()
            tasks.cancel_scope.cancel()
        await ended.wait()
        assert await names_of(client)


@given(st.text(alphabet=st.characters(exclude_categories=())), st.integers(min_value=2, max_value=50))
def test_printable_text_is_short_visible_and_encodable(text: str, limit: int) -> None:
    shown = printable(text, limit)

    shown.encode()
    assert len(shown) <= limit
    assert not set(shown) & {"\u202e", "\u200b", "\x00", "\x1b"}
