"""What clients may do to tools, and what only a person may; no answer to a client helps it to be taken for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alita_mcp.app import open_app
from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.grants.effective_grants import how_to_grant
from alita_mcp.library.opening import open_library
from alita_mcp.server.tools.definitions import definition_of
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.library.factory import simple


@pytest.mark.parametrize("action", ["pin", "unpin", "rollback", "enable", "disable", "delete", "export"])
async def test_a_locked_server_lets_no_client_manage_tools(home: Path, action: str) -> None:
    async with open_library(Settings(home=home), starters=lambda: None) as library:
        for version in range(2):
            accepted = simple("halve", description=f"Halves {version}.")
            await library.publish(accepted, expected_version=version)
    async with open_app(Settings(home=home, policy="locked"), admit=lambda _manifest: ()) as app:
        before = app.library.entry("halve")
        with pytest.raises(ToolUnavailable, match="ALITA_POLICY is locked"):
            await app.manage(action, "halve")  # type: ignore[arg-type]
        assert app.library.entry("halve") == before
        assert not list((home / "exports").glob("*"))


async def test_no_client_manages_what_a_person_disabled_or_approved(home: Path) -> None:
    async with open_app(Settings(home=home), admit=lambda _manifest: ()) as app:
        library = app.library
        await library.publish(simple("halve"), expected_version=0)
        await library.disable("halve")
        for action in ("enable", "delete"):
            with pytest.raises(ToolUnavailable, match="no client undoes"):
                await app.manage(action, "halve")  # type: ignore[arg-type]
        await library.publish(simple("asker", grants=Grants(model=True)), expected_version=0)
        await library.approve("asker")
        await library.publish(simple("asker", answer="other"), expected_version=1)
        await library.rollback("asker", 2)
        with pytest.raises(ToolUnavailable, match="asks for grants"):
            await app.manage("rollback", "asker", 1)
        with pytest.raises(ToolUnavailable, match="only the current version holds: v2"):
            await app.run("asker", {}, 1)


async def test_no_answer_to_a_client_holds_the_digest_by_which_a_person_approves(home: Path) -> None:
    async with open_app(Settings(home=home), admit=lambda _manifest: ()) as app:
        manifest = await app.library.publish(simple("asker", grants=Grants(model=True)), expected_version=0)
        card = await app.inspect("asker", source=True)
        assert manifest.digest not in json.dumps(card)
        assert manifest.digest not in how_to_grant(manifest)
        assert manifest.digest not in definition_of(manifest).model_dump_json(by_alias=True)
