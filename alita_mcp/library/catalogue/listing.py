"""Table `listing`: a short row for each tool with all that lists are sorted by, so that no manifest is read.

Triggers keep it equal to the other tables, which any process may write, and count the changes that clients are told of.
"""

from __future__ import annotations

_LISTED = ("state", "pinned", "version", "digest", "verified", "granted")
"""Another value in one of these changes the lists that clients see."""
_COLUMNS = ("name", *_LISTED, "created_at", "merit")

_TABLE = """
CREATE TABLE IF NOT EXISTS listing (
    name TEXT PRIMARY KEY REFERENCES tool (name) ON DELETE CASCADE,
    state TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    verified INTEGER NOT NULL,
    granted INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    merit INTEGER NOT NULL
) WITHOUT ROWID
"""
_CURRENT = """
CREATE VIEW IF NOT EXISTS current_version AS
SELECT name, state, pinned, version, digest, manifest, calls, last_used,
    coalesce(json_extract(manifest, '$.trust'), '') = 'verified' AS verified,
    coalesce(json_extract(manifest, '$.created_at'), '') AS created_at
FROM (
    SELECT t.name, t.pinned, t.current AS version, v.digest,
        iif(json_valid(v.manifest), v.manifest, '{}') AS manifest,
        iif(t.state = 'enabled' AND (v.quarantined IS NOT NULL OR NOT json_valid(v.manifest)), 'quarantined', t.state)
            AS state,
        coalesce(u.calls, 0) AS calls, coalesce(u.last_used, '') AS last_used
    FROM tool t JOIN version v ON v.name = t.name AND v.version = t.current LEFT JOIN usage u ON u.name = t.name
)
"""
"""A manifest that is no JSON counts as an empty one, and its tool as quarantined."""
_NOTHING_ASKED = {"network": "'[]'", "workspace": "'none'", "model": "0", "tools": "'[]'", "secrets": "'[]'"}
_IS_PURE = " AND ".join(
    f"coalesce(json_extract(manifest, '$.grants.{field}'), {nothing}) = {nothing}"
    for field, nothing in _NOTHING_ASKED.items()
)
_LISTING_NOW = f"""
CREATE VIEW IF NOT EXISTS listing_now AS
SELECT name, state, pinned, version, digest, verified,
    ({_IS_PURE}) OR (
        verified
        AND NOT EXISTS (SELECT 1 FROM json_each(manifest, '$.grants.network') WHERE value = '*')
        AND EXISTS (SELECT 1 FROM approval a WHERE a.name = c.name AND a.digest = c.digest)
    ) AS granted,
    created_at,
    coalesce(strftime('%s', substr(max(created_at, last_used), 1, 19)), 0) * 1000000
    + iif(max(created_at, last_used) LIKE '___________________.%', substr(max(created_at, last_used), 21, 6), 0)
    + min(calls, 1000) * 3600000000 AS merit
FROM current_version c
"""  # noqa: S608 - of our own words
"""`granted`: nothing is asked for, or the catalogue approves all of it. `merit`: microseconds; see `promotion`."""

_RENEW = f"""
INSERT INTO listing ({", ".join(_COLUMNS)}) SELECT {", ".join(_COLUMNS)} FROM listing_now WHERE {{which}}
ON CONFLICT (name) DO UPDATE SET {", ".join(f"{column} = excluded.{column}" for column in _COLUMNS[1:])}
"""  # noqa: S608 - of our own words
_RENEWED_BY = {
    "tool": ("INSERT", "UPDATE"),
    "version": ("INSERT", "UPDATE"),
    "usage": ("INSERT", "UPDATE"),
    "approval": ("INSERT", "DELETE"),
}
_CHANGED = f"({', '.join(f'OLD.{each}' for each in _LISTED)}) IS NOT ({', '.join(f'NEW.{each}' for each in _LISTED)})"

