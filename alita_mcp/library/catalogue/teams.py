"""Tools of a team, which only its members see: a connection of theirs has no rows of other teams.

A tool belongs to the team of who made its first version.
"""

from __future__ import annotations

import sqlite3
from typing import LiteralString


def hide_other_teams(db: sqlite3.Connection, team: str, *tables: LiteralString) -> None:
    """Has this connection find no tool of another team in these tables; `team` is empty for readers without one.

    A temporary view comes before the table of its name, so that every statement keeps to it.
    """
    db.create_function("is_foreign", 1, lambda owner: "/" in owner and owner.partition("/")[0] != team)
    for table in tables:
        db.execute(
            f"""
            CREATE TEMP VIEW {table} AS SELECT t.* FROM main.{table} t WHERE NOT EXISTS (
                SELECT 1 FROM main.maker m WHERE m.name = t.name AND m.version = 1 AND is_foreign(m.owner)
            )
            """  # noqa: S608 - of our own words
        )
