"""Who a request over HTTP is from: the server's own token, one of `alita token`, or one of an authorization server."""

from __future__ import annotations

import hashlib
import hmac
import math
import time
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alita_mcp.owners import ANYONE, Principal, ScopeName, token_owner
from alita_mcp.server.api.problems import Refusal

if TYPE_CHECKING:
    from alita_mcp.postgres.tokens import TokenTable
    from alita_mcp.server.transports.oauth import ResourceServer

MAX_TOKEN = 16_384
"""Characters; no token of ours has more than 60, those of authorization servers some thousand."""
OWN_SCOPES: frozenset[ScopeName] = frozenset({"call", "make"})
"""Of the server's own token, which every client of a machine may have: it neither changes tools nor approves."""


class Access:
    """Access checks of one server."""

    def __init__(
        self,
        token: str | None,
        *,
        tokens: TokenTable | None = None,
        oauth: ResourceServer | None = None,
        may_approve: bool = False,
    ) -> None:
        """Without a `token` of the server's own none is asked for; with `may_approve` it answers forms that grant."""
        self._digest = None if token is None else _digest(token)
        scopes = OWN_SCOPES | ({"approve"} if may_approve else frozenset())
        self._own = Principal(ANYONE if token is None else token_owner(token), scopes)
        self._tokens = tokens
        self._oauth = oauth
        self._streams: dict[str, set[anyio.CancelScope]] = {}

    @property
    def open_paths(self) -> Sequence[str]:
        """Paths that are served without a token."""
        return self._oauth.paths if self._oauth else ()

    async def identify(self, sent: Sequence[str]) -> Principal:
        """The principal of a request with these `Authorization` headers.

        Raises:
            Refusal: it carries no token that counts.
        """
        # 1. No token is asked for.
        # 2. None was sent, several, or what is none.
        # 3. The server's own, or one of `alita token`: both are looked up by their digest, which tells nothing by time.
        # 4. One of the authorization server.
        if self._digest is None:
            return self._own
        scheme, _, text = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
        token = text.strip()
        if scheme.lower() != "bearer" or not token or len(token) > MAX_TOKEN:
            raise self._refusal(is_sent=bool(sent))
        digest = _digest(token)
        if hmac.compare_digest(digest, self._digest):
            return self._own
        principal = None
        if self._tokens is not None:
            principal = self._tokens.find(digest)
            if not self._tokens.is_known and token.startswith("alita_"):
                raise Refusal(
                    503, "unavailable", "The tokens cannot be read: the library is away.", "Try again."
                )
        if principal is None and self._oauth is not None:
            principal = await self._oauth.identify(token)
        if principal is None:
            raise self._refusal(is_sent=True)
        return principal

    def challenge(self, scope: str) -> Refusal:
        """The refusal of a request whose token lacks a scope."""
        return Refusal(
            403, "insufficient_scope", f"The token lacks the scope `{scope}`.", f"Ask for a token with {scope}.",
            {"WWW-Authenticate": self._header(error="insufficient_scope", scope=scope)},
        )  # fmt: skip

    async def serve_stream(
        self, principal: Principal, app: ASGIApp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serves a stream for as long as the token of its client counts."""
        begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        until_s = math.inf if principal.expires_at is None else principal.expires_at - time.time()
        with anyio.move_on_after(until_s) as mine:
            streams = self._streams.setdefault(principal.id, set())
            streams.add(mine)
            try:
                await app(scope, receive, send_and_note)
            finally:
                streams.discard(mine)
        if mine.cancelled_caught and begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def end_streams(self, ids: Collection[str]) -> None:
        """Ends the streams of tokens that count no longer."""
        for stream in [each for id_ in ids for each in self._streams.pop(id_, ())]:
            stream.cancel()

    def _refusal(self, *, is_sent: bool) -> Refusal:
        # RFC 6750, 3.1: a request without a token is told no error; our own clients always were
        names = {"error": "invalid_token"} if is_sent or not self._oauth else {"scope": "call make"}
        return Refusal(
            401, "invalid_token", "The token is missing or wrong.",
            "Send the header 'Authorization: Bearer TOKEN'.",
            {"WWW-Authenticate": self._header(**names)},
        )  # fmt: skip

    def _header(self, **names: str) -> str:
        if self._oauth:
            names["resource_metadata"] = self._oauth.metadata_url
        return "Bearer " + ", ".join(
            f'{name}="{value}"' for name, value in {"realm": "alita", **names}.items()
        )


@lru_cache(1_024)
def user_of(principal: Principal) -> AuthenticatedUser:
    """A principal as the SDK knows it, which gives sessions and sealed states to no other."""
    token = AccessToken(
        token="", client_id=principal.id, scopes=sorted(principal.scopes), subject=principal.owner,
        claims={"iss": principal.issuer},
    )  # fmt: skip
    return AuthenticatedUser(token)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
