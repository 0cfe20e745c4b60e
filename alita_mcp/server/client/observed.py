"""Observations of how a client keeps its list of tools, from its requests and our notifications."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import anyio


class Observed:
    """Observations of one client, or of all that cannot be told apart: then what holds for each of them.

    Changes are counted from the start of the server; `now` is how many there were when a client was first met.
    """

    def __init__(self, now: int, *, is_one: bool) -> None:
        self._is_one = is_one
        self._streams = 0
        self._told = self._has = now
        self._lists_since_told = 0
        self._given: frozenset[str] | None = None
        self._changed = anyio.Event()
        self.told_at = -math.inf
        """When it was last told of a change, on the clock of the event loop."""
        self.listed_at = -math.inf
        """When it was last given a list that begins anew, on the same clock."""
        self.lists_after_hints = False
        """Whether it ever asked for its list after it was told of a change, at once or later."""
        self.ignores_hints = False
        """Whether it did not ask for its list in time when it was last told of a change."""

    @property
    def can_hear(self) -> bool:
        """Whether there is a stream on which it hears of changes."""
        return self._streams > 0

    def has(self, name: str) -> bool:
        """Whether the list that it was given last holds a tool."""
        return name in (self._given or ())

    def is_told(self, change: int) -> bool:
        """Whether it was sent a change."""
        return self._told >= change

    def has_listed(self, change: int) -> bool:
        """Whether its list holds a change; where several cannot be told apart, whether the list of each does."""
        return self._has >= change

    async def until_told(self, change: int) -> None:
        """Returns when it was sent a change."""
        while not self.is_told(change):
            await self._changed.wait()

    async def until_listed(self, change: int) -> None:
        """Returns when its list holds a change."""
        while not self.has_listed(change):
            await self._changed.wait()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """A stream is open on which it hears of changes."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    def tell(self, change: int, at: float) -> None:
        """Notes that it was sent all changes up to this one, at this time of the event loop."""
        if self.can_hear and change > self._told:
            self._told, self.told_at, self._lists_since_told = change, at, 0
            self._wake()

    def list(self, names: Iterable[str], change: int, at: float, *, first: bool) -> None:
        """It is given, at this time of the event loop, a page of the list as it stands after so many changes.

        `first` is where the list begins.
        """
        given, is_alone = frozenset(names), self._is_one or self._streams == 1
        if not first:
            if self._given is not None and is_alone:
                self._given |= given
            return
        if self._told > self._has:
            self.lists_after_hints, self.ignores_hints = True, False
        self.listed_at = at
        self._given = given if self._given is None or is_alone else self._given & given
        self._lists_since_told += 1
        if is_alone or 0 < self._streams <= self._lists_since_told:
            self._has = max(self._has, change)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
