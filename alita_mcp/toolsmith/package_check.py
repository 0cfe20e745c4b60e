"""Checks of the names of requested packages: modules in their place, and mistyped well-known packages."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from alita_mcp.research.index.look_alikes import slip_of
from alita_mcp.research.index.well_known_names import WELL_KNOWN
from alita_mcp.values import Check
from alita_mcp.verification.findings import fail_check
from alita_mcp.verification.static.imports import DISTRIBUTIONS

_BY_LOWER_CASE = {module.lower(): package for module, package in DISTRIBUTIONS.items()}
_NAMESPACES = {"google", "ruamel"}
"""Packages of these may be written with a dot, as in `ruamel.yaml`."""
_PINNED = re.compile(r"===?\s*[^\s,*]+\s*")


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


def find_slip(packages: Sequence[str], *, pinned_are_meant: bool = False) -> Check | None:
    """The failed check of the first package that is almost certainly a mistyped well-known one.

    Where `pinned_are_meant`, one with an exact version is what its author wants, whatever it looks like.
    """
    for text in packages:
        name = name_of(text)
        if (known := slip_of(name)) and not (pinned_are_meant and is_pinned(text)):
            message = f"package {name!r} may be a mistyped {known!r}, which is well known"
            instead = f"Did you mean {known!r}? Use that, or the standard library"
            return fail_check(
                "environment", message, f"{instead}; if you mean this one, pin its version with `==`."
            )
    return None


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
