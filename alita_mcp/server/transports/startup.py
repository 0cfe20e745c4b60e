"""Start of a serving process: what all of them do before their event loop, and how they end when it fails."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from alita_mcp.settings import Settings


def prepare_process() -> Settings:
    """Reads the settings and prepares a process that serves; garbage is not collected until the event loop runs.

    Raises:
        AlitaError: a setting is invalid, or the home is one of a newer alita.
    """
    import gc

    gc.disable()  # imports allocate much and free nothing: collecting would take a tenth of the start

    from alita_mcp.settings import read_settings, tolerate_warnings

    tolerate_warnings()
    settings = read_settings()

    from contextlib import suppress

    from alita_mcp.library.decisions import read_home_number

    with suppress(OSError):  # which opening the library reports
        read_home_number(settings.home)  # a home of a newer alita ends the start

    import logging

    from alita_mcp.machine import lack_of_descriptors
    from alita_mcp.sandbox.temporary import claim_temporary_folder

    logging.basicConfig(stream=sys.stderr, level=settings.log_level.upper())
    if lack := lack_of_descriptors(settings.max_workers):
        logging.getLogger(__name__).warning("%s", lack)
    claim_temporary_folder()
    return settings


def collect_garbage_again() -> None:
    """Ends the pause of `prepare_process`: what was loaded stays, and the rest is looked at rarely."""
    import gc

    from alita_mcp.event_loop import collect_garbage_rarely

    gc.freeze()
    collect_garbage_rarely()
    gc.enable()


def end_with_error(failed: BaseException) -> NoReturn:
    """Ends the process with the exit status of an error, which it names on stderr."""
    from alita_mcp.errors import AlitaError
    from alita_mcp.machine import edge_error
    from alita_mcp.server.transports.shutdown import leave

    if isinstance(failed, KeyboardInterrupt):
        leave(130)
    first = edge_error(failed)
    if not isinstance(first, AlitaError):
        sys.excepthook(type(failed), failed, failed.__traceback__)
        leave(1)
    sys.stderr.write(f"alita-mcp-server: {first}\n")
    leave(first.exit_status)
