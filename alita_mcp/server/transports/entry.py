"""Entry point `alita-mcp-server`, which client configurations run: serves MCP over stdin and stdout.

Only the standard library is imported before stdout is taken for the protocol.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from alita_mcp.server.transports.wire import (
    Wire,
    claim_standard_streams,
    end_on_signals,
    prepare_imports,
)

if TYPE_CHECKING:
    from alita_mcp.server.build import DualEraServer
    from alita_mcp.settings import Settings

USAGE = """usage: alita-mcp-server [--help] [--version]

Serves the Model Context Protocol over stdin and stdout; MCP clients start it.
Settings come from ALITA_* environment variables. The command for people is `alita`.
"""


def main() -> NoReturn:
    """Serves until the client is gone.

    Exits with 0 (end of input, orphaned), 2 (bad settings or arguments), 7 (a home of a newer alita), 130 (SIGINT)
    or 143 (SIGTERM).
    """
    parent = os.getppid()
    match sys.argv[1:]:
        case []:
            pass
        case ["--help" | "-h"]:
            sys.stdout.write(USAGE)
            sys.exit(0)
        case ["--version"]:
            from alita_mcp import __version__

            sys.stdout.write(f"alita-mcp-server {__version__}\n")
            sys.exit(0)
        case arguments:
            sys.stderr.write(f"alita-mcp-server: unexpected arguments {arguments!r}\n\n{USAGE}")
            sys.exit(2)
    wire = claim_standard_streams()
    end_on_signals(os._exit)  # nothing is open yet, so nothing needs a clean-up
    serve_over_stdio(wire, parent)


def serve_over_stdio(wire: Wire, parent: int) -> NoReturn:
    """Passes messages to the person's shared server, or serves here where there is none; ends the process.

    A start that fails says why on stderr.
    """
    from alita_mcp.server.transports.local.relay import Relay

    relay = Relay(wire, parent, os.environ)  # noqa: TID251 - the relay hands all of it on
    link = relay.run()
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed, and some packages cannot be imported from there
        os.chdir(os.sep)
    prepare_imports()
    import anyio

    from alita_mcp.sandbox.wire.duplex import Polled
    from alita_mcp.server.transports.lines import serve_lines
    from alita_mcp.server.transports.shutdown import start_exit_timer, wait_for_signal
    from alita_mcp.server.transports.startup import run_server

    async def serve(server: DualEraServer, _settings: Settings) -> int:
        """Serves the relay at the other end of `link`, in this process, until its client is gone or a signal comes.

        The server's lifespan closes what it opened, and has `shutdown.END_WITHIN_S` seconds for it.
        """
        connection = Polled(link, link)
        async with anyio.create_task_group() as waiting:

            async def end_on_signal() -> None:
                relay.end(await wait_for_signal())

            waiting.start_soon(end_on_signal)
            await serve_lines(server, connection)
            waiting.cancel_scope.cancel()
        connection.close()
        status = relay.wait_for_end()
        start_exit_timer(status)
        return status

    run_server(serve)


if __name__ == "__main__":
    main()
