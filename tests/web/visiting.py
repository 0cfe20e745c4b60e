"""A signed-in visitor of the pages of an App, on the test's own event loop."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
import httpx

from alita_mcp.app.activity import Activity
from alita_mcp.app.app import App
from alita_mcp.owners import Principal, token_digest, token_owner
from alita_mcp.web.routes import ui_application
from alita_mcp.web.security import Sessions
from alita_mcp.web.site import Site


async def alone(_listener: Callable[[Activity], None]) -> None:
    """There is no other server."""
    await anyio.sleep_forever()


@asynccontextmanager
async def visiting(app: App, *, token: str = "") -> AsyncIterator[httpx.AsyncClient]:
    """A browser without scripts that has signed in; it follows no redirects. A stream arrives when it has ended.

    With a `token`, that has opened its session, as a client of the HTTP server could.
    """

    async def the_app() -> App:
        return app

    own = Principal(token_owner(token), frozenset({"call", "make"}))
    sessions = Sessions(b"key", {token_digest(token): own}.get)
    site = Site(app=the_app, sessions=sessions, follow_others=alone)
    transport = httpx.ASGITransport(ui_application(site))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as browser:
        entered = await browser.get("/ui/enter", params={"code": token or sessions.make_code()})
        assert entered.status_code == 200
        yield browser


def csrf_token(page: str) -> str:
    """The token that the forms of a page carry."""
    found = re.search(r'"x-csrf-token": "(\w+)"', page)
    assert found is not None
    return found[1]
