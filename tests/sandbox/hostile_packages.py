"""Packages that attack whoever installs or imports them; each says what must come of it. All are made by hand."""

from __future__ import annotations

import importlib.util
import io
import marshal
import sys
import zipfile
from collections.abc import Callable
from typing import NamedTuple

from tests.sandbox.package_index import Index, sdist, wheel

RUNS = "import sys; sys.modules['hostile_code_ran'] = sys\n"
BOMB_BYTES = (1 << 30) + (64 << 20)
"""More than the builder's scratch holds, in a file of a few megabytes."""
TOO_MANY = 45_000
"""More files than an environment may have."""
LOOK = """
import sys

def look():
    import json, os, socket
    found = []
    for folder, _, files in os.walk("/opt/alita-packages"):
        found += [os.path.relpath(os.path.join(folder, name), "/opt/alita-packages") for name in files]
    ours = ("__pycache__", ".dist-info")
    links = [name for name in found if os.path.islink("/opt/alita-packages/" + name)]
    if "stale.py" in found:
        import stale
    ran = [name for name in ("hostile_code_ran", "sitecustomize", "usercustomize") if name in sys.modules]
    shadowed = [module.__file__ for module in (json, os, socket) if "alita-packages" in module.__file__]
    return {"ran": ran, "shadowed": shadowed, "links": links, "python": sys.executable,
            "files": sorted(name for name in found if not any(part in name for part in ours))}
"""
"""A tool that tells what of its packages ran, and what of them is there."""


class HostilePackage(NamedTuple):
    """One attack, what offers it and how it must end."""

    name: str
    offer: Callable[[Index], None]
    package: str
    rejected: str = ""
    """The words of the rejection; empty: it is installed, and does no harm."""
    files: tuple[str, ...] = ()
    """What may be there of it in the end."""


def _wheel(
    name: str, files: dict[str, str | bytes], links: dict[str, str] | None = None
) -> Callable[[Index], None]:
    def offer(index: Index) -> None:
        index.add(*wheel(name, "1", files, links=links))

    return offer


def _source(index: Index) -> None:
    index.add(*sdist("only_source", "1", "raise SystemExit('set-up ran')\n" + RUNS))


def _source_of_a_dependency(index: Index) -> None:
    index.add(*wheel("leads_on", "1", {"leads_on.py": ""}, requires=("only-source>=0.5",)))
    _source(index)


def _newer_source(index: Index) -> None:
    """Sources of a higher version beside an honest wheel: the version must not draw anybody to the sources."""
    index.add(*wheel("drawn", "1", {"drawn.py": "x = 1\n"}))
    index.add(*sdist("drawn", "2", "raise SystemExit('set-up ran')\n"))


def _bomb(index: Index) -> None:
    name, content = wheel("bomb", "1", {"bomb.py": ""})
    buffer = io.BytesIO(content)
    with (
        zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("zeros", "w", force_zip64=True) as member,
    ):
        for _ in range(BOMB_BYTES >> 20):
            member.write(bytes(1 << 20))
    index.add(name, buffer.getvalue())


def _crowd(index: Index) -> None:
    index.add(*wheel("crowd", "1", {f"crowd/f{number}": "" for number in range(TOO_MANY)}))


def _other_name(index: Index) -> None:
    index.add("outside-1-py3-none-any.whl", wheel("inside", "1", {"inside.py": RUNS})[1])


def _other_version(index: Index) -> None:
    index.add("old-2-py3-none-any.whl", wheel("old", "1", {"old.py": RUNS})[1])


def _lying_record(index: Index) -> None:
    name, content = wheel("record", "1", {"record.py": "x = 1\n"})
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as honest, zipfile.ZipFile(buffer, "w") as lying:
        for member in honest.namelist():
            data = honest.read(member)
            lying.writestr(member, data + b"../../../etc/cron.d/x,,\n" if member.endswith("RECORD") else data)
    index.add(name, buffer.getvalue())


def _two_of_a_name(index: Index) -> None:
    """Two members of one name: whoever checks the first must not install the second."""
    name, content = wheel("twice", "1", {"twice.py": "x = 1\n"})
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("twice_more.py", RUNS)
    first, second = b"twice_more.py", b"twice.py\0\0\0\0\0"
    index.add(name, buffer.getvalue().replace(first, second))


