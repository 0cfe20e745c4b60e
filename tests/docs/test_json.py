"""JSON and TOML in README and docs are taken by what they are written for."""

from __future__ import annotations

import json
import tomllib

import pytest

from alita_mcp.clients.table import CLIENTS, Launch, Remote
from alita_mcp.server.api.requests import NewTask
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.request import read_request
from benchmarks.synthesis.tool_requests import ToolRequest
from tests.client_configuration import configuration
from tests.docs.documents import DOCUMENTS, README, fences

LAUNCH = Launch("alita-mcp-server", (), {})
"""How a client starts the installed server."""
REMOTE = Remote("http://127.0.0.1:8765/mcp", "TOKEN")
BLOCKS = [
    pytest.param(text, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, text in enumerate(fences(document, "json"), 1)
]


@pytest.mark.parametrize("text", BLOCKS)
def test_json_is_what_its_reader_takes(text: str) -> None:
    value = json.loads(text)
    if {"mcpServers", "servers", "mcp", "context_servers"} & value.keys():
        entries = [configuration(client, LAUNCH) for client in CLIENTS.values()]
        assert value in [configuration(CLIENTS["gemini-cli"], REMOTE), *entries]
    elif "hidden" in value:
        ToolRequest.model_validate_json(text)
    elif {"code", "from_run"} & value.keys():
        read_request(value)
    elif "task" in value:
        NewTask.model_validate_json(text)
    elif "error" in value:
        assert value["error"].keys() == {"code", "message", "hint"}
    elif "items" in value:  # a sample of docs/rehearsal.md, which tests/test_grants.py compares
        assert value["name"] == "sample"
    else:
        raise AssertionError(text)


def test_toml_is_what_codex_is_given() -> None:
    blocks = [text for document in DOCUMENTS for text in fences(document, "toml")]
    assert blocks
    for text in blocks:
        value = tomllib.loads(text)
        if "mcp_servers" in value:
            assert value == configuration(CLIENTS["codex"], LAUNCH)
        else:  # a sample of alita.toml
            assert set(value) <= set(Settings.model_fields)


def test_the_readme_shows_each_client_that_is_not_served_by_the_standard_json() -> None:
    shown = [json.loads(text) for text in fences(README, "json")]
    assert [
        name
        for name, client in CLIENTS.items()
        if client.format == "json" and configuration(client, LAUNCH) not in shown
    ] == []
