"""Identity of the client behind a request: its key, and the name and version that it gives itself."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import principal_components
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.server.connection import Connection

    from alita_mcp.app.learning import ClientIdentity
    from alita_mcp.server.context import Context

MAX_NAME = 100
_NAME = "alita/name"
_OF_THIS_PROCESS = "here"


def connection_of(ctx: Context) -> Connection:
    """The connection that carries a request; the SDK has no public accessor yet (2.3)."""
    return ctx.session._connection  # noqa: SLF001


def name_of_client(ctx: Context) -> str:
    """Name that the client gives itself, which it may choose as it likes; empty where it says nothing."""
    params = ctx.session.client_params
    return params.client_info.name[:MAX_NAME] if params else ""


def is_modern(ctx: Context) -> bool:
    """Whether the client takes no requests of ours, only results that ask for input."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def identity_of(ctx: Context) -> ClientIdentity:
    """The client of a request, with the name and version that it gives itself."""
    from alita_mcp.app.learning import ClientIdentity

    return ClientIdentity(key_of(ctx), client_of(ctx))


def client_of(ctx: Context) -> str:
    """Name and version of a client in its own words, on one line of bounded length; empty where it gives none."""
    params = ctx.session.client_params
    said = f"{params.client_info.name} {params.client_info.version}" if params else ""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in said).split())[:MAX_NAME]


def key_of(ctx: Context) -> str:
    """Key of a client: its connection; where requests stand alone its authenticated subject, or its stdio process.

    A connection that lasts has a name that no other one has or can guess. Empty for all others: behind a proxy clients
    of one kind share both address and name.
    """
    if not is_modern(ctx):
        return str(connection_of(ctx).state.setdefault(_NAME, secrets.token_hex(16)))
    return _OF_THIS_PROCESS if ctx.request is None else subject_of(ctx)


def subject_of(ctx: Context) -> str:
    """The authenticated subject of a request; empty where there is none."""
    user = ctx.request.scope.get("user") if ctx.request is not None else None
    if isinstance(user, AuthenticatedUser) and user.access_token.subject:
        return repr(principal_components(user.access_token))
    return ""
