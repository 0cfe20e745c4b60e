"""SQL schema of the catalogue, and the statements of each change of a tool's state."""

from __future__ import annotations

from alita_mcp.library.catalogue.waiting import GRANTED, NOT_APPROVED

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
    CREATE TABLE IF NOT EXISTS decided (
        name TEXT NOT NULL REFERENCES tool (name) ON DELETE CASCADE,
        what TEXT NOT NULL CHECK (what IN ('state', 'version')),
        PRIMARY KEY (name, what)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS approval_part (
        name TEXT NOT NULL REFERENCES tool (name) ON DELETE CASCADE,
        digest TEXT NOT NULL,
        part TEXT NOT NULL,
        PRIMARY KEY (name, digest)
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS origin (
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        made_by TEXT NOT NULL,
        reviewed TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (name, version),
        FOREIGN KEY (name, version) REFERENCES version (name, version) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS maker (
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        owner TEXT NOT NULL,
        PRIMARY KEY (name, version),
        FOREIGN KEY (name, version) REFERENCES version (name, version) ON DELETE CASCADE
    )
    """,
    """
    INSERT OR IGNORE INTO origin
    SELECT v.name, v.version, '', v.digest FROM journal j JOIN version v ON v.name = j.name AND v.version = j.version
    WHERE j.event = 'starter installed' AND json_extract(j.detail, '$.digest') = v.digest
    """,
)
"""Of a later alita; an earlier one of the same format did not miss it."""

_VERSION_DECIDED = (
    "INSERT OR IGNORE INTO decided SELECT name, 'version' FROM tool WHERE name = :name AND :by = 'person'"
)
"""The version that a person chose stays current until a person chooses another."""

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
    "rolled back": (
        "UPDATE tool SET current = :version WHERE name = :name AND state != 'deleted'",
        _VERSION_DECIDED,
    ),
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
        f"""
        UPDATE tool SET current = :version WHERE name = :name AND state != 'deleted'
        AND current = coalesce(:seen, current) AND EXISTS (
            SELECT 1 FROM version v WHERE v.name = :name AND v.version = :version AND v.digest = :digest
        ) AND (:by = 'person' OR NOT EXISTS (SELECT 1 FROM decided d WHERE d.name = :name AND d.what = 'version'))
        AND NOT (:once AND {GRANTED})
        """,  # noqa: S608 - of our own words
        "DELETE FROM approval_part WHERE name = :name AND digest = :digest",
        "INSERT INTO approval_part SELECT :name, :digest, :part WHERE :part != ''",
        """
        INSERT INTO approval VALUES (:name, :digest, :now)
        ON CONFLICT (name, digest) DO UPDATE SET approved_at = :now
        """,
        _VERSION_DECIDED,
    ),
    NOT_APPROVED: (
        f"""
        UPDATE tool SET current = current WHERE name = :name AND EXISTS (
            SELECT 1 FROM version v WHERE v.name = :name AND v.version = :version AND v.digest = :digest
        ) AND NOT {GRANTED}
        """,  # noqa: S608 - of our own words
    ),
    "revoked": (
        "DELETE FROM approval WHERE name = :name",
        "DELETE FROM approval_part WHERE name = :name",
        _VERSION_DECIDED,
    ),
    "reviewed": (
        """
        INSERT INTO origin SELECT name, version, '', digest FROM version
        WHERE name = :name AND version = :version AND digest = :digest
        ON CONFLICT (name, version) DO UPDATE SET reviewed = excluded.reviewed
        """,
        "UPDATE listing_changes SET number = number + 1",
    ),
}
"""Event → statements; where the first one changes no row, the change does not take place."""

PUBLISH = (
    """
    INSERT INTO tool (name, current, created_at) VALUES (:name, :version, :now)
    ON CONFLICT (name) DO UPDATE SET current = :version
    WHERE :takes_over AND NOT EXISTS (SELECT 1 FROM decided d WHERE d.name = :name AND d.what = 'version')
    AND EXISTS (
        SELECT 1 FROM listing l WHERE l.name = :name AND (l.verified <= :verified OR l.state = 'quarantined')
    )
    """,
    "INSERT INTO version (name, version, manifest, digest, seal) VALUES (:name, :version, :manifest, :digest, :seal)",
    "INSERT INTO evidence SELECT :name, :version, :sandbox, :now, '' WHERE :sandbox != ''",
    "INSERT INTO origin VALUES (:name, :version, :made_by, iif(:event = 'starter installed', :digest, ''))",
    "INSERT INTO maker VALUES (:name, :version, :owner)",
    "DELETE FROM claim WHERE name = :name",
)

RAISE = (
    "UPDATE version SET manifest = :manifest, digest = :digest, seal = :seal WHERE name = :name AND version = :version",
    "DELETE FROM evidence WHERE name = :name AND version = :version",
    "INSERT INTO evidence VALUES (:name, :version, :sandbox, :now, '')",
    "UPDATE origin SET made_by = :made_by WHERE name = :name AND version = :version AND :made_by != ''",
    """
    INSERT OR REPLACE INTO maker SELECT :name, :version, :owner WHERE :made_by != '' AND NOT EXISTS (
        SELECT 1 FROM maker WHERE name = :name AND version = :version AND instr(owner, '/')
        AND substr(owner, 1, instr(owner, '/')) != substr(:owner, 1, instr(:owner, '/'))
    )
    """,  # a tool stays with its team
    "DELETE FROM claim WHERE name = :name",
)
"""Other evidence for a version; the other kinds of sandbox have not seen it yet."""

CLAIMABLE = """
SELECT max(version), (SELECT state FROM tool WHERE name = :name),
    (SELECT digest FROM version WHERE name = :name AND version = :version AND quarantined IS NULL)
FROM version WHERE name = :name
"""

APPROVAL = """
SELECT p.part FROM approval a LEFT JOIN approval_part p ON p.name = a.name AND p.digest = a.digest
WHERE a.name = :name AND a.digest = :digest
"""

_IN_MONTY = "EXISTS (SELECT 1 FROM evidence e WHERE (e.name, e.version) = (v.name, v.version) AND e.sandbox {} 'monty')"
MIGRATIONS: dict[int, tuple[str, ...]] = {
    2: (
        # what is approved in a catalogue that does not say who decided counts as a person's choice
        "INSERT OR IGNORE INTO decided SELECT DISTINCT name, 'version' FROM approval",
        # what a sandbox proved that is gone counts for nothing, see `trust.unproven`
        f"""
        UPDATE version AS v
        SET manifest = json_set(manifest, '$.trust', 'provisional', '$.deterministic', json('false'))
        WHERE {_IN_MONTY.format("=")} AND NOT {_IN_MONTY.format("!=")} AND json_valid(manifest)
        """,  # noqa: S608 - of our own words
        "DELETE FROM evidence WHERE sandbox = 'monty'",
    ),
}
"""Format → statements that make a catalogue of the format before into one of it; a new catalogue begins with 1."""

JOURNAL = "INSERT INTO journal (time, event, name, version, detail) VALUES (:time, :event, :name, :version, :detail)"
COUNT_CALLS = (
    "INSERT INTO usage AS u SELECT name, :calls, :failures, :last FROM tool WHERE name = :name"
    " ON CONFLICT (name) DO UPDATE SET calls = u.calls + excluded.calls, failures = u.failures + excluded.failures,"
    " last_used = CASE WHEN u.last_used > excluded.last_used THEN u.last_used ELSE excluded.last_used END"
)

OWNER = "iif(json_valid(detail), json_extract(detail, '$.owner'), NULL)"
_OF_CALLS = "event IN ('called', 'sandbox failed', 'found nothing', 'ran code')"
TRIM_CALLS = f"""
DELETE FROM journal WHERE {_OF_CALLS} AND id NOT IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY {OWNER} ORDER BY id DESC) AS place FROM journal WHERE {_OF_CALLS}
    ) AS placed ORDER BY place, id DESC LIMIT :kept
)
"""  # noqa: S608 - of our own words
"""The oldest lines about calls beyond so many, of the owners that have most of them."""

TOUCHING = ("tool", "version", "evidence", "approval", "origin")
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
"""Which tool was changed last, by any process: numbers only grow, so what is behind one is what came later."""

CHANGES_SO_FAR = "SELECT (SELECT coalesce(max(at), 0) FROM touched), (SELECT number FROM listing_changes)"
STAMP = """
SELECT (SELECT at FROM touched WHERE name = :name), u.calls, u.failures, u.last_used
FROM (SELECT 1) LEFT JOIN usage u ON u.name = :name
"""
"""Differs whenever the entry of a tool may."""

SKIP_CHANGES = (
    "INSERT INTO touched SELECT :number, '' WHERE :number > (SELECT coalesce(max(at), 0) FROM touched)"
)
"""The next change has a number behind `number`."""

DECISIONS = """
SELECT json_object(
    'name', t.name, 'number', coalesce(c.at, 0), 'state', t.state, 'pinned', json(iif(t.pinned, 'true', 'false')),
    'version', iif(EXISTS (SELECT 1 FROM decided d WHERE d.name = t.name AND d.what = 'version'), t.current, NULL),
    'approved', (SELECT json_group_array(a.digest) FROM approval a WHERE a.name = t.name),
    'reviewed', (SELECT json_group_array(v.digest) FROM version v JOIN origin o USING (name, version)
        WHERE v.name = t.name AND o.reviewed = v.digest)
) FROM tool t LEFT JOIN touched c ON c.name = t.name WHERE coalesce(c.at, 0) > ?
"""
"""What people decided about the tools that changed after a change; -1 for all tools."""

RESTORE = (
    """
    UPDATE tool SET pinned = :pinned,
        state = iif('deleted' IN (state, :state), 'deleted', iif('disabled' IN (state, :state), 'disabled', 'enabled')),
        deleted_at = iif('deleted' IN (state, :state), coalesce(deleted_at, :now), NULL)
    WHERE name = :name
    """,
    """
    UPDATE tool SET current = :version
    WHERE name = :name AND EXISTS (SELECT 1 FROM version v WHERE v.name = :name AND v.version = :version)
    """,
    "UPDATE tool SET state = 'disabled' WHERE name = :name AND state = 'enabled' AND current != :version",
    "INSERT OR IGNORE INTO decided SELECT name, 'version' FROM tool WHERE name = :name AND :version IS NOT NULL",
    "DELETE FROM approval WHERE name = :name",
    """
    UPDATE origin AS o SET reviewed = coalesce((
        SELECT v.digest FROM version v JOIN json_each(:reviewed) r ON r.value = v.digest
        WHERE (v.name, v.version) = (o.name, o.version)
    ), reviewed) WHERE name = :name
    """,
)
"""Takes in decisions from beside a tool's files: the stricter state counts, and no approval does."""

ENTRIES = """
SELECT t.name, t.state, t.pinned, t.created_at, v.manifest, v.quarantined, u.calls, u.failures, u.last_used,
    (SELECT group_concat(o.version, ',') FROM version o WHERE o.name = t.name) AS versions,
    (SELECT group_concat(e.sandbox, ',') FROM evidence e WHERE e.name = t.name AND e.version = t.current) AS sandboxes,
    EXISTS (SELECT 1 FROM approval a WHERE a.name = t.name AND a.digest = v.digest) AS approved
FROM tool t
JOIN version v ON v.name = t.name AND v.version = t.current
LEFT JOIN usage u ON u.name = t.name
"""
NEXT_PAGE = f"""
{ENTRIES} WHERE t.state != 'deleted' AND (t.created_at, t.name) > (:created_at, :name)
ORDER BY t.created_at, t.name LIMIT :limit
"""
LAST_CALLS = """
SELECT * FROM journal WHERE id IN (
    SELECT max(id) FROM journal WHERE event IN ('called', 'sandbox failed')
    AND name IN (SELECT value FROM json_each(:names)) GROUP BY name
)
"""
