"""Metadata of installed wheels: their native modules and the modules to import first.

All of it is a stranger's text: what cannot be read says nothing.
"""

from __future__ import annotations

import csv
import re
from email.parser import Parser
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_NATIVE = re.compile(r"(?P<module>[^/.]+)(?:\.[^/]*)?\.(?:so|pyd)$")
_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")
_NAME = "[A-Za-z][A-Za-z0-9_]*"
_MODULE = re.compile(rf"(?P<top>{_NAME})(?:/(?P<name>{_NAME}))?(?:/__init__)?\.(?:py|[^/]*so|[^/]*pyd)")


class Wheel(NamedTuple):
    """One installed wheel."""

    name: str
    file: str
    """Its name in the index, as far as it can be told."""
    requires: frozenset[str]
    paths: tuple[str, ...]


def native_modules(files: dict[str, bytes]) -> dict[str, str]:
    """Modules that exist as native code only, each with the name of its wheel."""
    owners = {path: wheel.file for wheel in _wheels(files) for path in wheel.paths}
    found: dict[str, str] = {}
    for path in files:
        match = _NATIVE.search(path)
        if match is None:
            continue
        stem = path[: match.start()] + match["module"]
        if f"{stem}.py" not in files and f"{stem}/__init__.py" not in files:
            found[stem.replace("/", ".")] = owners.get(path, path)
    return found


def root_modules(files: dict[str, bytes]) -> dict[str, list[str]]:
    """Public top-level modules of wheels that no other wheel requires, with those directly below each."""
    wheels = _wheels(files)
    wanted = {name for wheel in wheels for name in wheel.requires if name != wheel.name}
    roots = [wheel for wheel in wheels if wheel.name not in wanted] or wheels
    names: dict[str, set[str]] = {}
    for wheel in roots:
        for path in wheel.paths:
            if path in files and (match := _MODULE.fullmatch(path)):
                below = names.setdefault(match["top"], set())
                below |= {f"{match['top']}.{match['name']}"} if match["name"] else set()
    return {top: sorted(below) for top, below in sorted(names.items())}


def _wheels(files: dict[str, bytes]) -> list[Wheel]:
    return [_wheel(path.rpartition("/")[0], files) for path in files if _RECORD.fullmatch(path)]


def _wheel(folder: str, files: dict[str, bytes]) -> Wheel:
    def text(name: str) -> str:
        return files.get(f"{folder}/{name}", b"").decode("utf-8", "replace")

    metadata = Parser().parsestr(text("METADATA"), headersonly=True)
    tags = [line.partition(":")[2].strip() for line in text("WHEEL").splitlines() if line.startswith("Tag:")]
    try:
        paths = tuple(row[0] for row in csv.reader(text("RECORD").splitlines()) if row)
    except csv.Error:
        paths = ()
    requires = {_required(line) for line in metadata.get_all("Requires-Dist", [])} - {""}
    stem = folder.removesuffix(".dist-info")
    # as a file's name has them: those of one Python and ABI together
    first = tags[0].rpartition("-")[0] if tags else "?"
    platforms = [tag.rpartition("-")[2] for tag in tags if tag.rpartition("-")[0] == first]
    file = f"{stem}-{first}-{'.'.join(dict.fromkeys(platforms))}.whl"
    return Wheel(canonicalize_name(str(metadata.get("Name", stem))), file, frozenset(requires), paths)


def _required(line: str) -> str:
    """The name of an unconditional requirement, or of one under a condition that is no extra."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return ""
    if requirement.marker is not None and "extra" in str(requirement.marker):
        return ""
    return canonicalize_name(requirement.name)
