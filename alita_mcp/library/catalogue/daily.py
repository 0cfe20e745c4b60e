"""Daily aggregates of use in the catalogue: calls of each tool, and what searches led to.

Lines of the journal are few and go; these counts stay for `DAYS_KEPT` days. Days are those of UTC.
"""

from __future__ import annotations

DAYS_KEPT = 400

DAILY_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS daily_use (
        day TEXT NOT NULL,
        name TEXT NOT NULL,
        calls INTEGER NOT NULL,
        failures INTEGER NOT NULL,
        code_bytes INTEGER NOT NULL,
        PRIMARY KEY (day, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS daily_search (
        day TEXT PRIMARY KEY,
        searches INTEGER NOT NULL,
        matched INTEGER NOT NULL,
        called INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
)

COUNT_DAY = (
    "INSERT INTO daily_use AS u SELECT substr(:last, 1, 10), name, :calls, :failures, :code_bytes FROM tool"
    " WHERE name = :name ON CONFLICT (day, name) DO UPDATE SET calls = u.calls + excluded.calls,"
    " failures = u.failures + excluded.failures, code_bytes = u.code_bytes + excluded.code_bytes"
)
COUNT_SEARCHES = (
    "INSERT INTO daily_search AS s VALUES (:day, :searches, :matched, :called) ON CONFLICT (day) DO UPDATE SET"
    " searches = s.searches + excluded.searches, matched = s.matched + excluded.matched,"
    " called = s.called + excluded.called"
)
FIRST_DAY = f"date('now', '-{DAYS_KEPT} days')"
TRIM_DAYS = tuple(
    f"DELETE FROM {table} WHERE day < {FIRST_DAY}"  # noqa: S608 - of our own words
    for table in ("daily_use", "daily_search")
)

USE_DAYS = """
SELECT day, sum(calls), sum(failures), sum(code_bytes) FROM daily_use WHERE day >= :since AND iif(
    :name != '', name = :name,
    name NOT IN (SELECT j.name FROM journal j WHERE j.event = 'starter installed' AND j.name IS NOT NULL)
) GROUP BY day ORDER BY day
"""
SEARCH_DAYS = "SELECT day, searches, matched, called FROM daily_search WHERE day >= :since ORDER BY day"
