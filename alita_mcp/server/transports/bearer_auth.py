"""Bearer authentication of the HTTP server: one token for everything but the health check."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from alita_mcp.errors import UsageError
from alita_mcp.server.api.problems import Refusal, is_api
from alita_mcp.server.transports.connections import admit
from alita_mcp.settings import Settings

OPEN_PATHS = frozenset({"/healthz"})


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`; a name other than `localhost` is taken for an outside one."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_for(settings: Settings, host: str) -> str | None:
    """The token that clients must send; None where this machine's own users need none.

    Raises:
        UsageError: the address can be reached from outside and there is no token.
    """
    token = settings.token.get_secret_value().strip() if settings.token else ""
    if not token and not is_loopback(host):
        raise UsageError(
            f"{host!r} can be reached from other machines, so clients must send a token.",
            hint="Set ALITA_TOKEN to a long random string, or listen on 127.0.0.1.",
        )
    return token or None


class BearerAuthMiddleware:
    """ASGI middleware: responds 401 unless the request carries the token; compares in constant time."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        """Asks for `token`; for none where it is None."""
        self._app = app
        self._expected = None if token is None else _digest(token.encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets open paths and requests with the token through; the latter make their connection a known one."""
        if scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
        elif self._carries_token(scope):
            admit(scope)
            await self._app(scope, receive, send)
        else:
            await _refusal(scope["path"])(scope, receive, send)

    def _carries_token(self, scope: Scope) -> bool:
        if self._expected is None:
            return True
        sent: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(sent) != 1:
            return False
        scheme, _, credentials = sent[0].partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(
            _digest(credentials.strip()), self._expected
        )


def _refusal(path: str) -> Response:
    what = "Send the header 'Authorization: Bearer TOKEN'."
    headers = {"WWW-Authenticate": 'Bearer realm="alita", error="invalid_token"'}
    if is_api(path):
        return Refusal(401, "invalid_token", "The token is missing or wrong.", what, headers).response()
    told = {"error": "invalid_token", "error_description": what}
    return JSONResponse(told, status_code=401, headers=headers)


def _digest(secret: bytes) -> bytes:
    """A digest of equal length, so that the comparison shows nothing of the token's length."""
    return hashlib.sha256(secret).digest()
