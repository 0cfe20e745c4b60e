"""Entry point `alita-mcp-server`, which client configurations run: serves MCP over stdin and stdout.

Only the standard library is imported before stdout is taken for the protocol.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from alita_mcp.server.transports.wire import Wire, claim_standard_streams

if TYPE_CHECKING:
    from alita_mcp.server.transports.greeting import Greeting

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
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            # Nothing is open yet, so nothing needs a clean-up.
            signal.signal(number, lambda number, _frame: os._exit(128 + number))
    serve_over_stdio(wire, parent)


def serve_over_stdio(wire: Wire, parent: int) -> NoReturn:
    """Passes messages to the person's shared server, or serves here where there is none; ends the process.

    A start that fails says why on stderr.
    """
    from alita_mcp.server.transports.local.relay import relay
    from alita_mcp.server.transports.startup import end_with_error

    greeting = relay(wire, parent, os.environ)  # noqa: TID251 - the relay hands all of it on
    try:
        os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed, and some packages cannot be imported from there
        os.chdir(os.sep)
    try:
        _serve(wire, parent, greeting)
    except BaseException as failed:  # noqa: BLE001 - the outermost edge: a blocked reader must not hold up the exit
        end_with_error(failed)


def _serve(wire: Wire, parent: int, greeting: Greeting) -> NoReturn:
    from alita_mcp.server.transports.startup import collect_garbage_again, prepare_process

    settings = prepare_process()

    import anyio

    from alita_mcp.server.build import build_server
    from alita_mcp.server.transports.shutdown import leave
    from alita_mcp.server.transports.stdio import serve_stdio

    async def serve() -> NoReturn:
        collect_garbage_again()
        leave(await serve_stdio(build_server(settings), wire, greeting, parent=parent))

    anyio.run(serve)
    raise AssertionError("`leave` ends the process")


if __name__ == "__main__":
    main()
