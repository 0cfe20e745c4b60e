"""Errors for names of tools that cannot be called, with the nearest names and the way back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from alita_mcp.errors import ToolNotFound, ToolUnavailable, UsageError
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.versions.files import quarantine_error

NEAREST = 3
NEAR_FROM = 0.6
"""How much of two names must be alike, of 1, for one to be offered in the place of the other."""


def nearest_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """At most three known names near to `name` by their letters, in whatever order their words stand."""
    said, names = name[:64].lower(), list(known)
    by_words = {sort_words(other): other for other in names}
    near = get_close_matches(said, names, NEAREST, NEAR_FROM)
    near += (by_words[words] for words in get_close_matches(sort_words(said), by_words, NEAREST, NEAR_FROM))
    return tuple(dict.fromkeys(near))[:NEAREST]


def sort_words(name: str) -> str:
    """The words of a name in the order of the alphabet."""
    return "_".join(sorted(filter(None, name.split("_"))))


def not_found_error(name: str, known: Sequence[str]) -> ToolNotFound:
    """The error for a name that no tool has."""
    nearest = nearest_names(name, known)
    hint = "A search finds tools by what they do." if known else "There are no tools yet."
    if nearest:
        hint = f"Did you mean {', '.join(nearest)}?"
    return ToolNotFound(f"There is no tool {name[:64]!r}.", hint=hint, nearest=nearest)


def deletion_error(name: str) -> ToolUnavailable:
    """The error for a tool with a tombstone."""
    return ToolUnavailable(f"{name} was deleted.", hint=_brings_back(name))


def not_as_seen_error(name: str) -> ToolUnavailable:
    """The error for an approval of what stands otherwise by now."""
    return ToolUnavailable(
        f"{name} is not as it was a moment ago; nothing was approved.", hint="Look at it again."
    )


def not_current_error(name: str, version: int, current: int) -> ToolUnavailable:
    """The error for a version that was given grants and is not the current one any more."""
    return ToolUnavailable(
        f"{name} v{version} asks for grants, which only the current version holds: v{current}.",
        hint=f"Leave out the version; a person can make it current with `alita tool rollback {name} {version}`.",
    )


def _brings_back(name: str) -> str:
    return f"A person can bring it back: `alita tool enable {name}`."


def not_callable(entry: CatalogueEntry) -> ToolUnavailable:
    """The error for a disabled or quarantined tool; the hint says how it comes back."""
    if entry.state == "disabled":
        return ToolUnavailable(f"{entry.name} is disabled.", hint=_brings_back(entry.name))
    return quarantine_error(entry.name, entry.manifest.version, "a file differs from what was verified")


def find_version(entry: CatalogueEntry, version: int | None) -> int:
    """The version that is meant, the current one when none is named.

    Raises:
        ToolNotFound: the tool has no such version.
    """
    number = entry.manifest.version if version is None else version
    if number not in entry.versions:
        there = ", ".join(f"v{known}" for known in entry.versions)
        raise ToolNotFound(f"There is no {entry.name} v{number}.", hint=f"There is {there}.")
    return number


def version_before(entry: CatalogueEntry) -> int:
    """The newest version that is older than the current one.

    Raises:
        UsageError: there is none.
    """
    current = entry.manifest.version
    older = [known for known in entry.versions if known < current]
    if not older:
        raise UsageError(f"{entry.name} v{current} has none before it.", hint="Name the version to use.")
    return max(older)
