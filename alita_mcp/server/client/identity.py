"""Identity of the client behind a request: its key, and the name and version that it gives itself."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from alita_mcp.owners import ClientIdentity, Maker
from alita_mcp.server.client.local import LOCAL_CLIENT
from alita_mcp.server.client.scopes import principal_of

if TYPE_CHECKING:
    from mcp.server.connection import Connection

    from alita_mcp.server.context import Context

MAX_NAME = 100
UNNAMED = "a client"
"""Makes a tool whose client gives no name."""
_KEY = "alita/key"


def connection_of(ctx: Context) -> Connection:
    """The connection that carries a request; the SDK has no public accessor yet (2.3)."""
    return ctx.session._connection  # noqa: SLF001


def is_modern(ctx: Context) -> bool:
    """Whether the client takes no requests of ours, only results that ask for input."""
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


def identity_of(ctx: Context) -> ClientIdentity:
    """The client of a request, as the App knows it; one that gives no name now has the one that it gave before."""
    before = LOCAL_CLIENT.get().label if ctx.request is None else ""
    return ClientIdentity(client_key(ctx), client_label(ctx) or before or UNNAMED, maker_of(ctx).owner)


def maker_of(ctx: Context) -> Maker:
    """The client of a request as one that makes and reads tools, by the name that it gives itself."""
    params = ctx.session.client_params
    name = params.client_info.name[:MAX_NAME] if params else ""
    return Maker(name or UNNAMED, principal_of(ctx).owner)


def client_label(ctx: Context) -> str:
    """Name and version of the client in its own words, on one line of bounded length; empty where it gives none."""
    params = ctx.session.client_params
    label = f"{params.client_info.name} {params.client_info.version}" if params else ""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in label).split())[:MAX_NAME]


def client_key(ctx: Context) -> str:
    """What tells the client of a request from all others, as long as it lasts; empty where nothing does."""
    # 1. A connection that lasts gets a key that no other one has or can guess.
    # 2. Requests that stand alone: over stdio or a local socket, the connection is the client's.
    # 3. Over HTTP nothing does: clients of one kind behind a proxy share address, name and token.
    if not is_modern(ctx):
        return str(connection_of(ctx).state.setdefault(_KEY, secrets.token_hex(16)))
    return LOCAL_CLIENT.get().key if ctx.request is None else ""
