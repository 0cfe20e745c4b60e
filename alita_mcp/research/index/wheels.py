"""Compatibility of wheels with a sandbox's Python, by their tags."""

from __future__ import annotations

import platform
import re
from math import prod

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_GLIBC = 36
"""Assumed minor version: that of Debian 12; hardly any wheel needs a newer one."""
_MAX_TAGS = 200
"""Of one wheel: `a.b-c.d-e.f` stands for eight, and a hostile name for a hundred thousand."""
_PYTHON_TAG = re.compile(r"cp3(\d{1,2})-(?:linux_(\w+?)(_musl)?|wasi_wasm32)")
_DEFAULT_TAG = f"cp313-linux_{platform.machine()}"


def parse_python_tag(python_tag: str) -> tuple[tuple[int, int], frozenset[Tag]]:
    """Version and wheel tags of a sandbox's Python, as in `cp313-linux_x86_64`, `…_musl` or `cp313-wasi_wasm32`.

    Another tag counts as Python 3.13 on Linux here.
    """
    match = _PYTHON_TAG.fullmatch(python_tag) or _PYTHON_TAG.fullmatch(_DEFAULT_TAG)
    minor, machine, musl = match.groups() if match is not None else ("13", None, None)
    python = (3, int(minor))
    # Three cases: glibc and musl take native wheels of the machine; the embedded sandbox takes none.
    if machine is None:
        platforms = ["any"]
    else:
        cpu = _MACHINES.get(machine.lower(), machine.lower())
        manylinux = [f"manylinux_2_{number}_{cpu}" for number in range(_GLIBC, 4, -1)]
        manylinux += [f"manylinux{year}_{cpu}" for year in ("2014", "2010", "1")]
        musllinux = [f"musllinux_1_{number}_{cpu}" for number in (2, 1)]
        platforms = [*(musllinux if musl else manylinux), f"linux_{cpu}"]
    tags = {*compatible_tags(python, f"cp{python[0]}{python[1]}", platforms)}
    if machine is not None:
        tags |= {*cpython_tags(python, platforms=platforms)}
    return python, frozenset(tags)


def is_compatible(filename: str, requires_python: str, python: tuple[int, int], tags: frozenset[Tag]) -> bool:
    """Whether a file is a wheel for a Python with those tags."""
    if prod(part.count(".") + 1 for part in filename.split("-")[-3:]) > _MAX_TAGS:
        return False
    try:
        _, _, _, wheel_tags = parse_wheel_filename(filename)
        wanted = SpecifierSet(requires_python)
    except (InvalidWheelFilename, InvalidSpecifier, ValueError):
        return False
    return not tags.isdisjoint(wheel_tags) and wanted.contains(f"{python[0]}.{python[1]}.99")
