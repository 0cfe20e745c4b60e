"""What clients may call of a superseded version; no answer to them holds the digest by which a person approves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from alita_mcp.app import open_app
from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.grants.effective_grants import how_to_grant
from alita_mcp.server.tools.definitions import definition_of
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.library.factory import simple


async def test_a_superseded_version_that_asks_for_grants_cannot_be_called(home: Path) -> None:
    async with open_app(Settings(home=home), admit=lambda _manifest: ()) as app:
        library = app.library
        await library.publish(simple("asker", grants=Grants(model=True)), expected_version=0)
        await library.approve("asker")
        await library.publish(simple("asker", answer="other"), expected_version=1)
        await library.rollback("asker", 2)
        with pytest.raises(ToolUnavailable, match="only the current version holds: v2"):
            await app.run_tool("asker", {}, 1)


async def test_no_answer_to_a_client_holds_the_digest_by_which_a_person_approves(home: Path) -> None:
    async with open_app(Settings(home=home), admit=lambda _manifest: ()) as app:
        manifest = await app.library.publish(simple("asker", grants=Grants(model=True)), expected_version=0)
        card = await app.inspect_tool("asker", source=True)
        assert manifest.digest not in json.dumps(card)
        assert manifest.digest not in how_to_grant(manifest)
        assert manifest.digest not in definition_of(manifest).model_dump_json(by_alias=True)
