"""The catalogue's tables, and the statements of each change of a tool's standing."""

from __future__ import annotations

SCHEMA_VERSION = 1
"""Kept in `user_version`; a newer catalogue is refused, an older one would be migrated here."""

TABLES = """
CREATE TABLE tool (
    name TEXT PRIMARY KEY,
    current INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'disabled', 'deleted')),
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    created_at TEXT NOT NULL,
    deleted_at TEXT,
    FOREIGN KEY (name, current) REFERENCES version (name, version) DEFERRABLE INITIALLY DEFERRED
);
CREATE TABLE version (
    name TEXT NOT NULL REFERENCES tool (name) ON DELETE CASCADE,
    version INTEGER NOT NULL CHECK (version >= 1),
    manifest TEXT NOT NULL,
    digest TEXT NOT NULL,
    seal TEXT NOT NULL,
    quarantined TEXT,
    PRIMARY KEY (name, version)
);
CREATE TABLE evidence (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    sandbox TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    lock TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (name, version, sandbox),
    FOREIGN KEY (name, version) REFERENCES version (name, version) ON DELETE CASCADE
);
CREATE TABLE usage (
    name TEXT PRIMARY KEY REFERENCES tool (name) ON DELETE CASCADE,
    calls INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    last_used TEXT NOT NULL
);
CREATE TABLE approval (
    name TEXT NOT NULL REFERENCES tool (name) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    approved_at TEXT NOT NULL,
    PRIMARY KEY (name, digest)
);
CREATE TABLE claim (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    owner TEXT NOT NULL
);
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    name TEXT,
    version INTEGER,
    detail TEXT NOT NULL
);
CREATE INDEX journal_event ON journal (event);
"""

ADDED_TABLES = (
    """
    CREATE TABLE IF NOT EXISTS uncached (
        name TEXT PRIMARY KEY REFERENCES tool (name) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS wording (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL REFERENCES tool (name) ON DELETE CASCADE,
        text TEXT NOT NULL,
        from_use INTEGER NOT NULL DEFAULT 0,
        UNIQUE (name, text)
    )
    """,
)
"""Of a later alita; an earlier one of the same format does not miss it."""

CHANGES: dict[str, tuple[str, ...]] = {
    "pinned": ("UPDATE tool SET pinned = 1 WHERE name = :name AND state != 'deleted'",),
    "unpinned": ("UPDATE tool SET pinned = 0 WHERE name = :name AND state != 'deleted'",),
    "disabled": ("UPDATE tool SET state = 'disabled' WHERE name = :name AND state != 'deleted'",),
    "enabled": (
        "UPDATE tool SET state = 'enabled', deleted_at = NULL WHERE name = :name",
        "UPDATE version SET quarantined = NULL WHERE name = :name AND version = :version",
    ),
    "deleted": (
        "UPDATE tool SET state = 'deleted', deleted_at = :now WHERE name = :name AND state != 'deleted'",
    ),
    "rolled back": ("UPDATE tool SET current = :version WHERE name = :name AND state != 'deleted'",),
    "quarantined": (
        "UPDATE version SET quarantined = :reason WHERE name = :name AND version = :version AND quarantined IS NULL",
    ),
    "passed elsewhere": (
        """
        INSERT OR IGNORE INTO evidence
        SELECT name, version, :sandbox, :now, :lock FROM version WHERE name = :name AND version = :version
        """,
    ),
    "approved": (
        """
        INSERT OR IGNORE INTO approval
        SELECT t.name, v.digest, :now FROM tool t JOIN version v ON v.name = t.name AND v.version = t.current
        WHERE t.name = :name AND t.state != 'deleted'
        """,
    ),
    "revoked": ("DELETE FROM approval WHERE name = :name",),
    "worded": (
        "INSERT OR IGNORE INTO wording (name, text) SELECT name, :text FROM tool WHERE name = :name",
        """
        DELETE FROM wording WHERE name = :name AND NOT from_use
        AND id NOT IN (SELECT id FROM wording WHERE name = :name AND NOT from_use ORDER BY id DESC LIMIT 12)
        """,
    ),
    "learned": (
        "INSERT OR IGNORE INTO wording (name, text, from_use) SELECT name, :text, 1 FROM tool WHERE name = :name",
        """
        DELETE FROM wording WHERE name = :name AND from_use
        AND id NOT IN (SELECT id FROM wording WHERE name = :name AND from_use ORDER BY id DESC LIMIT 8)
        """,
    ),
    "forgot": ("DELETE FROM wording WHERE name = :name AND text = coalesce(:text, text)",),
    "cache off": ("INSERT OR IGNORE INTO uncached SELECT name FROM tool WHERE name = :name",),
    "cache on": ("DELETE FROM uncached WHERE name = :name",),
}
"""Event → statements; the first one says by its row count whether the change took place."""

