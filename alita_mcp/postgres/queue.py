"""Queue of the jobs of a shared library (procrastinate): which server works on what, and what is done again.

Its tables are in a schema of their own and follow the releases of procrastinate.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio
from psycopg.sql import SQL, Identifier

from alita_mcp.extras import extra_imports
from alita_mcp.postgres.database import CONNECT_S, LASTING, Database
from alita_mcp.postgres.migrations import LOCK

with extra_imports("team"):
    from procrastinate import App, PsycopgConnector
    from procrastinate.exceptions import ProcrastinateException
    from procrastinate.schema import SchemaManager
    from procrastinate.worker import Worker
    from psycopg_pool import PoolTimeout

SCHEMA = "alita_queue"
TASK = "run_job"
FORMAT = 1
"""Of the requests of jobs: a server takes no job of another one, so that old and new servers can work side by side."""
HEARTBEAT_S = 2.0
"""How often a worker says that it lives, and looks for jobs that no notice announced."""

STOP_S = 1.0
"""How long a worker may take to say that it ends."""


class JobQueue:
    """The queue, as one server uses it. What fails while the database is away is to be done again a little later."""

    def __init__(self, url: str, run: Callable[[str], Awaitable[None]]) -> None:
        """`run` does the job of an id."""
        logging.getLogger("procrastinate").setLevel(logging.CRITICAL)  # others say that the database is away
        options = {"options": f"-c search_path={SCHEMA}", "application_name": "alita works", **LASTING}
        connector = PsycopgConnector(
            conninfo=url, kwargs=options, min_size=0, max_size=4, timeout=CONNECT_S, reconnect_timeout=0
        )
        self._app = App(connector=connector)
        self._workers: dict[Worker, anyio.CancelScope] = {}
        self.is_stopping = False

        @self._app.task(name=TASK)
        async def run_job(job: str) -> None:
            await run(job)

        self._task = run_job

    async def add(self, queue: str, job: str) -> None:
        """Puts a job into a queue, where it stands once."""
        with suppress(ProcrastinateException, PoolTimeout):
            place = self._task.configure(queue=f"{queue}.{FORMAT}", lock=job, queueing_lock=job)
            await place.defer_async(job=job)

    async def work(self, queues: Mapping[str, int]) -> None:
        """Runs the jobs of these queues, so many at once of each, until it is cancelled."""
        await self._app.open_async()
        try:
            async with anyio.create_task_group() as workers:
                for queue, at_once in queues.items():
                    workers.start_soon(self._work_on, f"{queue}.{FORMAT}", at_once)
                try:
                    await anyio.sleep_forever()
                finally:
                    self.take_no_more()
        finally:
            with anyio.CancelScope(shield=True):
                await self._app.close_async()

    def take_no_more(self) -> None:
        """Takes no more jobs; those that run go on, and the queue no longer knows of them."""
        self.is_stopping = True
        for worker, scope in self._workers.items():
            worker.stop()  # type: ignore[no-untyped-call]
            scope.deadline = anyio.current_time() + STOP_S

    async def _work_on(self, queue: str, at_once: int) -> None:
        while not self.is_stopping:
            worker = Worker(
                self._app, [queue], queue, at_once, fetch_job_polling_interval=HEARTBEAT_S,
                update_heartbeat_interval=HEARTBEAT_S, shutdown_graceful_timeout=0, delete_jobs="always",
                install_signal_handlers=False,
            )  # fmt: skip
            # Shielded: it is stopped, since it would not leave the database in order if it were cancelled.
            with suppress(ProcrastinateException, PoolTimeout), anyio.CancelScope(shield=True) as scope:
                self._workers[worker] = scope
                await worker.run()  # type: ignore[no-untyped-call]
            del self._workers[worker]
            await anyio.sleep(1.0)  # the database is away


def migrate_queue(database: Database) -> None:
    """Brings the queue's schema to that of the installed procrastinate.

    Raises:
        LibraryError: the database is away or refuses.
    """
    files = {place.name: place for place in Path(SchemaManager.get_migrations_path()).glob("*.sql")}
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        applied = {row["name"] for row in connection.execute("SELECT name FROM queue_migration")}
        connection.execute(SQL("CREATE SCHEMA IF NOT EXISTS {}").format(Identifier(SCHEMA)))
        missing = [name for name in sorted(files) if name not in applied]
        connection.execute(SQL("SET LOCAL search_path = {}").format(Identifier(SCHEMA)))
        if not applied:
            connection.execute(SchemaManager.get_schema())
        else:
            for name in missing:
                connection.execute(files[name].read_text(encoding="utf-8"))
        connection.execute("INSERT INTO alita.queue_migration SELECT unnest(%s::text[])", (missing,))
