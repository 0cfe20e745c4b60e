"""Whether a version can run in this process, and why not."""

from __future__ import annotations

from collections.abc import Callable

from alita_mcp.app.version_verifier import VersionVerifier
from alita_mcp.errors import ToolUnavailable
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
        reasons = [*self._lacks(manifest.grants), *self._uncallable_tools(manifest, (manifest.name,))]
        return "; ".join(reasons) or self._verifier.known_failure(manifest)

    def check(self, manifest: Manifest) -> None:
        """Refuses a call that could only fail.

        Raises:
            ToolUnavailable: the settings do not give what the version needs.
        """
        missing = "; ".join(self._lacks(manifest.grants))
        if missing:
            raise ToolUnavailable(
                f"{manifest.name} cannot run here: it {missing}.",
                hint="A person can change that. Until then use another tool, or make one that does without.",
            )

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
            elif self._lacks(entry.manifest.grants) or self._uncallable_tools(entry.manifest, (*chain, name)):
                reasons.append(f"calls {name}, which cannot run here")
        return reasons
