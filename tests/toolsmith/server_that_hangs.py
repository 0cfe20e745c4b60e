"""A server that takes a job and never ends it, for a test that kills it: `server_that_hangs.py URL`."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

import anyio

from alita_mcp.postgres.database import Database
from alita_mcp.toolsmith.jobs.shared_jobs import open_shared_jobs


async def hang(*_values: Any) -> Any:
    print("begun", flush=True)
    await anyio.sleep_forever()


def read_nothing(*_values: Any) -> Any:
    raise ValueError("this server reads no outcomes")


async def main() -> None:
    with closing(Database(sys.argv[1])) as database:
        async with open_shared_jobs(database, sys.argv[1], read_nothing) as jobs:
            jobs.perform = hang
            jobs.take_jobs()
            await anyio.sleep_forever()


anyio.run(main)
