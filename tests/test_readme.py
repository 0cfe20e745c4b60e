"""The README's own words: its request is published, and its commands are commands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import anyio
import pytest

from alita_mcp.app import open_app
from alita_mcp.cli.main import build_parser
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.synthesis.requests.outcomes import Created
from alita_mcp.synthesis.requests.request import read_request

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


async def silent(_stage: str) -> None:
    return None


async def test_the_request_in_the_readme_is_published_as_it_stands(settings: Settings) -> None:
    requests = [block for block in map(json.loads, fenced("json")) if "code" in block]
    assert requests
    with anyio.fail_after(120):
        async with open_app(settings, admit=admit, sandbox=WasmSandbox(settings)) as app:
            for request in requests:
                outcome = await app.synthesize(read_request(request), silent)
                assert isinstance(outcome, Created), outcome
                assert outcome.trust == "verified"


COMMANDS = [
    line.removeprefix("$ alita ").partition(" #")[0]
    for block in fenced("console")
    for line in block.splitlines()
    if line.startswith("$ alita ")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_in_the_readme_is_understood(command: str) -> None:
    assert callable(build_parser().parse_args(shlex.split(command)).command)
