"""Translation of uv's error output into errors of this package."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alita_mcp.errors import AlitaError, PackagesRejected, SandboxError

_NETWORK = re.compile(
    r"Failed to fetch|Request failed|error sending request|error decoding response|Failed to download"
)
_CUT_SHORT = re.compile(
    r"connection closed|unexpected end|end of file|body from connection|timed out|operation timed",
    re.IGNORECASE,
)
_HTTP = re.compile(
    r"HTTP status (?:client|server) error \(([^)\n]*)\)|(operation timed out|dns error|tunnel[^.:]*)"
)
_CAUSE = re.compile(r"\s*(?:error|cause): ")
_BECAUSE = re.compile(r"Because (.*?)(?:, we can conclude|$)", re.DOTALL)
_OTHERS = "Check the names, or take other versions, or packages that have a wheel for the sandbox's Python."
_INDEX = "See ALITA_PACKAGE_INDEX and SSL_CERT_FILE."
_ROOM = "{asked} take more room than an environment may have"
_KNOWN: tuple[tuple[str, type[AlitaError], str, str], ...] = (
    (r"uv cannot be started: (.*)", SandboxError, "uv does not start in the sandbox: {0}.", ""),
    (r"(\d+ files are more than \d+)", PackagesRejected, f"{_ROOM}: {{0}}.", "Use smaller packages."),
    (
        r"No space left on device|No space left for its result|os error 28|File too large|os error 27",
        PackagesRejected, f"{_ROOM}.", "Use smaller packages.",
    ),
    (
        r"^unsafe: (.*)",
        PackagesRejected, "{asked} could not be installed: a wheel holds {0!r}, which leads out of it.", "",
    ),
    (
        r"Hash mismatch for `?([^`:\s]+)",
        PackagesRejected, "The file that the index gives for {0} does not have the hash of the lock.",
        "Somebody replaced it, or the index is not the one that the lock was made with.",
    ),
    (
        r"returned a (40[13]\b[^.]*) error",
        SandboxError, "The package index could not be reached: it answered {0}.", _INDEX,
    ),
)  # fmt: skip
"""Complaints, and what each of them means; the first one that is found counts."""


def failure_of(notes: Sequence[str], packages: Sequence[str]) -> AlitaError:
    """PackagesRejected when the packages are at fault, SandboxError when the index or the sandbox is."""
    told = re.sub(r"[a-z]+://[^\s)]+", "…", "\n".join(notes))  # URLs may carry the index's password
    asked = ", ".join(packages)[:200]
    # 1. one complaint tells it all
    for pattern, error, message, hint in _KNOWN:
        if found := re.search(pattern, told, re.MULTILINE):
            return error(message.format(*found.groups(), asked=asked), hint=hint)
    # 2. no answer from the index; a download that came through whole, of a file that is none, is no such case
    causes = [line.strip().partition(": ")[2] for line in told.splitlines() if _CAUSE.match(line)]
    is_broken_file = "Failed to extract" in told or "Failed to read metadata" in told
    if _NETWORK.search(told) and (_CUT_SHORT.search(told) or not is_broken_file):
        found = _HTTP.search(told)
        reason = (found[1] or found[2]) if found else (causes or [told.partition("\n")[0]])[-1]
        return SandboxError(
            f"The package index could not be reached: {reason[:300].rstrip('. ')}.", hint=_INDEX
        )
    # 3. packages that do not exist, do not go together or not with this Python: uv's own reason
    if because := _BECAUSE.search(told):
        reason = " ".join(because[1].split())
        return PackagesRejected(f"{asked} cannot be resolved: {reason[:500]}.", hint=_OTHERS)
    # 4. all else: its first and its last cause
    reason = ": ".join(dict.fromkeys(causes[:1] + causes[-1:])) or "uv gave no reason"
    return PackagesRejected(f"{asked} could not be installed: {reason[:300].rstrip('. ')}.", hint=_OTHERS)
