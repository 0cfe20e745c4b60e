"""Process of the shared server: `python -m` with an endpoint's name, started detached by a relay.

It ends after ten minutes without clients and work, when the last client of an old version has gone, and when a person
or a signal says so.
"""

from __future__ import annotations

import sys
from typing import NoReturn

from filelock import FileLock, Timeout

from alita_mcp.server.transports.local.endpoint import read_endpoint
from alita_mcp.server.transports.wire import prepare_imports


def main() -> NoReturn:
    """Serves at the endpoint that the command names.

    Exits with 0 also where another server has the endpoint already; else as `alita-mcp-server` does.
    """
    endpoint = read_endpoint(sys.argv[1])
    lock = FileLock(f"{endpoint.address}.lock", mode=0o600)
    try:
        lock.acquire(timeout=0)  # before all that takes time
    except Timeout:
        sys.exit(0)

    prepare_imports()
    from alita_mcp.server.transports.local.clients import serve_clients

    serve_clients(endpoint, lock)


if __name__ == "__main__":
    main()
