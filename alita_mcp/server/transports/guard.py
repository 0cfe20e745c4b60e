"""Access checks of the HTTP server: its bearer token, and the hosts and origins that a request may name."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Sequence
from http import HTTPStatus

from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from alita_mcp.errors import UsageError
from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.client.owner import set_owner, token_owner
from alita_mcp.server.transports.connections import mark_connection_known
from alita_mcp.settings import Settings

HEALTH_PATH = "/healthz"
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - recognised here, not bound to


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`. A name other than `localhost` may lead outside."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_for(settings: Settings, host: str) -> str | None:
    """The token that clients must send, or None on a loopback address without one.

    Raises:
        UsageError: other machines can reach the address and there is no token.
    """
    token = settings.token.get_secret_value().strip() if settings.token else ""
    if not token and not is_loopback(host):
        raise UsageError(
            f"Refusing to serve on {host!r} without a token: other machines can reach it.",
            hint="Set ALITA_TOKEN to a long random string, or listen on 127.0.0.1.",
        )
    return token or None


def host_names(host: str) -> list[str]:
    """Names that clients may use for an address; for the wildcard addresses, this machine's name and addresses."""
    names = {*LOCAL_NAMES}
    if host not in EVERY_ADDRESS:
        return [*names, in_brackets(host)]
    names.add(socket.gethostname())
    try:
        found = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        found = []
    return sorted(names | {in_brackets(str(address[0])) for *_, address in found})


def in_brackets(host: str) -> str:
    """The host as it stands in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


class Guard:
    """ASGI middleware that serves a request only with the token, for one of our hosts, from one of our origins."""

    def __init__(self, app: ASGIApp, token: str | None, names: Sequence[str]) -> None:
        """Without a `token`, none is asked for. Each of the `names` is served at any port."""
        self._app = app
        self._token = None if token is None else token.encode()
        self._owner = token_owner(token)
        hosts = [pattern for name in names for pattern in (name, f"{name}:*")]
        origins = [f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts]
        self._security = TransportSecurityMiddleware(
            TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves or refuses one request."""
        # 1. The health check is open to everybody; asking for it does not make a connection a known one.
        # 2. Without the token nothing else is looked at: 401.
        # 3. A strange host or origin is a web page that rebound its name to this address: 421 or 403.
        # 4. Everything else is served as its owner's, and its connection no longer counts as a stranger's.
        app: ASGIApp = self._app
        if scope["path"] == HEALTH_PATH:
            pass
        elif not self._has_token(scope):
            app = Refusal(
                401, "invalid_token", "The token is missing or wrong.",
                "Send the header 'Authorization: Bearer TOKEN'.",
                {"WWW-Authenticate": 'Bearer realm="alita", error="invalid_token"'},
            ).response()  # fmt: skip
        elif refused := await self._security.validate_request(Request(scope)):
            what = "origin" if refused.status_code == HTTPStatus.FORBIDDEN else "host"
            app = Refusal(
                refused.status_code, f"unknown_{what}", f"The {what} is not one of this server's."
            ).response()
        else:
            set_owner(scope, self._owner)
            mark_connection_known(scope)
        await app(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        if self._token is None:
            return True
        sent: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(sent) != 1:
            return False
        scheme, _, credentials = sent[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(credentials.strip(), self._token)
