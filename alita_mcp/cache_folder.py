"""Cache of values in a folder: one JSON file a key, bounded in bytes and age, shared by all processes of a home.

A damaged, strange or missing file counts as none; on a full disk nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import anyio.to_thread
from pydantic import BaseModel

MAX_AGE_S = 30 * 86_400.0
LARGEST_SHARE = 8
"""No value takes more than one part in so many of the cache."""
ROOM_AFTER = 0.9
"""How full the cache is after the least recently used values have made room."""
LOOK_EVERY = 16
"""After so many values kept, and at the first, the size of the whole is looked at."""
_ORPHANED_S = 3_600.0

_log = logging.getLogger(__name__)
V = TypeVar("V", bound=BaseModel)


class CacheFolder(Generic[V]):
    """Values of one kind by hexadecimal key; `noun` names such a value in the log."""

    def __init__(
        self,
        folder: Path,
        kind: type[V],
        max_bytes: int,
        *,
        noun: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._kind = kind
        self._max_bytes = max_bytes
        self._noun = noun
        self._clock = clock
        self._kept = 0

    async def find(self, key: str) -> V | None:
        """The value kept under a key; None when there is no reliable one."""
        return await anyio.to_thread.run_sync(self._find, key)

    async def keep(self, key: str, value: V) -> None:
        """Keeps a value, unless it is too large or cannot be written."""
        await anyio.to_thread.run_sync(self._keep, key, value)

    def _find(self, key: str) -> V | None:
        place = self._place(key)
        try:
            if place.stat().st_size > self._max_bytes // LARGEST_SHARE:
                return None
            mark, _, content = place.read_bytes().partition(b"\n")
            if mark != _mark(key, content):
                return None
            kept = json.loads(content)
            if not 0 <= self._clock() - kept["kept_at"] <= MAX_AGE_S:
                return None
            value = self._kind.model_validate(kept["value"])
            with suppress(OSError):
                os.utime(place)
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return value

    def _keep(self, key: str, value: V) -> None:
        kept = {"kept_at": self._clock(), "value": value.model_dump(mode="json")}
        content = json.dumps(kept).encode()
        if len(content) > self._max_bytes // LARGEST_SHARE:
            return
        try:
            _write(self._place(key), _mark(key, content) + b"\n" + content)
            if self._kept % LOOK_EVERY == 0:
                self._make_room()
            self._kept += 1
        except OSError as failure:
            _log.info("%s is not kept: %s", self._noun, failure)

    def _make_room(self) -> None:
        """Drops what is too old, then the least recently used, and what crashed processes left."""
        found = []
        for place in self._folder.glob("*/*"):
            with suppress(OSError):
                found.append((place.stat().st_mtime, place.stat().st_size, place))
        found.sort(key=lambda one: one[0], reverse=True)
        total = sum(size for _, size, _ in found)
        room = self._max_bytes * ROOM_AFTER if total > self._max_bytes else self._max_bytes
        now, so_far = time.time(), 0
        for used_at, size, place in found:
            so_far += size
            longest = _ORPHANED_S if place.suffix == ".new" else MAX_AGE_S
            if so_far > room or used_at < now - longest:
                with suppress(OSError):
                    place.unlink()

    def _place(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def _mark(key: str, content: bytes) -> bytes:
    """Digest that ties a value to its key, so that a flipped bit or a file that was moved is no hit."""
    return hashlib.sha256(key.encode() + content).hexdigest().encode()


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, aside = tempfile.mkstemp(dir=place.parent, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(aside).replace(place)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
