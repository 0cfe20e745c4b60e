"""`alita serve`: the MCP server, over stdin and stdout or over HTTP."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from cyclopts import Parameter, Token

from alita_mcp.cli.output import Printer
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


def serve(
    *,
    http: Address | None = None,
    allow_host: list[str] | None = None,
    allow_origin: list[str] | None = None,
    no_token: bool = False,
) -> int:
    """Serve MCP over stdin and stdout, or over HTTP.

    Args:
        http: Serve Streamable HTTP at /mcp of this address; clients need the token of ALITA_TOKEN or of the home.
        allow_host: Accept requests for this host name too; may be given several times.
        allow_origin: Let web pages of this origin, such as https://app.example.org, call the server from a browser;
            may be given several times.
        no_token: Serve without a token, on this machine alone: all its users and programs may then do what your
            clients may, and read what they leave.

    Examples:
        alita serve
        alita serve --http 127.0.0.1:8765
        alita serve --http 0.0.0.0:8765 --allow-host tools.example.org
    """
    if http is None:
        if allow_host or allow_origin or no_token:
            raise UsageError("--allow-host, --allow-origin and --no-token need --http.")
        from alita_mcp.server.transports.entry import serve_over_stdio
        from alita_mcp.server.transports.wire import claim_standard_streams

        serve_over_stdio(claim_standard_streams(), os.getppid())
    import anyio

    from alita_mcp.server.transports.guard import EVERY_ADDRESS, in_brackets, is_origin, read_host
    from alita_mcp.server.transports.http import serve_http, until_signal
    from alita_mcp.server.transports.http_token import TOKEN_FILE, ensure_token
    from alita_mcp.server.transports.shutdown import leave
    from alita_mcp.settings import read_settings

    host, port = http
    settings = read_settings()
    for name in allow_host or ():
        if read_host(name) != name.lower():
            raise UsageError(f"Invalid host name {name!r}: expected a name alone, such as tools.example.org.")
    for origin in allow_origin or ():
        if not is_origin(origin):
            raise UsageError(
                f"Invalid origin {origin!r}: expected scheme and host, as in https://app.example.org or "
                "http://localhost:6274."
            )
    if no_token and settings.token is not None:
        raise UsageError("ALITA_TOKEN is set, and --no-token asks for none.", hint="Leave one of them out.")
    address = f"{LOOPBACK if host in EVERY_ADDRESS else in_brackets(host)}:{port}"
    where = "in ALITA_TOKEN" if settings.token else f"in {settings.home / TOKEN_FILE}"
    notice = (
        "alita: no token: every user and program of this machine is served, and sees what the others leave\n"
        if no_token
        else f"alita: clients need the token {where}: alita install CLIENT --http {address}\n"
    )
    entrance = "" if no_token else " or sign in with the token"
    notice += f"alita: pages for people are at http://{address}/ui: `alita ui` gives a link{entrance}\n"
    if settings.elicit:
        notice += "alita: ALITA_ELICIT=true: whoever has the token can approve what it asks for\n"

    async def listen() -> int:
        return await serve_http(
            settings,
            host,
            port,
            token=None if no_token else ensure_token(settings),
            allowed_hosts=allow_host or (),
            allowed_origins=allow_origin or (),
            until=partial(until_signal, notice=notice),
        )

    leave(anyio.run(listen))


def stop(*, output: Printer) -> None:
    """End the servers of this library that clients share; the next request of a client starts one again.

    Examples:
        alita stop
    """
    from alita_mcp.server.transports.local.servers import describe_server, stop_servers
    from alita_mcp.settings import absolute_home, read_settings

    servers = stop_servers(absolute_home(read_settings().home))
    lines = [("" if "problem" in server else "stopped ") + describe_server(server)[0] for server in servers]
    output.print_result({"stopped": servers}, "\n".join(lines) or "No server runs for this library.")
