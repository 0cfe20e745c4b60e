"""Runs and their values as resources: whole, in parts, and what is not there."""

from __future__ import annotations

import json

import mcp_types as types
import pytest
from mcp import Client, MCPError

from alita_mcp.settings import FixedLimits, Settings
from tests.server.agents.scripted import serving
from tests.server.in_memory import connected, succeeded

RUN = "0" * 32


async def texts_at(client: Client, uri: str) -> list[str]:
    read = await client.read_resource(uri)
    return [each.text for each in read.contents if isinstance(each, types.TextResourceContents)]


async def test_a_run_is_read_with_its_solution_and_events(settings: Settings, era: str) -> None:
    async with connected(serving(settings).server(), era) as client:
        told = await succeeded(client, "solve_task", task="t")
        (text,) = await texts_at(client, told["events"])
    whole = json.loads(text)
    assert (whole["solution"]["answer"], whole["solution"]["task"]) == ("T", "t")
    assert [event["kind"] for event in whole["events"]] == ["started", "step", "finished"]
    assert whole["events"][1]["data"]["reference"] == "o1"
    assert "data" not in whole["events"][2]


async def test_a_value_is_read_whole_and_in_parts(settings: Settings, era: str) -> None:
    made = serving(settings, settings_limits=FixedLimits(result_characters=2_000))
    async with connected(made.server(), era) as client:
        run = (await succeeded(client, "solve_task", task="t"))["run"]
        value = json.dumps(["é" * 10] * 1_000, ensure_ascii=False).encode()
        await made.runs.keep_value(run, "o1", b'{"rows": [1, 2]}')
        await made.runs.keep_value(run, "o2", value)
        assert await texts_at(client, f"alita://tasks/{run}/o1") == ['{"rows": [1, 2]}']
        read, at = b"", 0
        while at < len(value):
            note, part = await texts_at(client, f"alita://tasks/{run}/o2?offset={at}")
            assert f"bytes {at} to" in note
            read += part.encode()
            at = len(read)
        assert read == value
        assert (await texts_at(client, f"alita://tasks/{run}/o1?offset=1&length=6"))[1:] == ['"rows"']


NOT_THERE = (
    f"alita://tasks/{RUN}", f"alita://tasks/{RUN}/o1", "alita://tasks/", "alita://tasks/../../etc/passwd",
    f"alita://tasks/{RUN.upper()}A", f"alita://tasks/{RUN}/../o1", f"alita://tasks/{RUN}/..%2fo1",
    f"alita://tasks/{RUN}/o1/o2", f"alita://tasks/{RUN}?offset=x", f"alita://tasks/{RUN}/{'o' * 200}",
)  # fmt: skip


async def test_what_is_not_there_is_a_protocol_error(settings: Settings) -> None:
    async with connected(serving(settings).server(), "modern") as client:
        for uri in NOT_THERE:
            with pytest.raises(MCPError):
                await client.read_resource(uri)
