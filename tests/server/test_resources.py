"""The library as resources."""

from __future__ import annotations

import json

import mcp_types as types
import pytest
from mcp import Client, MCPError

from alita_mcp.server.build import DualEraServer
from tests.server.drafts import VOWEL_SHARE
from tests.server.in_memory import library_of


async def text_at(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, types.TextResourceContents)
    assert str(contents.uri) == uri
    return contents.text


async def listed(client: Client) -> list[str]:
    return [str(each.uri) for each in (await client.list_resources(cache_mode="bypass")).resources]


@pytest.mark.both_eras
@pytest.mark.usefixtures("vowel_share")
async def test_every_part_of_a_tool_can_be_read(client: Client) -> None:
    base = "alita://tools/vowel_share/v1"
    assert (await text_at(client, f"{base}/source")).strip() == VOWEL_SHARE["code"].strip()
    assert json.loads(await text_at(client, f"{base}/tests")) == VOWEL_SHARE["tests"]
    assert json.loads(await text_at(client, f"{base}/manifest"))["name"] == "vowel_share"
    assert json.loads(await text_at(client, f"{base}/report"))["examples_passed"] == 4


@pytest.mark.both_eras
@pytest.mark.usefixtures("vowel_share")
async def test_the_catalogue_has_a_row_for_every_tool(client: Client, server: DualEraServer) -> None:
    await (await library_of(server)).disable("vowel_share")

    assert await listed(client) == ["alita://tools"]
    rows = {row["name"]: row for row in json.loads(await text_at(client, "alita://tools"))}

    assert rows["vowel_share"]["version"] == 1
    assert rows["vowel_share"]["state"] == "disabled"


async def test_templates_tell_how_the_uris_are_made(client: Client) -> None:
    templates = (await client.list_resource_templates()).resource_templates

    uris = {template.uri_template for template in templates}
    assert uris == {
        "alita://runs/{id}{?offset}",
        "alita://runs/{id}/{+file}{?offset}",
    }


NOT_THERE = [
    "alita://nothing",
    "alita://tools/no_such_tool/v1/source",
    "alita://tools/vowel_share/v9/source",
    "alita://tools/vowel_share/v1/secrets",
    "alita://tools/vowel_share/v01/source",
    "alita://tools/vowel_share/v1/source\n",
    "alita://tools/../../etc/v1/source",
    "alita://tools\n",
    f"alita://tasks/{'f' * 32}",
    "alita://runs/none",
    "alita://runs/../../library.sqlite3",
    "alita://runs/%2e%2e%2fx",
    f"alita://runs/{'f' * 32}?offset=1",
    f"alita://runs/{'f' * 32}?offset=-1",
    "file:///etc/passwd",
    "x" * 10_000,
    "\u202ealita://tools",
]


@pytest.mark.both_eras
@pytest.mark.usefixtures("vowel_share")
async def test_what_is_not_there_is_an_error_that_names_it(client: Client, era: str) -> None:

    for uri in NOT_THERE:
        with pytest.raises(MCPError) as refusal:
            await client.read_resource(uri)

        error = refusal.value.error
        assert error.code == (types.INVALID_PARAMS if era == "modern" else -32002), uri
        assert len(error.message) < 1_200
        assert set(error.data) == {"uri"}
        assert "\u202e" not in error.message + error.data["uri"]
