"""Grants in force for a version: what it asks for, as far as people granted it, or what is still missing.

Two ways to grant: the catalogue's approval and the grants file. Both bind to the digest of one version; a line of the
file says `any_version` where it is for all that ask for no more. Neither ever gives a tool more than it asks for; hosts
that the manifest leaves open (`*`) are those that a person names, and no others.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.grants.grants_file import Bind, GrantsFile
from alita_mcp.library.grants.hosts import ANY, covers
from alita_mcp.library.rows import Approval, CatalogueEntry
from alita_mcp.library.trust.trust import MORE_TESTS, may_hold_grants
from alita_mcp.values import Grants, Manifest

WORKSPACES = ("none", "read", "write")
"""Each holds the ones before it."""
OPEN_HOSTS = "(hosts that you name)"
"""How `*` reads to people."""


def in_force(asked: Grants, *, approved: bool, filed: Grants | None) -> Grants | None:
    """The grants that calls run under; None when something of what is asked for was not granted."""
    if missing(asked, approved=approved, filed=filed):
        return None
    if ANY not in asked.network:
        return asked
    named = [host for host in asked.network if host != ANY]
    extra = filed.network if filed else ()
    return asked.model_copy(update={"network": tuple(dict.fromkeys([*named, *extra]))})


def missing(asked: Grants, *, approved: bool, filed: Grants | None) -> tuple[str, ...]:
    """In words, what is asked for and was not granted; empty when all of it was."""
    granted = filed or Grants()
    lacks = [f"network {OPEN_HOSTS}"] if ANY in asked.network and not granted.network else []
    if approved:
        return tuple(lacks)
    named = [host for host in asked.network if host != ANY]
    lacks += [
        f"network {host}" for host in named if not any(covers(known, host) for known in granted.network)
    ]
    if WORKSPACES.index(asked.workspace) > WORKSPACES.index(granted.workspace):
        lacks.append(f"workspace {asked.workspace}")
    if asked.model and not granted.model:
        lacks.append("model")
    lacks += [f"tool {name}" for name in asked.tools if name not in granted.tools]
    lacks += [f"secret {name}" for name in asked.secrets if name not in granted.secrets]
    return tuple(lacks)


def in_words(grants: Grants) -> tuple[str, ...]:
    """Each single grant in a few words, as people read it: `network api.example.org`, `model`, `secret NAME`."""
    return missing(grants, approved=False, filed=None)


class EffectiveGrants:
    """Grants of all versions as they stand now, by either way of granting; safe to use from several threads."""

    def __init__(self, grants_file: Path | None, approval: Callable[[str, str], Approval | None]) -> None:
        """Reads the grants file; `approval` asks the catalogue about a tool's name and digest.

        Raises:
            UsageError: the file does not fit; the message names file, tool and field.
        """
        self._file = GrantsFile(grants_file)
        self._lock = threading.Lock()
        self._approval = approval

    def bind_with(self, bind: Bind) -> None:
        """Binds lines of the file that name no version to the current ones; until then they grant nothing."""
        with self._lock:
            self._file.bind_with(bind)

    @property
    def mark(self) -> tuple[int, ...]:
        """Stamp of the grants file, which differs after every change of it."""
        return self._file.mark_on_disk()

    def changes(self) -> int:
        """Number of changes so far of what the file grants."""
        with self._lock:
            self._file.refresh()
            return self._file.changes

    def names_in_file(self) -> Iterable[str]:
        """Names of the tools that the file names."""
        with self._lock:
            self._file.refresh()
            return self._file.names()

    def with_approval(self, entry: CatalogueEntry) -> CatalogueEntry:
        """A tool, approved exactly when all that it asks for is granted."""
        if entry.manifest.grants.is_pure:
            return entry
        granted = self.of(entry.manifest) is not None
        return entry if entry.approved is granted else entry.model_copy(update={"approved": granted})

    def of(self, manifest: Manifest) -> Grants | None:
        """The grants under which this version runs now; None when something that it asks for is not granted.

        A version that is not `verified` is given none, whatever was approved or filed.
        """
        if manifest.grants.is_pure:
            return manifest.grants
        if not may_hold_grants(manifest):
            return None
        with self._lock:
            self._file.refresh()
            approval = self._approval(manifest.name, manifest.digest)
            if approval is not None and approval.part is not None:
                return approval.part
            filed = self._file.grants_for(manifest)
        return in_force(manifest.grants, approved=approval is not None, filed=filed)

    def is_bound(self, manifest: Manifest) -> bool:
        """Whether the grants file grants something to this very version, and to no other."""
        with self._lock:
            self._file.refresh()
            return self._file.is_bound(manifest)

    def not_granted(self, manifest: Manifest) -> ToolUnavailable:
        """The error for a version that asks for what was not granted, or for anything while it is not verified."""
        if not may_hold_grants(manifest):
            return too_thin(manifest, how_to_grant(manifest))
        with self._lock:
            filed, problem = self._file.grants_for(manifest), self._file.problem
            approved = self._approval(manifest.name, manifest.digest) is not None
            lacks = missing(manifest.grants, approved=approved, filed=filed)
        said = f" {problem}" if problem else ""
        return ToolUnavailable(
            f"{manifest.name} asks for grants that nobody approved: {', '.join(lacks)}.{said}",
            hint=how_to_grant(manifest),
        )


def too_thin(manifest: Manifest, hint: str) -> ToolUnavailable:
    """The error for a version whose evidence is too thin for grants."""
    asked = ", ".join(in_words(manifest.grants))
    return ToolUnavailable(
        f"{manifest.name} v{manifest.version} is {manifest.trust}, and grants are given to verified tools only; "
        f"it asks for {asked}.",
        hint=hint,
    )


def how_to_grant(manifest: Manifest) -> str:
    """Hint that says how a person grants what a version asks for."""
    if not may_hold_grants(manifest):
        return f"It has to be verified first. {MORE_TESTS}; inspect_tool, or `alita show {manifest.name}`, says which."
    asked = manifest.grants.model_dump(mode="json", exclude_defaults=True)
    if ANY in manifest.grants.network:
        asked["network"] = [*(host for host in manifest.grants.network if host != ANY), "api.example.org"]
    line = json.dumps({manifest.name: asked}, ensure_ascii=False)
    file = f"a line in the file that ALITA_GRANTS_FILE names, as in {line}"
    if ANY in manifest.grants.network:
        return f"A person names the hosts: `alita approve {manifest.name} --network HOST`, or {file}."
    return f"A person can approve them: `alita approve {manifest.name}`, or {file}."