def _stale(index: Index) -> None:
    """A compiled module with another content than its source, which no check of times finds."""
    code = marshal.dumps(compile(RUNS, "stale.py", "exec"))
    unchecked = (1).to_bytes(4, "little") + bytes(8)
    tag = sys.implementation.cache_tag
    members: dict[str, str | bytes] = {
        "stale.py": "x = 1\n", f"__pycache__/stale.{tag}.pyc": importlib.util.MAGIC_NUMBER + unchecked + code
    }  # fmt: skip
    index.add(*wheel("stale", "1", members))


def _no_zip(index: Index) -> None:
    index.add("nozip-1-py3-none-any.whl", b"no zip")


_HOOKS: dict[str, str | bytes] = {
    "hooks.py": "x = 1\n", "hooks.pth": RUNS, "sitecustomize.py": RUNS, "usercustomize.py": RUNS,
    "distutils-precedence.pth": RUNS,
}  # fmt: skip
_SHADOWS: dict[str, str | bytes] = dict.fromkeys(
    ("json.py", "os.py", "socket/__init__.py", "encodings/__init__.py", "alita_mcp/__init__.py"),
    f"{RUNS}raise SystemExit('the shadow ran')\n",
)
ROOM = "more room than an environment may have"

HOSTILE_PACKAGES = (
    HostilePackage("sources whose set-up runs code", _source, "only-source", "has no usable wheels"),
    HostilePackage(
        "sources of a dependency", _source_of_a_dependency, "leads-on",
        "has no usable wheels",
    ),
    HostilePackage("sources of a higher version", _newer_source, "drawn", files=("drawn.py",)),
    HostilePackage(
        "a member that climbs out", _wheel("climbs", {"climbs.py": "", "../../../../tmp/climbed.py": RUNS}), "climbs",
        "'../../../../tmp/climbed.py', which leads out",
    ),
    HostilePackage(
        "a member with an absolute path", _wheel("absolute", {"absolute.py": "", "/tmp/absolute_ran.py": RUNS}),
        "absolute", "leads out",
    ),
    HostilePackage(
        "a data file that climbs out", _wheel("data", {"data.py": "", "data-1.data/data/../../../ran.py": RUNS}),
        "data", "leads out",
    ),
    HostilePackage(
        "a script that replaces python3", _wheel("script", {"script-1.data/scripts/python3": "#!/bin/sh\n"}), "script",
        "reserved name `python3`",
    ),
    HostilePackage(
        "a data file that replaces python3", _wheel("places", {"places-1.data/data/bin/python3": "#!/bin/sh\n"}),
        "places", "reserved name `python3`",
    ),
    HostilePackage(
        "an entry point that replaces python", _wheel("entry", {
            "entry.py": "", "entry-1.dist-info/entry_points.txt": "[console_scripts]\npython3 = entry:main\n",
        }), "entry", "reserved name `python3`",
    ),
    HostilePackage("files that Python runs at its start", _wheel("hooks", _HOOKS), "hooks", files=tuple(_HOOKS)),
    HostilePackage("modules named as the library's", _wheel("shadows", _SHADOWS), "shadows", files=tuple(_SHADOWS)),
    HostilePackage("a zip bomb", _bomb, "bomb", ROOM),
    HostilePackage("more files than there is room for", _crowd, "crowd", ROOM),
    HostilePackage(
        "symbolic links", _wheel("links", {"links.py": ""}, {"links_home": "/", "links_passwd": "/etc/passwd"}),
        "links", files=("links.py", "links_home", "links_passwd"),
    ),
    HostilePackage("metadata of another package", _other_name, "outside", "outside==1 has an invalid package format"),
    HostilePackage("metadata of another version", _other_version, "old", "version does not match filename"),
    HostilePackage("a record of files elsewhere", _lying_record, "record", files=("record.py",)),
    HostilePackage("two members of one name", _two_of_a_name, "twice", "twice"),
    HostilePackage("a compiled module that lies about its source", _stale, "stale", files=("stale.py",)),
    HostilePackage("no zip", _no_zip, "nozip", "nozip"),
)  # fmt: skip
SLOW = frozenset({"more files than there is room for"})
"""Takes the builder as long as ten others; the zip bomb meets the same limit."""
SAMPLE = frozenset({
    "sources whose set-up runs code", "a data file that climbs out", "an entry point that replaces python",
    "files that Python runs at its start",
})  # fmt: skip
"""Of those that attack the place where they are unpacked, for engines on which each of them is slow."""
