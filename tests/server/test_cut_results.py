"""Results that are too large to send: no reader takes a part for the whole, and the whole can be read."""

from __future__ import annotations

import json
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError

from alita_mcp.library.kept_results import MAX_RUNS
from alita_mcp.settings import FixedLimits
from tests.server.drafts import REPEAT
from tests.server.fixture_sources import giving, one_tool, said
from tests.server.in_memory import Build, called, connected, names_of, succeeded, text_of

LIMIT = 4_000
SMALL = {"limits": FixedLimits(result_characters=LIMIT)}
ROWS = {"text": 'é🙂"\n' * 100, "times": 20}
WHOLE = {"result": [ROWS["text"]] * 20}
OUTPUT = {"type": "object", "properties": {"result": {"type": "string"}}}


def link_of(result: types.CallToolResult) -> types.ResourceLink:
    (link,) = [block for block in result.content if isinstance(block, types.ResourceLink)]
    return link


def beginning_of(result: types.CallToolResult) -> str:
    return text_of(result).partition("as JSON:\n")[2]


async def texts_at(client: Client, uri: str) -> list[str]:
    contents = (await client.read_resource(uri)).contents
    return [each.text for each in contents if isinstance(each, types.TextResourceContents)]


async def read_on(client: Client, uri: str) -> str:
    """A whole result, part by part as each says."""
    parts = ""
    while uri:
        note, part = await texts_at(client, uri)
        assert len(part) <= LIMIT
        parts += part
        uri = note.partition("it goes on at ")[2].removesuffix(".")
    return parts


@pytest.mark.slow
@pytest.mark.both_eras
async def test_a_cut_result_says_so_to_every_reader(build: Build, era: str) -> None:
    async with connected(build(settings=SMALL), era) as client:
        await succeeded(client, "synthesize_tool", **REPEAT)
        direct = await called(client, "repeat_rows", **ROWS)
        through = await called(client, "run_tool", name="repeat_rows", arguments=ROWS)
        document = json.dumps(WHOLE, ensure_ascii=False)
        for result in (direct, through):
            assert result.structured_content is None
            assert result.meta is not None
            assert result.meta["alita/cut"] is True
            begins = beginning_of(result)
            total, uri = len(document), str(link_of(result).uri)
            assert text_of(result).startswith(
                f"The call succeeded, but its result is over {LIMIT:,} characters: "
                f"{total - len(begins):,} of {total:,} are left out. "
                f"Whole result: resources/read {uri} (parts: {uri}?offset="
            )
            assert f"kept until {MAX_RUNS} newer results" in text_of(result)
            assert document.startswith(begins)
            assert link_of(result).size == len(document.encode())
            assert LIMIT - 12 <= len(text_of(result)) <= LIMIT, "all that may be sent is used"
            assert json.loads(await read_on(client, uri)) == WHOLE
            next_part = text_of(result).partition("(parts: ")[2].partition(")")[0]
            assert begins + await read_on(client, next_part) == document
        assert direct.is_error, "SDK clients refuse a success without the structured part that was declared"
        assert not through.is_error


async def test_a_part_is_asked_for_in_bytes(build: Build, era: str) -> None:
    async with connected(build(settings=SMALL), era) as client:
        await succeeded(client, "synthesize_tool", **REPEAT)
        uri = str(link_of(await called(client, "repeat_rows", text="ab" * 50, times=100)).uri)
        document = json.dumps({"result": ["ab" * 50] * 100})
        contents = (await client.read_resource(f"{uri}?offset=11")).contents
        assert [str(each.uri) for each in contents] == [f"{uri}?offset=11"] * 2
        note, part = await texts_at(client, f"{uri}?offset=11")
        assert part == document[11 : 11 + len(part)]
        assert note == (
            f"Part of a result: bytes 11 to {10 + len(part)}, counted from 0, of {len(document)}; "
            f"it goes on at {uri}?offset={11 + len(part)}."
        )
        note, part = await texts_at(client, f"{uri}?offset={len(document) - 5}")
        assert part == document[-5:]
        assert note.endswith("it ends here.")
        for wrong in (
            f"offset={len(document)}",
            "offset=-1",
            "offset=x",
            "offset=1/../x",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(f"{uri}?{wrong}")


@pytest.mark.slow
@pytest.mark.parametrize("output_schema", [None, OUTPUT], ids=["no schema", "schema"])
@pytest.mark.parametrize(
    "answer",
    [
        said("y" * 300_000),
        said("y" * 300_000, is_error=True),
        said("w", structured_content={f"k{n}": n for n in range(30_000)}),
    ],
    ids=["text", "error", "wide"],
)
async def test_whatever_a_tool_gives_is_cut_and_kept(
    build: Build, era: str, answer: types.CallToolResult, output_schema: dict[str, Any] | None
) -> None:
    source = one_tool(giving(answer), output_schema=output_schema)
    async with connected(build(extra_sources=[source]), era) as client:
        assert "try_me" in await names_of(client)
        result = await called(client, "try_me")
        assert result.structured_content is None
        assert 39_980 <= len(text_of(result)) <= 40_000
        assert result.is_error is (bool(answer.is_error) or output_schema is not None)
        assert f"The call {'failed' if answer.is_error else 'succeeded'}" in text_of(result)
        parts = await texts_at(client, str(link_of(result).uri))
        assert parts[1].startswith(beginning_of(result)[:1_000])
