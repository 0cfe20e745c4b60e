"""Compatibility of wheels with a sandbox's Python, by their tags."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from math import prod

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
_GLIBC = 36
"""Minor version that is assumed: that of Debian 12; hardly any wheel wants a newer one."""
_OLD_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
_MOST_TAGS = 200
"""Of one wheel: `a.b-c.d-e.f` stands for eight, and a hostile name for a hundred thousand."""
_PYTHON_TAG = re.compile(r"cp3(\d{1,2})-(?:linux_(\w+?)(_musl)?|wasi_wasm32)")


def pure_tags(python: tuple[int, int]) -> frozenset[Tag]:
    """Tags of wheels without native code, the only ones that the embedded sandbox accepts."""
    found = compatible_tags(python, f"cp{python[0]}{python[1]}", ["any"])
    return frozenset(tag for tag in found if tag.platform == "any")


def linux_tags(python: tuple[int, int], machine: str = "", *, musl: bool = False) -> frozenset[Tag]:
    """Tags that a CPython on Linux accepts; `machine` unset: that of this machine and its containers."""
    here = (machine or platform.machine()).lower()
    cpu = _MACHINES.get(here, here)
    if musl:
        platforms = [f"musllinux_1_{minor}_{cpu}" for minor in (2, 1)]
    else:
        platforms = [f"manylinux_2_{minor}_{cpu}" for minor in range(_GLIBC, 4, -1)]
        platforms += [f"{name}_{cpu}" for name in _OLD_NAMES.values()]
    platforms.append(f"linux_{cpu}")
    found = {*cpython_tags(python, platforms=platforms)}
    return frozenset(found | {*compatible_tags(python, f"cp{python[0]}{python[1]}", platforms)})


def tags_of(python_tag: str) -> tuple[tuple[int, int], frozenset[Tag]]:
    """The version and the tags of a sandbox's Python, as `cp313-linux_x86_64`, `…_musl` or `cp313-wasi_wasm32`.

    Raises:
        ValueError: it is another kind of tag.
    """
    found = _PYTHON_TAG.fullmatch(python_tag)
    if found is None:
        raise ValueError(f"{python_tag!r} is no tag of a sandbox's Python")
    python = (3, int(found[1]))
    return python, linux_tags(python, found[2], musl=bool(found[3])) if found[2] else pure_tags(python)


def fits(filename: str, requires_python: str, python: tuple[int, int], tags: frozenset[Tag]) -> bool:
    """Whether a file is a wheel for a Python with those tags."""
    if prod(part.count(".") + 1 for part in filename.split("-")[-3:]) > _MOST_TAGS:
        return False
    try:
        _, _, _, its_tags = parse_wheel_filename(filename)
        wanted = SpecifierSet(requires_python)
    except (InvalidWheelFilename, InvalidSpecifier, ValueError):
        return False
    return not tags.isdisjoint(its_tags) and wanted.contains(f"{python[0]}.{python[1]}.99")


def in_words(filenames: Iterable[str]) -> str:
    """The wheels of a release, described for a reader."""
    split = [name.removesuffix(".whl").rsplit("-", 3) for name in filenames if name.endswith(".whl")]
    wheels = [parts[1:] for parts in split if len(parts) == 4]
    if any(parts[1:] == ["none", "any"] for parts in wheels):
        return "pure-Python wheel"
    systems = {"manylinux": "Linux", "musllinux": "musl Linux", "macosx": "macOS", "win": "Windows"}
    names = [parts[-1] for parts in wheels]
    found = [shown for start, shown in systems.items() if any(name.startswith(start) for name in names)]
    return f"wheels for {', '.join(found)}" if found else "no wheels for Linux, macOS or Windows"
