"""Check of requested packages against the package index, with the reason why one may not be used."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress

import anyio
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from alita_mcp.errors import AlitaError
from alita_mcp.research.index.look_alikes import slip_of
from alita_mcp.research.index.well_known_names import WELL_KNOWN
from alita_mcp.research.interface import WebAgent
from alita_mcp.values import Check, PackageFacts
from alita_mcp.verification.findings import fail_check
from alita_mcp.verification.static.imports import DISTRIBUTIONS

PATIENCE_S = 10.0
"""How long the index may take for all packages of a draft; then they are taken as they are."""
FRESH_S = 60.0
"""How long what the index said, or did not say, counts: every candidate of a synthesis asks."""
AT_ONCE = 4
_BY_LOWER_CASE = {module.lower(): package for module, package in DISTRIBUTIONS.items()}
_NAMESPACES = {"google", "ruamel"}
"""Packages of these may be written with a dot, as in `ruamel.yaml`."""
_PINNED = re.compile(r"===?\s*[^\s,*]+\s*")


class PackageCheck:
    """Asks the index about packages; without an index nothing is known and all may be used."""

    def __init__(self, index: WebAgent | None) -> None:
        self._index = index
        self._known: dict[str, tuple[float, PackageFacts | None]] = {}
        """When it was asked for, and what the index said; None: nothing."""

    async def failure(self, packages: Sequence[str], *, pinned_are_meant: bool = False) -> Check | None:
        """Failed check of the first package that may not be used: it does not exist, or could be taken for another.

        Where `pinned_are_meant`, one with an exact version is what its author wants, whatever it looks like.
        """
        # a package that does not exist fails even where its version is pinned
        meant = {name_of(text) for text in packages if pinned_are_meant and is_pinned(text)}
        found = await self._facts(packages)
        problems = (problem_of(fact) for fact in found if fact.name not in meant or not fact.exists)
        # where the index says nothing, only what nobody can have meant is refused
        known = {fact.name for fact in found}
        silent = [text for text in packages if name_of(text) not in known and name_of(text) not in meant]
        return next(filter(None, problems), None) or (find_slip(silent) if silent else None)

    async def _facts(self, packages: Sequence[str]) -> list[PackageFacts]:
        """Facts of the index on each package of which it says something in time."""
        index = self._index
        names = [name for name in dict.fromkeys(map(name_of, packages)) if name]
        if index is None or not names:
            return []
        now = anyio.current_time()
        self._known = {name: known for name, known in self._known.items() if now - known[0] < FRESH_S}
        missing = [name for name in names if name not in self._known]
        self._known |= dict.fromkeys(missing, (now, None))
        limiter = anyio.CapacityLimiter(AT_ONCE)

        async def look_up(name: str) -> None:
            async with limiter:
                with suppress(AlitaError):
                    self._known[name] = now, await index.package(name)

        with anyio.move_on_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                for name in missing:
                    tasks.start_soon(look_up, name)
        answers = (self._known[name][1] for name in names)
        return [each for each in answers if each is not None]


def problem_of(facts: PackageFacts) -> Check | None:
    """The failed check of a package that may not be used at all; mere concerns are none."""
    instead = (
        f"Did you mean {facts.looks_like!r}? Use that" if facts.looks_like else "Use a package that exists"
    )
    if not facts.exists:
        message = f"package {facts.name[:100]!r} is not in the package index"
        return fail_check("environment", message, f"{instead}, or the standard library.")
    if facts.looks_like:
        message = f"package {facts.name!r} may be a mistyped {facts.looks_like!r}, which is well known"
        fix = f"{instead}, or the standard library; if you mean this one, pin its version with `==`."
        return fail_check("environment", message, fix)
    return None


def find_module(packages: Sequence[str]) -> Check | None:
    """The failed check of the first package that is the name of a module."""
    for text in packages:
        with suppress(InvalidRequirement):
            requirement = Requirement(text)
            name = requirement.name
            if name.partition(".")[0] in sys.stdlib_module_names:
                return fail_check(
                    "environment", f"{name!r} is part of Python, not a package", "Leave it out."
                )
            if package := package_of_module(name):
                message = f"{name!r} is the name of a module, not of its package"
                instead = f"{package}{requirement.specifier}"
                return fail_check("environment", message, f"Send {instead!r} instead.")
    return None


def find_slip(packages: Sequence[str]) -> Check | None:
    """The failed check of the first package that is almost certainly mistyped, without asking the index."""
    names = ((name, slip_of(name)) for name in map(name_of, packages))
    facts = (PackageFacts(name=name, exists=True, looks_like=known) for name, known in names if known)
    return next(map(problem_of, facts), None)


def package_of_module(name: str) -> str:
    """The package of a module that is called otherwise, as `PIL` and `numpy.linalg` are; else empty."""
    module, is_inner, _ = name.partition(".")
    package = _BY_LOWER_CASE.get(module.lower()) or (module if is_inner and module in WELL_KNOWN else "")
    is_namespace = is_inner and module.lower() in _NAMESPACES
    return "" if is_namespace or canonicalize_name(package) == canonicalize_name(name) else package


def name_of(package: str) -> str:
    """The normalised name in a requirement; empty where it is none, which the gates tell its author."""
    try:
        return str(canonicalize_name(Requirement(package).name))
    except InvalidRequirement:
        return ""


def is_pinned(package: str) -> bool:
    """Whether a requirement names one exact version."""
    try:
        return _PINNED.fullmatch(str(Requirement(package).specifier)) is not None
    except InvalidRequirement:
        return False