LISTING = (
    _TABLE,
    _CURRENT,
    _LISTING_NOW,
    _RENEW.format(which="NOT EXISTS (SELECT 1 FROM listing)"),
    "CREATE INDEX IF NOT EXISTS listing_best ON listing (state, granted, pinned, verified DESC, merit DESC, name)",
    "CREATE INDEX IF NOT EXISTS listing_newest ON listing (state, granted, created_at, name, verified)",
    "CREATE INDEX IF NOT EXISTS tool_oldest ON tool (created_at, name)",
    "CREATE TABLE IF NOT EXISTS listing_changes (number INTEGER NOT NULL)",
    "INSERT INTO listing_changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM listing_changes)",
    *(
        f"""
        CREATE TRIGGER IF NOT EXISTS listing_by_{change}_of_{table} AFTER {change} ON {table} BEGIN
            {_RENEW.format(which=f"name = {'OLD' if change == 'DELETE' else 'NEW'}.name")};
        END
        """
        for table, changes in _RENEWED_BY.items()
        for change in changes
    ),
    *(
        f"""
        CREATE TRIGGER IF NOT EXISTS listing_changed_by_{change} AFTER {change} ON listing
        {f"WHEN {_CHANGED}" if change == "UPDATE" else ""} BEGIN
            UPDATE listing_changes SET number = number + 1;
        END
        """  # noqa: S608 - of our own words
        for change in ("INSERT", "UPDATE", "DELETE")
    ),
)
"""Statements that may be run again; one fills the table in a catalogue of an alita that had none."""

_SEEN = """(:any_origin OR EXISTS (
        SELECT 1 FROM origin o WHERE (o.name, o.version, o.reviewed) = (l.name, l.version, l.digest)
    ))"""
CANDIDATES = f"""
SELECT name FROM (
    SELECT name FROM listing l WHERE state = 'enabled' AND granted = 1 AND {_SEEN}
    ORDER BY created_at DESC, name DESC LIMIT :newest
)
UNION SELECT name FROM (
    SELECT name FROM listing l WHERE state = 'enabled' AND granted = 1 AND pinned = 1 AND {_SEEN}
    ORDER BY verified DESC, merit DESC, name LIMIT :most
)
UNION SELECT name FROM (
    SELECT name FROM listing l WHERE state = 'enabled' AND granted = 1 AND pinned = 0 AND {_SEEN}
    ORDER BY verified DESC, merit DESC, name LIMIT :most
)
UNION SELECT l.name FROM (SELECT DISTINCT name FROM approval_part) p JOIN listing l ON l.name = p.name
WHERE l.state = 'enabled' AND l.granted = 0 AND {_SEEN}
"""  # noqa: S608 - of our own words
"""Names among which those that `Promotion` chooses of all tools surely are; of some a person approved a part."""

_BEST = """
SELECT * FROM (
    SELECT name, verified, merit FROM listing WHERE state = 'enabled' AND granted = {granted} AND pinned = {pinned}
    ORDER BY verified DESC, merit DESC, name LIMIT :limit
)
"""
MOST_USED = f"""
SELECT name FROM ({" UNION ALL ".join(_BEST.format(granted=g, pinned=p) for g in (0, 1) for p in (0, 1))})
ORDER BY verified DESC, merit DESC, name LIMIT :limit
"""  # noqa: S608 - of our own words

NAMES_LIKE = """
SELECT name FROM (SELECT name FROM listing WHERE state != 'deleted' AND name >= :name ORDER BY name LIMIT 200)
UNION SELECT name FROM (SELECT name FROM listing WHERE state != 'deleted' AND name < :name ORDER BY name DESC LIMIT 200)
UNION SELECT name FROM (
    SELECT name FROM listing WHERE state != 'deleted' AND (instr(name, :longest) OR instr(name, :other)) LIMIT 200
)
"""
"""The neighbours of a name in the alphabet, and names with one of two of its words in them."""
