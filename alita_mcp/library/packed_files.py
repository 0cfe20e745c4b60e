"""Encoding of a run's files as one file of the store, an index before their bytes.

A name is a key of the index and never becomes a path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from mimetypes import MimeTypes
from typing import BinaryIO

MAX_INDEX_BYTES = 1 << 20


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """The files of a run behind a line that tells the name and size of each."""
    index = json.dumps([[name, len(data)] for name, data in files.items()])
    return index.encode() + b"\n" + b"".join(files.values())


def read_packed_file(store: BinaryIO, name: str) -> bytes | None:
    """One file, or None if there is none of that name.

    Raises:
        ValueError: the store is damaged.
    """
    index = json.loads(store.readline(MAX_INDEX_BYTES))
    place = store.tell()
    for known, size in index:
        if known == name:
            store.seek(place)
            data = store.read(size)
            if len(data) != size:
                raise ValueError("bytes are missing")
            return data
        place += size
    return None


def mime_of(name: str, data: bytes) -> str:
    """The MIME type of a file by its name, else by whether it is text."""
    known = _types().guess_type(name.rpartition("/")[2])
    if known[0] is not None and known[1] is None:
        return known[0]
    return "text/plain" if text_of(data) is not None else "application/octet-stream"


def text_of(data: bytes) -> str | None:
    """The text that bytes are in UTF-8; None where they are none."""
    try:
        return None if b"\x00" in data else data.decode()
    except UnicodeDecodeError:
        return None


@cache
def _types() -> MimeTypes:
    """What the standard library knows; not what this machine has in addition."""
    return MimeTypes()
