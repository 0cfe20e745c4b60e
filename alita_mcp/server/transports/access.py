"""Who a request over HTTP is from: the server's own token, one of `alita token`, or one of an authorization server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio.to_thread
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from alita_mcp.owners import Principal, ScopeName, token_digest, token_owner
from alita_mcp.server.api.problems import Refusal

if TYPE_CHECKING:
    from starlette.routing import Route

    from alita_mcp.postgres.tokens import TokenTable
    from alita_mcp.server.transports.oauth import ResourceServer
    from alita_mcp.settings import Settings

OWN_SCOPES: frozenset[ScopeName] = frozenset({"call", "make"})
"""Of the server's own token, which every client of a machine may have: it neither changes tools nor approves."""


class Access:
    """Access checks of one server."""

    def __init__(self, token: str | None, settings: Settings | None = None) -> None:
        """Without a `token` of the server's own none is asked for.

        The settings add the tokens of a shared library, and those of an authorization server.

        Raises:
            UsageError: as `ResourceServer`.
        """
        self.takes_token = token is not None
        self._digest = "" if token is None else token_digest(token)
        self._own = Principal(token_owner(token), OWN_SCOPES)
        self._tokens: TokenTable | None = None
        self._oauth: ResourceServer | None = None
        if settings and (settings.oauth_issuer or settings.oauth_audience):
            from alita_mcp.server.transports.oauth import ResourceServer

            self._oauth = ResourceServer(settings)
        if settings and settings.library_url and token is not None:
            from alita_mcp.postgres.tokens import TokenTable

            self._tokens = TokenTable(settings.library_url)
        self.routes: Sequence[Route] = self._oauth.routes if self._oauth else ()
        """Served without a token."""

    @asynccontextmanager
    async def follow_tokens(self) -> AsyncIterator[None]:
        """Hears of tokens that are made and revoked while the block runs; LibraryError where none can be read."""
        if self._tokens is None:
            yield
            return
        await anyio.to_thread.run_sync(self._tokens.follow)
        try:
            yield
        finally:
            self._tokens.close()

    async def identify(self, sent: Sequence[str]) -> Principal:
        """The principal of a request with these `Authorization` headers.

        Raises:
            Refusal: it carries no token that counts.
        """
        # 1. No token is asked for.
        # 2. None was sent, several, or what is none.
        # 3. The server's own, or one of `alita token`: both are looked up by their digest, which tells nothing by time.
        # 4. One of the authorization server.
        if not self.takes_token and self._oauth is None:
            return self._own
        scheme, _, text = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        token = text.strip()
        if scheme.lower() != "bearer" or not token:
            raise self._refusal(is_sent=bool(sent))
        principal = self.find(token_digest(token))
        if principal is None and self._oauth is not None:
            principal = await self._oauth.identify(token)
        if principal is None:
            raise self._refusal(is_sent=True)
        return principal

    def find(self, digest: str) -> Principal | None:
        """Who has the token of a digest: the server's own, or one of `alita token`."""
        if digest == self._digest:
            return self._own
        return None if self._tokens is None else self._tokens.find(digest)

    def _refusal(self, *, is_sent: bool) -> Refusal:
        # RFC 6750, 3.1: a request without a token is told no error; our own clients always were
        names = {"realm": "alita"}
        names |= {"error": "invalid_token"} if is_sent or not self._oauth else {"scope": "call make"}
        if self._oauth:
            names["resource_metadata"] = self._oauth.metadata_url
        challenge = "Bearer " + ", ".join(f'{name}="{value}"' for name, value in names.items())
        return Refusal(
            401, "invalid_token", "The token is missing or wrong.",
            "Send the header 'Authorization: Bearer TOKEN'.", {"WWW-Authenticate": challenge},
        )  # fmt: skip


class User(AuthenticatedUser):
    """A principal as the SDK knows it, which gives sessions and sealed states to no other."""

    def __init__(self, principal: Principal) -> None:
        super().__init__(AccessToken(token="", client_id=principal.id, scopes=[], subject=principal.owner))
        self.principal = principal
