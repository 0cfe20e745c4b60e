"""Cache of the versions that were read last, valid while their files are unchanged.

A kept version counts only while every file of it has the identity that it had when it was last proved.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from alita_mcp.library.versions.files import VERSION_FILES, ToolFiles
from alita_mcp.values import StoredVersion

KEPT_VERSIONS = 128
SETTLED_S = 2.0
"""A file touched more recently is not relied on: a second change within one tick of the disk's clock would not show."""

Prove = Callable[[str, int], StoredVersion]
"""Reads a version with every file of it, or raises; `Store.read_version`."""
Identity = tuple[tuple[int, ...], ...]


class _Kept(NamedTuple):
    places: tuple[str, ...]
    identity: Identity
    stored: StoredVersion


class LoadedVersions:
    """The versions that were read last, each with the identity of its files. Used from several threads."""

    def __init__(
        self,
        files: ToolFiles,
        prove: Prove,
        *,
        settled_s: float = SETTLED_S,
        at_most: int = KEPT_VERSIONS,
    ) -> None:
        self._files = files
        self._prove = prove
        self._settled_ns = int(settled_s * 1e9)
        self._at_most = at_most
        self._kept: OrderedDict[tuple[str, int], _Kept] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def find_unchanged(self, name: str, version: int) -> StoredVersion | None:
        """Cached version whose files are unchanged since; takes microseconds, reads no file."""
        key = (name, version)
        with self._lock:
            kept = self._kept.get(key)
        if kept is None or kept.identity != _identity(kept.places):
            return None
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
        return kept.stored

    def read_version(self, name: str, version: int) -> StoredVersion:
        """A version from its files, proved unchanged, and kept for the next time; raises as `Store.read_version`."""
        folder = self._files.folder(name, version)
        places = tuple(map(str, (folder.parent, folder, *(folder / file for file in VERSION_FILES))))
        before = _identity(places)
        stored = self._prove(name, version)
        if before is not None and before == _identity(places) and self._is_settled(before):
            with self._lock:
                self._kept[(name, version)] = _Kept(places, before, stored)
                self._kept.move_to_end((name, version))
                if len(self._kept) > self._at_most:
                    self._kept.popitem(last=False)
        return stored

    def _is_settled(self, identity: Identity) -> bool:
        newest = max(max(modified, changed) for *_, modified, changed in identity)
        return time.time_ns() - newest >= self._settled_ns


def _identity(places: tuple[str, ...]) -> Identity | None:
    """Of the tool's folder, the version's and its files: what differs as soon as one is edited, replaced or linked.

    A folder's times change with the entries in it. The times of the last change (`ctime`) cannot be set back.
    """
    try:
        facts = [os.lstat(place) for place in places]
    except OSError:
        return None
    return tuple(
        (fact.st_dev, fact.st_ino, fact.st_mode, fact.st_size, fact.st_mtime_ns, fact.st_ctime_ns)
        for fact in facts
    )
