"""Small tars for environments."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Awaitable, Callable


def tar_of(files: dict[str, bytes], *special: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            archive.addfile(entry, io.BytesIO(content))
        for entry in special:
            archive.addfile(entry)
    return buffer.getvalue()


def folder(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode = tarfile.DIRTYPE, 0o700
    return entry


def link(name: str, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry


def making(tar: bytes) -> Callable[[], Awaitable[bytes]]:
    """What gives a tar, as a build does."""

    async def make() -> bytes:
        return tar

    return make


HELLO = {
    "hello.py": b"X = 41\n",
    "package/__init__.py": b"from package.part import Y\n",
    "package/part.py": b"Y = 1\n",
    "json.py": b"raise SystemExit('shadowed')\n",
    "evil.pth": b"import os; os.environ['PWNED'] = '1'\n",
    "sitecustomize.py": b"import os; os.environ['PWNED'] = '2'\n",
}
USES_HELLO = """
import json, os, hello, package

def f():
    refused = "no"
    try:
        open(os.path.dirname(hello.__file__) + "/new", "w")
    except OSError as error:
        refused = type(error).__name__
    return [hello.X + package.Y, json.dumps(1), os.environ.get("PWNED"), refused]
"""
