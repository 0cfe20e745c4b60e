"""A serving process from its settings to its end, also where its start fails. What it imports takes seconds."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

import anyio

from alita_mcp.errors import AlitaError
from alita_mcp.event_loop import collect_garbage_rarely
from alita_mcp.library.decisions import read_home_number
from alita_mcp.machine import edge_error, lack_of_descriptors
from alita_mcp.sandbox.temporary import claim_temporary_folder
from alita_mcp.server.build import build_server
from alita_mcp.server.transports.shutdown import leave
from alita_mcp.settings import Settings, read_settings

if TYPE_CHECKING:
    from alita_mcp.server.build import DualEraServer


def run_server(serve: Callable[[DualEraServer, Settings], Awaitable[int]]) -> NoReturn:
    """Ends this process with the exit status that `serve` returns, or of what failed, which is named on stderr."""
    try:
        settings = read_settings()
        with suppress(OSError):  # which opening the library reports
            read_home_number(settings.home)  # a home of a newer alita ends the start
        logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper())
        if lack := lack_of_descriptors(settings.max_workers):
            logging.getLogger(__name__).warning("%s", lack)
        claim_temporary_folder()

        async def run() -> NoReturn:
            gc.freeze()  # what was loaded stays
            collect_garbage_rarely()
            gc.enable()
            leave(await serve(build_server(settings), settings))

        anyio.run(run)
    except KeyboardInterrupt:
        leave(130)
    except BaseException as failed:  # noqa: BLE001 - the outermost edge: a blocked reader must not hold up the exit
        first = edge_error(failed)
        if not isinstance(first, AlitaError):
            sys.excepthook(type(failed), failed, failed.__traceback__)
            leave(1)
        sys.stderr.write(f"alita-mcp-server: {first}\n")
        leave(first.exit_status)
    raise AssertionError("`leave` ends the process")
