"""Whether a version can run in this process, and why not."""

from __future__ import annotations

from collections.abc import Callable

from alita_mcp.app.version_verifier import VersionVerifier, cannot_run_here
from alita_mcp.library.library import Library
from alita_mcp.values import Grants, Manifest

Lacks = Callable[[Grants], list[str]]
"""What these grants need and the settings do not give, each as in `needs a model: set ALITA_MODEL`."""


class Runnable:
    """Decides by settings, gates and called tools whether a version can run; starts no sandbox."""

    def __init__(self, library: Library, verifier: VersionVerifier, lacks: Lacks | None = None) -> None:
        self._library = library
        self._verifier = verifier
        self._lacks = lacks or (lambda _grants: [])

    def why_not(self, manifest: Manifest) -> str:
        """Why a version cannot run here, as in `needs a model: set ALITA_MODEL`; empty where it can, as far as known.

        What a person did not approve is no reason: ask for that apart.
        """
        reasons = [*self._missing(manifest), *self._uncallable_tools(manifest, (manifest.name,))]
        return "; ".join(reasons) or self._verifier.known_failure(manifest)

    def check(self, manifest: Manifest) -> None:
        """Refuses a call that could only fail.

        Raises:
            ToolUnavailable: settings or sandbox do not give what the version needs.
        """
        if missing := self._missing(manifest):
            raise cannot_run_here(manifest.name, missing)

    def _missing(self, manifest: Manifest) -> list[str]:
        """What it needs of the settings and of the sandbox, and does not find here."""
        return [*self._lacks(manifest.grants), *self._verifier.lacks_of_sandbox(manifest)]

    def _uncallable_tools(self, manifest: Manifest, chain: tuple[str, ...]) -> list[str]:
        """The tools it needs and cannot call: those that do not exist, are not approved, or cannot run themselves."""
        reasons = []
        for name in manifest.grants.tools:
            if name in chain:
                continue
            entry = self._library.tools.entry(name)
            if entry is None or entry.state != "enabled":
                reasons.append(f"calls {name}, which does not exist")
            elif not entry.approved:
                reasons.append(f"calls {name}, which waits for a person's approval")
            elif self._missing(entry.manifest) or self._uncallable_tools(entry.manifest, (*chain, name)):
                reasons.append(f"calls {name}, which cannot run here")
        return reasons
