"""Access checks of the HTTP server: its bearer token, and the hosts and origins that a request may name."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from alita_mcp.errors import UsageError
from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.transports.access import Access, User
from alita_mcp.server.transports.connections import mark_connection_known
from alita_mcp.settings import Settings

HEALTH_PATH = "/healthz"
READY_PATH = "/readyz"
PAGE_PATH = "/ui"
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - recognised here, not bound to
_AUTHORITY = re.compile(r"(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")


def is_page(path: str) -> bool:
    """Whether a path is one of the pages for people, which ask for a session of their own."""
    return path in ("/", PAGE_PATH) or path.startswith(f"{PAGE_PATH}/")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`. A name other than `localhost` may lead outside."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_open_server(
    settings: Settings, host: str, allowed_hosts: Sequence[str], allowed_origins: Sequence[str]
) -> None:
    """Checks that a server which asks for no token is for this machine alone, and asks nobody for approvals.

    Raises:
        UsageError: it is not.
    """
    # 1. Another address, a name that a proxy has, or pages of a site: strangers would be served.
    # 2. Forms: whoever connects could approve what they asked for.
    strangers = [*allowed_hosts, *[host] * (not is_loopback(host))]
    for origin in allowed_origins:
        name = read_host(origin.partition("://")[2]) or ""
        strangers += [origin] * (not is_loopback(name.strip("[]")))
    if strangers:
        raise UsageError(
            f"Refusing to serve {strangers[0]!r} without a token: it is not this machine alone.",
            hint="Leave out --no-token.",
        )
    if settings.elicit:
        raise UsageError(
            "ALITA_ELICIT=true needs a token: without one, whoever connects could approve for you.",
            hint="Leave out --no-token, or unset ALITA_ELICIT.",
        )


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


def read_host(authority: str) -> str | None:
    """The host of `host` or `host:port`, in lower case; None where the text is anything else."""
    parts = _AUTHORITY.fullmatch(authority.lower())
    return parts["host"] if parts and int(parts["port"] or 0) <= 65_535 else None


def is_origin(text: str) -> bool:
    """Whether a text is an origin as browsers send it: scheme, host and, where it is not the usual one, the port."""
    scheme, _, authority = text.partition("://")
    usual_port = {"http": ":80", "https": ":443"}.get(scheme, ":")
    is_lower = re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) is not None and authority == authority.lower()
    return is_lower and read_host(authority) is not None and not authority.endswith(usual_port)


def in_brackets(host: str) -> str:
    """The host as it stands in a URL: IPv6 addresses in brackets."""
    return f"[{host}]" if ":" in host else host


class Guard:
    """ASGI middleware that serves a request only for one of our hosts, from one of our origins, and with a token."""

    def __init__(
        self, app: ASGIApp, access: Access, names: Sequence[str], origins: Sequence[str] = ()
    ) -> None:
        """Each of the `names` is served at any port.

        Browsers let pages of the `origins` send requests and read the responses.
        """
        self._app = app
        self._access = access
        self._open_paths = {HEALTH_PATH, READY_PATH, *(route.path for route in access.routes)}
        self._names = frozenset(name.lower() for name in names)
        self._origins = frozenset(origins)
        # a browser asks without the token whether a page may send it, and hides a 401 that does not name the page
        self._serve: ASGIApp = self._serve_with_token
        if origins:
            self._serve = CORSMiddleware(
                self._serve_with_token,
                allow_origins=self._origins,
                allow_methods=("GET", "POST", "DELETE"),
                allow_headers=("*",),
                allow_private_network=True,
                expose_headers=("Mcp-Session-Id", "WWW-Authenticate"),
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves or refuses one request."""
        # a strange host or origin is a web page that rebound its name to this address
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        serve = self._serve
        if len(hosts) != 1 or read_host(hosts[0]) not in self._names:
            serve = Refusal(421, "unknown_host", "The host is not one of this server's.").response()
        elif not all(origin in self._origins or self._is_own_origin(origin) for origin in origins):
            serve = Refusal(403, "unknown_origin", "The origin is not one of this server's.").response()
        await serve(scope, receive, send)

    async def _serve_with_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        # 1. The checks of a balancer are open to everybody, and the pages check the session of a browser themselves;
        #    asking for them does not make a connection a known one.
        # 2. Without the token nothing else is served.
        path = scope["path"]
        if path in self._open_paths or is_page(path):
            await self._app(scope, receive, send)
            return
        try:
            principal = await self._access.identify(Headers(scope=scope).getlist("authorization"))
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
            return
        scope["user"] = User(principal)
        mark_connection_known(scope)
        await self._app(scope, receive, send)

    def _is_own_origin(self, origin: str) -> bool:
        scheme, _, authority = origin.partition("://")
        return scheme in ("http", "https") and read_host(authority) in self._names
