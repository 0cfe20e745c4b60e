"""`alita ui`: which server gives the link, and at which address."""

from __future__ import annotations

import json
import re
import socket
import sys
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
import pytest

from alita_mcp.web.security import Sessions
from tests.server.local.conftest import User, in_home
from tests.server.local.test_shared_server import alita, client, status
from tests.server.processes import PATIENCE_S, SERVE_WITH_TOKEN, started

pytestmark = [
    pytest.mark.process,
    in_home,
    pytest.mark.skipif(sys.platform == "win32", reason="POSIX sockets"),
]


async def ask_for_link(user: User, *words: str) -> str:
    said = await anyio.to_thread.run_sync(alita, user, "ui", "--json", *words)
    url: str = json.loads(said.stdout)["url"]
    return url


async def test_commands_that_ask_at_once_get_links_of_one_server_at_a_port_that_is_free(
    stocked_user: User,
) -> None:
    user = stocked_user
    links: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])

        async def ask() -> None:
            links.append(await ask_for_link(user, "--port", port))

        async with client(user), anyio.create_task_group() as commands:
            for _ in range(3):
                commands.start_soon(ask)
    (address,) = {urlsplit(link).netloc for link in links}
    assert address != f"127.0.0.1:{port}"
    assert len({*links}) == 3
    (server,) = await status(user)
    assert server["pages"] == {"address": address, "open": 0}
    assert len(user.servers()) == 1


@pytest.mark.parametrize("words", [(), ("--no-token",)])
async def test_a_server_over_http_gives_links_to_its_own_address(
    stocked_user: User, words: tuple[str, ...]
) -> None:
    user = stocked_user
    async with started((*SERVE_WITH_TOKEN, *words), user.environment(), user.folder) as peer:
        line = await peer.says("serving MCP at")
        address = urlsplit(re.findall(r"http://\S+", line)[0]).netloc
        assert ("or sign in with the token" in peer.stderr) == (not words)
        link = await ask_for_link(user)
        assert urlsplit(link).netloc == address
        async with httpx.AsyncClient(timeout=PATIENCE_S, follow_redirects=True) as browser:
            first = await browser.get(f"http://{address}/")
            assert (first.status_code, "Sign in" in first.text) == (401, True)
            token = "guess" if words else (user.home / "http_token").read_text().strip()
            by_token = await browser.post(f"http://{address}/ui/enter", data={"code": token})
            assert by_token.status_code == (403 if words else 200)
            browser.cookies.clear()
            # clients have the token: it is not enough to sign a person's session
            forged = Sessions(token.encode())
            browser.cookies.set(forged.cookie, forged.make_session())
            assert (await browser.get(f"http://{address}/ui/library")).status_code == 401
            browser.cookies.clear()
            assert (await browser.get(link)).status_code == 200
            assert "calculate" in (await browser.get(f"http://{address}/ui/library")).text
