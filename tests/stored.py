"""What a storage holds, byte for byte."""

from __future__ import annotations

from alita_mcp.library.storage import Storage

TABLES = {"kept": ("owner", "name", "content")}


def everything_in(storage: Storage) -> bytes:
    found = [path.read_bytes() for path in sorted(storage.home.rglob("*")) if path.is_file()]
    if storage.database is not None:
        with storage.database.transaction() as connection:
            for table, columns in TABLES.items():
                for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}"):
                    values = [value for value in row.values() if value is not None]
                    found += [value.encode() if isinstance(value, str) else value for value in values]
    return b"\n".join(found)
