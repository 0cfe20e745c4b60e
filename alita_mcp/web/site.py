"""What the pages stand on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from alita_mcp.app.activity import Activity
from alita_mcp.app.app import App
from alita_mcp.web.security import Sessions


@dataclass(frozen=True)
class Site:
    """The process that serves the pages, as they see it."""

    app: Callable[[], Awaitable[App]]
    """The App, opened if it is not; raises what made its opening fail."""
    sessions: Sessions
    """Who is signed in."""
    follow_others: Callable[[Callable[[Activity], None]], Coroutine[Any, Any, None]]
    """Tells a listener what happens in the other servers of this home, until it is cancelled."""

    async def app_of(self, request: Request) -> App:
        """The App as whoever sent a request sees it."""
        return (await self.app()).seen_by(request.state.identity.owner)
