"""Why pip failed: the telling lines of its log in, the error to raise out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alita_mcp.errors import AlitaError, PackagesRejected, SandboxError

_FETCH = re.compile(r"Could not fetch URL (\S+?):? (.*) - skipping")
_ABSENT = re.compile(r"\b(404|410) Client Error\b")
_NO_MATCH = re.compile(r"No matching distribution found for (.+)")
_SOURCES_ONLY = re.compile(r"No sources permitted for ([A-Za-z0-9._-]+)")
_OTHER_TAGS = re.compile(r"none of the wheel's tags")
_CONFLICT = re.compile(r"ERROR: Cannot install (.+)|ResolutionImpossible")
_CAUSE = re.compile(r"^(The user requested .+|.+ depends on .+)$")
_HASHES = re.compile(r"DO NOT MATCH THE HASHES|hash.*mismatch", re.IGNORECASE)
_NETWORK = re.compile(
    r"Tunnel connection failed|Cannot connect to proxy|Max retries exceeded|Failed to establish"
    r"|Connection (?:to|reset|broken)|Connection error|Connection aborted|Could not connect|Read timed out|timed out\."
    r"|HTTP error [45]\d\d|[45]\d\d (?:Client|Server) Error|SSLError|certificate"
)
_SPACE = re.compile(r"No space left on device|Errno 28")
_OTHER_VERSIONS = "Take other versions, or leave out one of them."
_WHEELS = "Take a package that has a wheel for the sandbox's Python, or the standard library."


def failure_of(notes: Sequence[str], packages: Sequence[str]) -> AlitaError:
    """PackagesRejected when the packages are at fault, SandboxError when the index could not be reached."""
    told = "\n".join(notes)
    asked = ", ".join(packages)[:200]
    if unreachable := _unreachable(notes):
        return SandboxError(
            f"The package index could not be reached: {unreachable}.",
            hint="See ALITA_PACKAGE_INDEX and ALITA_PACKAGE_INDEX_CA.",
        )
    if _SPACE.search(told):
        return PackagesRejected(
            f"{asked} take more room than an environment may have.", hint="Use smaller packages."
        )
    if _HASHES.search(told):
        return PackagesRejected(
            f"A file that the index gives for {asked} does not have the hash of the lock.",
            hint="Somebody replaced it, or the index is not the one that the lock was made with.",
        )
    if found := _CONFLICT.search(told):
        causes = [note for note in notes if _CAUSE.match(note)][:6]
        what = (found[1] or asked).removesuffix(
            " because these package versions have conflicting dependencies."
        )
        why = f": {'; '.join(causes)}" if causes else ""
        return PackagesRejected(f"{what} conflict{why}.", hint=_OTHER_VERSIONS)
    if found := _NO_MATCH.search(told):
        return _no_match(found[1].strip(), told)
    last = next((note for note in reversed(notes) if note.startswith("ERROR: ")), "pip gave no reason")
    reason = last.removeprefix("ERROR: ").rstrip(".")
    return PackagesRejected(f"{asked} could not be installed: {reason}.", hint=_WHEELS)


def _no_match(requirement: str, told: str) -> PackagesRejected:
    requirement, _, origin = requirement.partition(" (from ")
    what = f"{requirement!r}, which {origin.removesuffix(')')} needs," if origin else repr(requirement)
    sources = {name.lower() for name in _SOURCES_ONLY.findall(told)}
    name = re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")
    if "from versions: none" not in told:
        return PackagesRejected(f"{what} matches no version that the index has.", hint=_OTHER_VERSIONS)
    if name in sources or _OTHER_TAGS.search(told):
        return PackagesRejected(f"{what} has no wheel for the sandbox's Python.", hint=_WHEELS)
    return PackagesRejected(f"{what} does not exist in the package index.", hint="Check its name.")


def _unreachable(notes: Sequence[str]) -> str:
    """The first failure to fetch that is not simply an absent page."""
    for note in notes:
        found = _FETCH.search(note)
        if found and not _ABSENT.search(found[2]):
            return _without_url(found[2])
    failed = next((note for note in notes if note.startswith("ERROR: ") and _NETWORK.search(note)), "")
    return _without_url(failed.removeprefix("ERROR: "))


def _without_url(text: str) -> str:
    """Cut to what tells; URLs may carry the index's password."""
    text = text.rpartition("(Caused by ")[2].removesuffix(")")
    return re.sub(r"[a-z]+://\S+", "…", text)[:300].rstrip(". ")