PUBLISH = (
    """
    INSERT INTO tool (name, current, created_at) VALUES (:name, :version, :now)
    ON CONFLICT (name) DO UPDATE SET current = :version, state = 'enabled', deleted_at = NULL
    """,
    "INSERT INTO version (name, version, manifest, digest, seal) VALUES (:name, :version, :manifest, :digest, :seal)",
    "INSERT INTO evidence VALUES (:name, :version, :sandbox, :now, '')",
    "DELETE FROM claim WHERE name = :name",
)

RAISE = (
    "UPDATE version SET manifest = :manifest, digest = :digest, seal = :seal WHERE name = :name AND version = :version",
    "DELETE FROM evidence WHERE name = :name AND version = :version",
    "INSERT INTO evidence VALUES (:name, :version, :sandbox, :now, '')",
    "DELETE FROM claim WHERE name = :name",
)
"""Other evidence for a version; the other kinds of sandbox have not seen it yet."""

CLAIMABLE = """
SELECT max(version), (SELECT state FROM tool WHERE name = :name),
    (SELECT digest FROM version WHERE name = :name AND version = :version AND quarantined IS NULL)
FROM version WHERE name = :name
"""

COUNT_CALLS = (
    "INSERT INTO usage SELECT name, :calls, :failures, :last FROM tool WHERE name = :name"
    " ON CONFLICT (name) DO UPDATE SET calls = calls + :calls, failures = failures + :failures,"
    " last_used = max(last_used, :last)"
)

TRIM_CALLS = "DELETE FROM journal WHERE event IN ('called', 'sandbox failed', 'found nothing') AND id <= ?"

TOUCHING = ("tool", "version", "evidence", "approval", "wording")
"""Tables of which each row belongs to a tool's standing; its use does not."""

TOUCHED = (
    """
    CREATE TABLE IF NOT EXISTS touched (
        at INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL
    )
    """,
    "CREATE INDEX IF NOT EXISTS touched_name ON touched (name)",
    *(
        f"""
        CREATE TRIGGER IF NOT EXISTS touched_by_{change}_of_{table} AFTER {change} ON {table} BEGIN
            DELETE FROM touched WHERE name = {row}.name;
            INSERT INTO touched (name) VALUES ({row}.name);
        END
        """  # noqa: S608 - of our own words
        for table in TOUCHING
        for change, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD"))
    ),
    *(
        f"DROP TRIGGER IF EXISTS touched_by_{change}_of_{table}"
        for table in ("usage", "uncached")
        for change in ("INSERT", "UPDATE", "DELETE")
    ),
)
"""Which tool was changed last, whoever changed it: numbers only grow, so what is behind one is what came later."""

CHANGES_SO_FAR = "SELECT (SELECT coalesce(max(at), 0) FROM touched), (SELECT number FROM listing_changes)"
STAMP = """
SELECT (SELECT at FROM touched WHERE name = :name), u.calls, u.failures, u.last_used
FROM (SELECT 1) LEFT JOIN usage u ON u.name = :name
"""
"""Differs whenever the entry of a tool may."""

ENTRIES = """
SELECT t.name, t.state, t.pinned, t.created_at, v.manifest, v.quarantined, u.calls, u.failures, u.last_used,
    (SELECT group_concat(o.version, ',') FROM version o WHERE o.name = t.name) AS versions,
    (SELECT group_concat(e.sandbox, ',') FROM evidence e WHERE e.name = t.name AND e.version = t.current) AS sandboxes,
    EXISTS (SELECT 1 FROM approval a WHERE a.name = t.name AND a.digest = v.digest) AS approved,
    (SELECT json_group_array(w.text) FROM (SELECT text FROM wording w WHERE w.name = t.name ORDER BY id) w) AS wordings
FROM tool t
JOIN version v ON v.name = t.name AND v.version = t.current
LEFT JOIN usage u ON u.name = t.name
"""
NEXT_PAGE = f"""
{ENTRIES} WHERE t.state != 'deleted' AND (t.created_at, t.name) > (:created_at, :name)
ORDER BY t.created_at, t.name LIMIT :limit
"""
