"""Bounded files in the database of a shared library."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from alita_mcp.library.bounded_folder import StoredFile
from alita_mcp.owners import choose_surplus

if TYPE_CHECKING:
    from alita_mcp.postgres.database import Database


class BoundedRows:
    """The same as `BoundedFolder`, of several servers."""

    def __init__(self, database: Database, kind: str, max_files: int, max_bytes: int) -> None:
        self._database = database
        self._kind = kind
        self._max_files = max_files
        self._max_bytes = max_bytes

    def write_file(self, name: str, content: bytes, owner: str, *, append: bool = False) -> bool:
        """As `BoundedFolder` says."""
        part = "nextval('kept_used')" if append else "0"
        with self._database.transaction() as connection:
            connection.execute(
                f"""
                INSERT INTO kept (kind, owner, name, part, content) VALUES (%s, %s, %s, {part}, %s)
                ON CONFLICT (kind, owner, name, part) DO UPDATE SET content = excluded.content, used = excluded.used
                """,  # noqa: S608 - written above
                (self._kind, owner, name, content),
            )
            # One server at a time makes room for a kind, and sees what those before it wrote. A row that another one
            # is writing is about to be new.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('kept'), hashtext(%s))", (self._kind,))
            oldest_first = [
                ((row["owner"], row["stem"]), row["owner"], row["bytes"])
                for row in connection.execute(
                    """
                    SELECT owner, split_part(name, '.', 1) AS stem, sum(octet_length(content)) AS bytes
                    FROM kept WHERE kind = %s GROUP BY owner, stem ORDER BY max(used)
                    """,
                    (self._kind,),
                )
            ]
            surplus = choose_surplus(oldest_first, owner, self._max_files, self._max_bytes)
            if surplus:
                connection.execute(
                    """
                    DELETE FROM kept WHERE kind = %s AND (owner, name, part) IN (
                        SELECT owner, name, part FROM kept WHERE kind = %s AND (owner, split_part(name, '.', 1))
                        IN (SELECT * FROM unnest(%s::text[], %s::text[])) FOR UPDATE SKIP LOCKED
                    )
                    """,
                    (self._kind, self._kind, *map(list, zip(*surplus, strict=True))),
                )
        return (owner, name.partition(".")[0]) not in surplus

    def read_file(self, name: str, owner: str) -> bytes | None:
        """As `BoundedFolder` says."""
        found = self.newest(name, owner, 1)
        return found[0].content if found else None

    def newest(self, pattern: str, owner: str | None, limit: int) -> list[StoredFile]:
        """As `BoundedFolder` says."""
        escaped = re.sub(r"([\\%_])", r"\\\1", pattern).replace("*", "%")
        with self._database.transaction() as connection:
            rows = connection.execute(
                """
                SELECT name, owner, string_agg(content, '' ORDER BY part) AS content FROM kept
                WHERE kind = %s AND name LIKE %s AND owner = coalesce(%s, owner)
                GROUP BY name, owner ORDER BY max(used) DESC LIMIT %s
                """,
                (self._kind, escaped, owner, limit),
            ).fetchall()
        return [StoredFile(**row) for row in reversed(rows)]

    def replace_file(self, file: StoredFile, content: bytes | None) -> bool:
        """As `BoundedFolder` says."""
        place = (self._kind, file.owner, file.name, file.content)
        with self._database.transaction() as connection:
            if content is None:
                done = connection.execute(
                    "DELETE FROM kept WHERE kind = %s AND owner = %s AND name = %s AND content = %s", place
                )
            else:
                done = connection.execute(
                    """
                    UPDATE kept SET content = %s, used = DEFAULT
                    WHERE kind = %s AND owner = %s AND name = %s AND content = %s
                    """,
                    (content, *place),
                )
        return done.rowcount == 1
