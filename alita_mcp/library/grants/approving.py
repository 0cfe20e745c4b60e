"""Approval of a tool: which version it is about, what may be granted, and what of that is new."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import Any, Protocol

from alita_mcp.errors import ToolNotFound, ToolUnavailable, UsageError
from alita_mcp.library.catalogue.reader import CatalogueReader
from alita_mcp.library.grants.effective_grants import in_words, too_thin
from alita_mcp.library.grants.hosts import ANY, MAX_HOSTS, canonical_host, covers, host_problem
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.trust.trust import may_hold_grants, what_would_raise
from alita_mcp.values import Grants, Manifest, StoredVersion

SHOWN_DIGITS = 12
"""Of a digest, where it is shown to be compared only: `alita approve` takes nothing but a whole one."""
MAX_QUESTION = 4_000
"""Characters; a version that asks for more than a person reads there is approved by the command."""


class Versions(Protocol):
    """Part of a library that approving needs."""

    @property
    def tools(self) -> CatalogueReader:
        """Reader of many tools at once."""
        ...

    def entry(self, name: str) -> CatalogueEntry:
        """One tool as it stands."""
        ...

    async def read(self, name: str, version: int | None = None) -> StoredVersion:
        """A version from disk, proved unchanged."""
        ...


async def version_to_approve(library: Versions, name: str, digest: str | None = None) -> StoredVersion:
    """The version of a digest; without one the newest that asks for something and came after the current, or that.

    Raises:
        ToolNotFound: there is no such tool, or no version of that digest.
        ToolUnavailable: it is not `verified`; the hint says what would raise its trust.
    """
    entry = library.entry(name)
    found = None
    for version in sorted(entry.versions, reverse=True):
        current = version == entry.manifest.version
        if digest is None and version < entry.manifest.version:
            break
        try:
            stored = await library.read(name, version)
        except ToolUnavailable:
            if current and digest is None:
                raise
            continue
        if stored.manifest.digest == digest or (
            digest is None and (current or not stored.manifest.grants.is_pure)
        ):
            found = stored
            break
    if found is None:
        raise ToolNotFound(
            f"No version of {name} has the digest {digest}.",
            hint=f"`alita show {name} VERSION` shows the digest of each version.",
        )
    if not may_hold_grants(found.manifest):
        raise too_thin(found.manifest, what_would_raise(found.report))
    return found


async def approval_of(
    library: Versions, name: str, digest: str | None, hosts: Sequence[str]
) -> dict[str, Any] | None:
    """Approval as the catalogue stores it; None for a version that asks for nothing.

    Raises:
        ToolNotFound: there is no such tool or digest.
        ToolUnavailable: it is not `verified`.
        UsageError: one of the hosts cannot be granted, or is not asked for.
    """
    manifest = (await version_to_approve(library, name, digest)).manifest
    if manifest.grants.is_pure:
        return None
    granted = with_hosts(manifest.grants, hosts) if hosts else manifest.grants
    part = granted.model_dump_json() if granted != manifest.grants else ""
    return {"version": manifest.version, "digest": manifest.digest, "part": part}


def with_hosts(asked: Grants, hosts: Sequence[str]) -> Grants:
    """What is asked for, with these of its hosts alone; any host where it leaves them open (`*`).

    Raises:
        UsageError: one cannot be granted, or is not asked for.
    """
    for host in hosts:
        if problem := host_problem(host):
            raise UsageError(f"The host {host[:100]!r} cannot be granted: {problem}.")
    if len(hosts) > MAX_HOSTS:
        raise UsageError(f"{len(hosts)} hosts cannot be granted: at most {MAX_HOSTS} can.")
    every = ANY in asked.network
    beyond = [host for host in hosts if not every and not any(covers(each, host) for each in asked.network)]
    if beyond:
        raise UsageError(
            f"It does not ask for {', '.join(beyond)}.", hint="Approve hosts that it asks for, or all of it."
        )
    return asked.model_copy(update={"network": tuple(dict.fromkeys(map(canonical_host, hosts)))})


def difference(now: Manifest, before: Manifest | None) -> list[str]:
    """In words, one a line, what a version asks for and what it asked for when it was approved last."""
    wanted, known = set(in_words(now.grants)), set(in_words(before.grants)) if before else set()
    lines = [f"+ {right}" for right in in_words(now.grants) if right not in known]
    lines += [f"- {right}" for right in sorted(known - wanted)]
    return lines + [f"  {right}" for right in in_words(now.grants) if right in known]


async def last_approved_version(library: Versions, name: str) -> StoredVersion | None:
    """The version that was approved last, if its files are as they were."""
    digest = library.tools.last_approved_digest(name)
    if digest is None:
        return None
    try:
        return await version_to_approve(library, name, digest)
    except (ToolNotFound, ToolUnavailable):
        return None


def question_about(stored: StoredVersion, before: StoredVersion | None, alita: str) -> str | None:
    """Question to a person at a client about a version; None where only the command can grant it.

    No word of the tool's author is in it but its name and what it asks for. `alita` is how the command is called.
    """
    manifest = stored.manifest
    name, number = manifest.name, manifest.version
    if not may_hold_grants(manifest) or ANY in manifest.grants.network:
        return None
    wanted = "\n".join(f"  {line}" for line in difference(manifest, before.manifest if before else None))
    compared_with = "Never approved before. It asks for:"
    if before is not None:
        lines = unified_diff(before.code.splitlines(), stored.code.splitlines(), lineterm="", n=0)
        changed = [line[0] for line in lines if line[:3] not in ("---", "+++")]
        code = (
            f"{changed.count('+')} lines of code added, {changed.count('-')} removed"
            if changed
            else "the same code"
        )
        compared_with = f"Compared with v{before.manifest.version}, approved last: {code}."
        compared_with += " It asks for (+ new, - no longer):"
    digest = manifest.digest[: manifest.digest.index(":") + 1 + SHOWN_DIGITS]
    text = (
        f"May the tool {name} v{number} have what it asks for? An agent had it made on this alita server, "
        f"where it passed its gates.\nDigest: {digest}…\n{compared_with}\n{wanted}\n"
        f"`{alita} show {name} {number} --source` shows its code. Approved, it becomes the current version, and "
        "all clients of the server can call it."
    )
    return text if len(text) <= MAX_QUESTION else None
