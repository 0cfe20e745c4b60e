"""Results of look-ups: sources with the time at which they were read, and facts of a package index."""

from __future__ import annotations

from alita_mcp.values.value import Value


class Source(Value):
    """Where something was read."""

    url: str
    title: str = ""
    retrieved_at: str = ""


class PackageFacts(Value):
    """Facts of a package index about a package, and problems with its use here."""

    name: str
    exists: bool
    version: str = ""
    """The newest release that is no pre-release."""
    released_at: str = ""
    """ISO 8601 date of that release."""
    licence: str = ""
    summary: str = ""
    has_wheel: bool = False
    """Whether that release has a wheel for the sandbox's Python."""
    is_yanked: bool = False
    looks_like: str = ""
    """A well-known package that this name could be taken for; empty where there is none."""
    problems: tuple[str, ...] = ()
    """Reasons against it, each one line; empty where there are none."""
    url: str = ""


class LookedUp(Value):
    """Look-ups made before a version was written."""

    sources: tuple[Source, ...] = ()
    """Pages whose passages its writers were shown."""
    packages: tuple[PackageFacts, ...] = ()
    """As the index had them then: those of the version, and those that were advised against."""
    notes: tuple[str, ...] = ()
    """What could not be looked up, and why."""
