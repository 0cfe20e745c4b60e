"""Who is asking: a name for the client behind a request, so that its search and its next call can be put together."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from alita_mcp.server.announce import connection_of

if TYPE_CHECKING:
    from alita_mcp.server.sources import Context

MAX_NAME = 200
_NAME = "alita/name"


def name_of_connection(ctx: Context) -> str:
    """A name for a connection that lasts, which no other connection has or can guess."""
    return str(connection_of(ctx).state.setdefault(_NAME, secrets.token_hex(16)))


def name_of_client(ctx: Context) -> str:
    """What the client calls itself, which it may choose as it likes; empty where it says nothing."""
    params = ctx.session.client_params
    return params.client_info.name[:MAX_NAME] if params else ""


def asker_of(ctx: Context) -> str:
    """A name for the client: its connection, or, where each request stands alone, what it calls itself and where it is.

    Two clients of one kind on one machine are one asker in the later protocol: nothing else tells them apart.
    """
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return name_of_connection(ctx)
    params = ctx.session.client_params
    client = f"{params.client_info.name} {params.client_info.version}" if params else ""
    peer = getattr(ctx.request, "client", None)
    return f"modern {peer.host if peer else 'here'} {client}"[:MAX_NAME]
