"""PostgreSQL of the tests: a cluster of their own in a temporary folder, reached through a Unix socket."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ACCOUNT = "postgres"
"""Who runs the programs where the tests run as root, which PostgreSQL refuses."""
CONFIGURATION = """
listen_addresses = ''
unix_socket_permissions = 0777
max_connections = 200
shared_buffers = 32MB
fsync = off
timezone = 'UTC'
"""


def find_programs() -> Path | None:
    """The folder of the newest `initdb` on this machine; Debian's is on no path."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda place: int(place.parts[-3]))
    found = shutil.which("initdb")
    return places[-1].parent if places else Path(found).parent if found else None


class PostgresServer:
    """One cluster, which can be stopped, killed and started again."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._folder, self._data = programs, folder, folder / "data"
        self._account = ACCOUNT if os.geteuid() == 0 else None
        if self._account:
            shutil.chown(folder, self._account, self._account)
        folder.chmod(0o755)
        self._call("initdb", "--auth=trust", "--username=alita", "--encoding=UTF8", "--locale=C", "--no-sync")
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as configuration:
            configuration.write(f"{CONFIGURATION}unix_socket_directories = '{folder}'\n")

    def url(self, database: str) -> str:
        return f"postgresql://alita@/{database}?host={self._folder}"

    @property
    def pid(self) -> int:
        """Of the process whose children serve the connections."""
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def start(self) -> None:
        self._call("pg_ctl", "--wait", "--timeout=60", f"--log={self._folder / 'log'}", "start")

    def stop(self, mode: str = "fast") -> None:
        """Ends it; `immediate` is a crash."""
        self._call("pg_ctl", "--wait", "--timeout=60", f"--mode={mode}", "stop")

    def start_again(self) -> None:
        """Starts it where it does not run."""
        import psycopg

        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            self.start()

    def make_database(self) -> str:
        """A new, empty database; returns its URL."""
        name = f"test_{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def drop_database(self, url: str) -> None:
        name = url.partition("@/")[2].partition("?")[0]
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def dump(self, url: str, file: Path) -> None:
        """Writes our schema of a database to a file, as docs/operations.md says."""
        subprocess.run(
            [self._programs / "pg_dump", "--format=custom", "--schema=alita*", f"--file={file}", url],
            check=True, timeout=120,
        )  # fmt: skip

    def restore(self, url: str, file: Path) -> None:
        """Restores such a file into an empty database."""
        subprocess.run(
            [self._programs / "pg_restore", "--exit-on-error", f"--dbname={url}", file],
            check=True, timeout=120,
        )  # fmt: skip

    def execute(self, statement: str, url: str = "") -> list[Any]:
        """The rows of one statement, committed at once."""
        with self.connect(url) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def connect(self, url: str = "") -> Any:
        """A connection that commits each statement."""
        import psycopg  # of an extra: the tests of the core load this module, too

        return psycopg.connect(url or self.url("postgres"), autocommit=True)

    def _call(self, program: str, *words: str) -> None:
        subprocess.run(
            [self._programs / program, f"--pgdata={self._data}", *words],
            check=True, user=self._account, group=self._account, extra_groups=[] if self._account else None,
            cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, timeout=120,
        )  # fmt: skip


@contextmanager
def running_postgres(programs: Path) -> Iterator[PostgresServer]:
    """A running cluster; its folder goes with it."""
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        server = PostgresServer(programs, Path(folder))
        server.start()
        try:
            yield server
        finally:
            with suppress(subprocess.CalledProcessError):  # a test that failed may have left it stopped
                server.stop("immediate")
