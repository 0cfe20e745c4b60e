"""Process of the shared server: `python -m` with an endpoint's name, started detached by a relay.

It ends after ten minutes without clients and work, when the last client of an old version has gone, and when a person
or a signal says so.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from filelock import FileLock

    from alita_mcp.server.build import DualEraServer
    from alita_mcp.server.transports.local.clients import LocalClients
    from alita_mcp.server.transports.local.endpoint import Endpoint
    from alita_mcp.settings import Settings

IDLE_S = 600.0
"""How long a server stays without clients and work."""
LOOK_EVERY_S = 5.0


def main() -> NoReturn:
    """Serves at the endpoint that the command names.

    Exits with 0 also where another server has the endpoint already; else as `alita-mcp-server` does.
    """
    from filelock import FileLock, Timeout

    from alita_mcp.server.transports.local.endpoint import Endpoint, private_folder, read_key

    folder = private_folder()
    endpoint = Endpoint(folder, read_key(folder / "key"), sys.argv[1], {})
    lock = FileLock(f"{endpoint.address}.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)  # before all that takes time
    except Timeout:
        sys.exit(0)

    from alita_mcp.server.transports.startup import end_with_error, prepare_process

    try:
        serve(endpoint, lock, prepare_process())
    except BaseException as failed:  # noqa: BLE001 - the outermost edge
        end_with_error(failed)


def serve(endpoint: Endpoint, lock: FileLock, settings: Settings) -> NoReturn:
    """Serves at an endpoint, whose lock is held, until there is nothing to do or it is told to end."""
    import anyio

    from alita_mcp.server.build import build_server
    from alita_mcp.server.transports.local.clients import LocalClients
    from alita_mcp.server.transports.local.pages import Pages
    from alita_mcp.server.transports.shutdown import leave, start_exit_timer
    from alita_mcp.server.transports.startup import collect_garbage_again
    from alita_mcp.settings import absolute_home

    async def run() -> NoReturn:
        collect_garbage_again()
        server = build_server(settings)
        pages = Pages(server.shared, settings)
        clients = LocalClients(server, endpoint, absolute_home(settings.home), pages)
        async with server.shared.lifespan(server), pages.run(), clients.listen(lock):
            status = await wait_for_end(server, clients)
            start_exit_timer(status)
        leave(status)

    anyio.run(run)
    raise AssertionError("`leave` ends the process")


async def wait_for_end(
    server: DualEraServer,
    clients: LocalClients,
    *,
    idle_s: float = IDLE_S,
    look_every_s: float = LOOK_EVERY_S,
) -> int:
    """Waits until the server has nothing to do any more, or is told to end; returns the exit status."""
    import anyio

    from alita_mcp.server.transports.local.endpoint import program_stamp
    from alita_mcp.server.transports.shutdown import wait_for_signal

    stamp = program_stamp()
    status = 0

    def is_upgraded() -> bool:
        try:
            return program_stamp() != stamp
        except OSError:  # uninstalled
            return True

    async with anyio.create_task_group() as waiting:

        async def end_on_signal() -> None:
            nonlocal status
            status = await wait_for_signal()
            clients.stop_asked.set()
            waiting.cancel_scope.cancel()

        async def end_when_asked() -> None:
            await clients.stop_asked.wait()
            waiting.cancel_scope.cancel()

        async def end_when_idle() -> None:
            had_clients = False
            while True:
                with anyio.move_on_after(look_every_s):
                    await clients.last_left.wait()
                    had_clients = True
                app = server.shared.current
                if not clients.is_empty or (app is not None and app.jobs.is_busy):
                    clients.idle_since = anyio.current_time()
                    continue
                idle = anyio.current_time() - clients.idle_since
                if idle >= idle_s or (had_clients and is_upgraded()):
                    waiting.cancel_scope.cancel()

        waiting.start_soon(end_on_signal)
        waiting.start_soon(end_when_asked)
        waiting.start_soon(end_when_idle)
    return status


if __name__ == "__main__":
    main()
