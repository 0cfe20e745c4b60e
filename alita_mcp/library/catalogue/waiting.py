"""What waits for a person: versions that ask for grants, and tools that nobody reviewed."""

from __future__ import annotations

from typing import NamedTuple

from alita_mcp.owners import Maker
from alita_mcp.values import Manifest, Value

NOT_APPROVED = "not approved"
"""The event of a refusal; with the digest of what was refused it is that of a person at the page."""


class WaitingVersion(Value):
    """Version that asks for what it was not granted."""

    manifest: Manifest
    current: int
    """The tool's current version: that the person sees, and whose place an approved one takes."""
    made_by: Maker
    set_aside: bool
    """Nobody has to decide about it: a person did, or it came with alita."""


class UnreviewedTool(NamedTuple):
    """Current version of a tool that no person has reviewed."""

    name: str
    version: int
    digest: str
    made_by: str
    reviewed_before: int | None
    """The newest earlier version that a person reviewed."""


_SET_ASIDE = f"""
(o.made_by = '' AND o.reviewed = v.digest OR EXISTS (
    SELECT 1 FROM journal j WHERE j.event IN ('{NOT_APPROVED}', 'revoked') AND j.name = v.name
    AND (j.event = 'revoked' AND j.time > json_extract(v.manifest, '$.created_at')
        OR json_extract(j.detail, '$.digest') = v.digest)
))
"""  # noqa: S608 - of our own words
WAITING = f"""
SELECT v.manifest, t.current, coalesce(o.made_by, '') AS made_by, coalesce(m.owner, :user) AS owner,
    {_SET_ASIDE} AS set_aside
FROM tool t JOIN version v ON v.name = t.name AND v.version >= t.current
LEFT JOIN origin o ON o.name = v.name AND o.version = v.version
LEFT JOIN maker m ON m.name = v.name AND m.version = v.version
WHERE t.state = 'enabled' AND v.quarantined IS NULL AND json_valid(v.manifest)
AND (v.version > t.current OR t.name IN (SELECT name FROM listing WHERE state = 'enabled' AND granted = 0))
ORDER BY v.name, v.version DESC
"""  # noqa: S608 - of our own words
"""Current versions that lack a grant, and versions after the current one, whatever they ask for."""

UNREVIEWED = """
SELECT l.name, l.version, l.digest, coalesce(o.made_by, ''), (
    SELECT max(p.version) FROM origin p JOIN version v USING (name, version)
    WHERE p.name = l.name AND p.version < l.version AND p.reviewed = v.digest
), count(*) OVER ()
FROM listing l LEFT JOIN origin o USING (name, version)
WHERE l.state != 'deleted' AND o.reviewed IS NOT l.digest
ORDER BY l.created_at DESC, l.name LIMIT :limit
"""

GRANTED = """
EXISTS (
    SELECT 1 FROM approval a JOIN version v ON v.name = a.name AND v.digest = a.digest
    LEFT JOIN approval_part p ON p.name = a.name AND p.digest = a.digest
    WHERE a.name = :name AND a.digest = :digest AND (
        p.part IS NOT NULL
        OR NOT EXISTS (SELECT 1 FROM json_each(v.manifest, '$.grants.network') WHERE value = '*')
    )
)
"""
"""Whether a digest has its grants, so that a second approval would change nothing."""
