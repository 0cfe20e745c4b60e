"""Over HTTP a client is not a person: strangers and clients against real servers, by what they could read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from tests.server.processes import PATIENCE_S, SERVE_WITH_TOKEN, Peer, environment, started
from tests.server.test_elicitation import Person

pytestmark = pytest.mark.process

SECRET = "hunter2-hunter2"
TOKEN = "a-token-of-more-than-16-characters"
THEFT = {
    "code": "import alita_tool\n[ord(letter) for letter in alita_tool.secret('KEY')]",
    "needs": {"secrets": ["KEY"]},
}
READ = json.dumps([ord(letter) for letter in SECRET])


@pytest.fixture
def secrets_file(tmp_path: Path) -> Path:
    file = tmp_path / "secrets.json"
    file.write_text(json.dumps({"KEY": SECRET}))
    file.chmod(0o600)
    return file


@asynccontextmanager
async def serving(home: Path, *words: str, **settings: Any) -> AsyncIterator[tuple[str, Peer]]:
    """The server as a person starts it: nothing but `alita serve --http`, and these words and settings."""
    env = environment(home=home, sandbox="wasm", **settings)
    async with started((*SERVE_WITH_TOKEN, *words), env, home.parent) as peer:
        yield (await peer.says("serving MCP at")).split()[-1], peer


async def steal(url: str, era: str, **headers: str) -> tuple[str, Person]:
    """Declares forms, asks for a secret and answers the form itself; gives what it was told, and its person."""
    person, told = Person(), "refused"
    with anyio.fail_after(PATIENCE_S), suppress(MCPError, BaseExceptionGroup):
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            mode = "legacy" if era == "legacy" else "auto"
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                told = json.dumps((await client.call_tool("run_code", THEFT)).structured_content)
    return told, person


PROXY = {"host": "tools.example.org"}
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("words", "settings", "headers", "era", "gets"),
    [
        pytest.param([], {}, {}, "legacy", "refused", id="another local user"),
        pytest.param(
            ["--allow-host", PROXY["host"]], {}, PROXY, "modern", "refused", id="a stranger behind a proxy"
        ),
        pytest.param([], {"elicit": "true"}, {}, "modern", "refused", id="a stranger where forms are on"),
        pytest.param(
            ["--no-token"], {}, {}, "legacy", "needs_approval", id="anybody, where no token is asked for"
        ),
        pytest.param([], {"token": TOKEN}, BEARER, "modern", "needs_approval", id="a client with the token"),
    ],
)
async def test_who_is_not_the_person_reads_no_secret(
    home: Path, secrets_file: Path, words: list[str], settings: Any, headers: Any, era: str, gets: str
) -> None:
    async with serving(home, *words, secrets_file=secrets_file, **settings) as (url, peer):
        told, person = await steal(url, era, **headers)
        assert ("every user and program of this machine is served" in peer.stderr) == ("--no-token" in words)
    assert READ not in told
    assert person.asked == []
    assert (told if gets == "refused" else json.loads(told)["status"]) == gets


async def test_with_the_token_and_the_operators_word_a_form_approves(home: Path, secrets_file: Path) -> None:
    """The one way in which a connection approves: what the tests above refuse is not refused for another reason."""
    settings = {"secrets_file": secrets_file, "elicit": "true", "token": TOKEN}
    async with serving(home, **settings) as (url, peer):
        told, person = await steal(url, "modern", **BEARER)
        assert "whoever has the token can approve what it asks for" in peer.stderr
    assert READ in told
    assert len(person.asked) == 1


async def test_two_servers_share_the_token_of_their_home_and_say_where_it_is_but_not_what(home: Path) -> None:
    async with serving(home) as (first, _), serving(home) as (second, peer):
        token = (home / "http_token").read_text().strip()
        for url in (first, second):
            page, form = url.replace("/mcp", "/ui/library"), url.replace("/mcp", "/ui/enter")
            async with httpx2.AsyncClient() as browser:
                assert "Sign in" in (await browser.get(page)).text
                assert (await browser.post(form, data={"code": "a guess"})).status_code == 403
                assert (await browser.get(page, auth=("me", token))).status_code == 401
                assert (await browser.post(form, data={"code": token})).status_code == 200
                assert "calculate" in (await browser.get(page)).text
            assert (await steal(url, "modern", authorization=f"Bearer {token}"))[0] != "refused"
        assert f"the token in {home / 'http_token'}: alita install CLIENT --http 127.0.0.1:0" in peer.stderr
        assert "http://127.0.0.1:0/ui" in peer.stderr
        assert token not in peer.stderr
