"""What a client did on one server of a shared library is there on another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from alita_mcp.library.grants.code_approvals import CodeApprovals
from alita_mcp.library.storage import open_storage
from alita_mcp.settings import Settings
from tests.server.in_memory import Build, called, connected, succeeded
from tests.server.test_code_rights import NEEDS, READS, number_in
from tests.server.test_from_run import CODE, SEEN

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.extra("team")]


@pytest.fixture
def servers(build: Build, postgres_url: str, tmp_path: Path) -> list[object]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.txt").write_text("secret plans")
    shared = {"library": SecretStr(postgres_url), "workspace": workspace}
    return [build(settings={**shared, "home": tmp_path / name}) for name in ("one", "other")]


@pytest.mark.usefixtures("embedded")
async def test_a_tool_is_made_of_runs_on_different_servers(servers: list[object]) -> None:
    one, other = servers
    async with connected(one, "modern") as client, connected(other, "modern") as elsewhere:
        ids = []
        for at, (prices, percent, _) in zip((client, elsewhere, client), SEEN, strict=True):
            ran = await succeeded(at, "run_code", code=CODE.format(prices=prices, percent=percent))
            ids.append(ran["run"])
        assert json.loads(ran["keep"].partition("from_run ")[2]) == ids
        made = await succeeded(elsewhere, "synthesize_tool", from_run=ids, name="discounted_total")
        assert (made["status"], made["tests"]) == ("created", "3/3")


@pytest.mark.usefixtures("embedded")
async def test_what_code_left_is_read_and_what_it_asked_is_approved_elsewhere(
    servers: list[object], postgres_url: str, tmp_path: Path
) -> None:
    one, other = servers
    async with connected(one, "modern") as client, connected(other, "modern") as elsewhere:
        code = "open('a.bin', 'wb').write(bytes(range(256)))\n'x' * 300_000"
        ran = await called(client, "run_code", code=code)
        links = [str(block.uri) for block in ran.content if block.type == "resource_link"]
        assert links
        for link in links:
            assert await client.read_resource(link) == await elsewhere.read_resource(link)
        told = await succeeded(client, "run_code", **READS, needs=NEEDS)
        again = await succeeded(elsewhere, "run_code", **READS, needs=NEEDS)
        assert number_in(again) == number_in(told)
        with open_storage(Settings(home=tmp_path / "third", library=SecretStr(postgres_url))) as storage:
            approvals = CodeApprovals(storage)
            assert approvals.approve(number_in(told), approvals.find(number_in(told)).digest)
        for each in (client, elsewhere):
            assert (await succeeded(each, "run_code", **READS, needs=NEEDS))["result"] == "secret plans"
