"""Observations of how a client keeps its list of tools, from its requests and our notifications.

Order decides, never a name and never a clock: a list that a client asks for between a hint and the next answer follows
the hint; one that it asks for between two calls without a hint is asked for by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

import anyio


class Observed:
    """Observations of one client, or of all that cannot be told apart: then what holds for each of them.

    Changes are counted from the start of the server; `now` is how many there were when a client was first met.
    """

    def __init__(self, now: int, *, is_one: bool) -> None:
        self._is_one = is_one
        self._streams = 0
        self._told = self._has = now
        self._lists_of_this = 0
        self._given: frozenset[str] | None = None
        self._calls = 0
        self._was_answered = self._answered_since_told = False
        self._listed: Literal["hinted", "by itself"] | None = None
        """How it asked for a list since its last answer."""
        self._turns = 0
        """Turns in a row that began with a list; negative after one that did not."""
        self._changed = anyio.Event()
        self.told_at = -math.inf
        """When it was last told of a change, on the clock of the event loop."""
        self.listed_at = -math.inf
        """When it was last given a list that begins anew, on the same clock."""
        self.follows: bool | None = None
        """Whether it asks for its list when it is told of a change; None while that is not known."""
        self.lists_after_hints = False
        """Whether it was ever seen to ask for its list after it was told of a change, at once or later."""

    @property
    def can_hear(self) -> bool:
        """Whether there is a stream on which it hears of changes."""
        return self._streams > 0

    @property
    def lists_each_turn(self) -> bool:
        """Whether it asks for its list before each turn, told of a change or not."""
        return self._turns > 0

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
            self._told, self.told_at = change, at
            self._lists_of_this, self._answered_since_told = 0, False
            self._tick()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """A call of a tool by it is under way."""
        if not self._calls and self._was_answered:
            if self._listed == "by itself":
                self._turns += 1
            elif self._listed is None:
                self._turns = -1
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._was_answered = self._answered_since_told = True
            self._listed = None

    def list(self, names: Iterable[str], change: int, at: float, *, first: bool) -> None:
        """It is given, at this time of the event loop, a page of the list as it stands after so many changes.

        `first` is where the list begins.
        """
        if not first:
            if self._given is not None and self._is_alone:
                self._given |= frozenset(names)
            return
        self._see(hinted=self._told > self._has)
        self.listed_at = at
        given = frozenset(names)
        self._given = given if self._given is None or self._is_alone else self._given & given
        self._lists_of_this += 1
        if self._is_alone or 0 < self._streams <= self._lists_of_this:
            self._has = max(self._has, change)
        self._tick()

    @property
    def _is_alone(self) -> bool:
        return self._is_one or self._streams == 1

    def _see(self, *, hinted: bool) -> None:
        if self._listed != "hinted":
            self._listed = "hinted" if hinted else "by itself"
        if not hinted:
            return
        self.lists_after_hints = True
        if not self._answered_since_told:
            self.follows = True
        elif self.follows is False:
            self.follows = None

    def _tick(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
