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
_ABSENT = re.compile(r"(\S+) was not found in the package registry")
_NO_WHEEL = re.compile(r"([A-Za-z0-9._-]+)(?:\S*) has no (?:usable wheels|wheels with a matching)")
_PYTHON = re.compile(r"(\S+) (?:requires|depends on) Python ?([<>=!~][^\s,]*)")
_BECAUSE = re.compile(r"Because (.*?)(?:, we can conclude|$)", re.DOTALL)
_INVALID = re.compile(r"(\S+) has an invalid package format|The structure of `([^`\n]+)`")
_STRUCTURE = re.compile(r"The structure of `[^`\n]+` \([^)\n]*\) was invalid:\s*(.+)")
_OTHER_VERSIONS = "Take other versions, or leave out one of them."
_WHEELS = "Take a package that has a wheel for the sandbox's Python, or the standard library."
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
    is_broken_file = "Failed to extract" in told or "Failed to read metadata" in told
    if _NETWORK.search(told) and (_CUT_SHORT.search(told) or not is_broken_file):
        causes = [line.partition("cause: ")[2] for line in told.splitlines() if "cause: " in line]
        found = _HTTP.search(told)
        reason = (found[1] or found[2]) if found else (causes[-1] if causes else told.splitlines()[0])
        return SandboxError(
            f"The package index could not be reached: {reason[:300].rstrip('. ')}.", hint=_INDEX
        )
    # 3. packages that do not go together, or with this Python
    if failure := _unsolvable(told, asked):
        return failure
    # 4. all else: its first and its last cause
    causes = [
        note.partition(": ")[2]
        for note in told.splitlines()
        if note.lstrip().startswith(("error: ", "cause: "))
    ]
    reason = ": ".join(causes[:1] + causes[-1:] if len(causes) > 1 else causes) or "uv gave no reason"
    return PackagesRejected(f"{asked} could not be installed: {reason[:300].rstrip('. ')}.", hint=_WHEELS)


def _unsolvable(told: str, asked: str) -> AlitaError | None:
    if found := _STRUCTURE.search(told):
        name = _INVALID.search(told)
        what = (name[1] or name[2]) if name else asked
        return PackagesRejected(
            f"{what} is not a valid wheel: {found[1].strip().rstrip('.')[:200]}.", hint=_WHEELS
        )
    because = _BECAUSE.search(told)
    if because is None:
        return None
    if found := _ABSENT.search(told):
        what = f"{found[1]!r}{_dependent_of(found[1], told)}"
        return PackagesRejected(f"{what} does not exist in the package index.", hint="Check its name.")
    if found := _NO_WHEEL.search(told):
        what = f"{found[1]!r}{_dependent_of(found[1], told)}"
        return PackagesRejected(f"{what} has no wheel for the sandbox's Python.", hint=_WHEELS)
    reason = " ".join(because[1].split())
    if found := re.fullmatch(
        r"(?:only .+ (?:is|are) available|there (?:is|are) no versions? of .+) and you require (\S+)", reason
    ):
        return PackagesRejected(
            f"{found[1]!r} matches no version in the index: {reason}.", hint=_OTHER_VERSIONS
        )
    if found := _PYTHON.search(reason):
        return PackagesRejected(
            f"{found[1]} needs Python {found[2]}, which is not the sandbox's: {reason[:300]}.",
            hint=_OTHER_VERSIONS,
        )
    return PackagesRejected(f"{asked} conflict: {reason[:500]}.", hint=_OTHER_VERSIONS)


def _dependent_of(name: str, told: str) -> str:
    """Which package asks for it, where that is not the person."""
    found = re.search(rf"(?<!\S)(\S+?)(?:==\S+)? depends? on {re.escape(name)}(?![A-Za-z0-9_-])", told)
    return f", which {found[1]} needs," if found else ""
