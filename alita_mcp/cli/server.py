"""`alita serve`: the MCP server, over stdin and stdout or over HTTP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter, Token

from alita_mcp.cli.application import open_library
from alita_mcp.errors import UsageError

LOOPBACK = "127.0.0.1"


def parse_address(_type: type, tokens: Sequence[Token]) -> tuple[str, int]:
    """Reads `127.0.0.1:8765`, `[::1]:8765` or a port alone, which means this machine only."""
    text = tokens[0].value
    host, colon, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535 or (colon and not host):
        raise ValueError(f"expected ADDRESS:PORT such as {LOOPBACK}:8765, got {text!r}.")
    return host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port)


Address = Annotated[
    tuple[str, int],
    Parameter(converter=parse_address, n_tokens=1, accepts_keys=False, metavar="ADDRESS:PORT"),
]


def serve(*, http: Address | None = None, allow_host: list[str] | None = None) -> int:
    """Serve MCP over stdin and stdout, or over HTTP.

    Args:
        http: Serve Streamable HTTP at /mcp of this address; other machines than this one need ALITA_TOKEN.
        allow_host: Accept requests for this host name too; may be given several times.

    Examples:
        alita serve
        alita serve --http 127.0.0.1:8765
        alita serve --http 0.0.0.0:8765 --allow-host tools.example.org
    """
    if http is None:
        if allow_host:
            raise UsageError("--allow-host needs --http.")
        from alita_mcp.server.transports.entry import serve_over_stdio
        from alita_mcp.server.transports.wire import claim_standard_streams

        serve_over_stdio(claim_standard_streams(), os.getppid())
    import anyio

    from alita_mcp.server.transports.http import serve_http
    from alita_mcp.settings import read_settings
    from alita_mcp.web.routes import library_routes

    host, port = http

    async def listen() -> int:
        async with open_library(tells=False) as library:
            allowed, pages = tuple(allow_host or ()), library_routes(library)
            return await serve_http(read_settings(), host, port, allowed_hosts=allowed, pages=pages)

    return anyio.run(listen)
