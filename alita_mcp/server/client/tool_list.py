"""The list of tools as a client has it, known from its requests and our notifications."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import anyio


class ClientToolList:
    """What one client was told of changes and given as a list, or several clients that cannot be told apart.

    Changes are counted from the start of the server. Of several clients only what holds for each of them is claimed.
    """

    def __init__(self, change: int, *, is_one: bool) -> None:
        """`change` is the number of the last change when the client was first met."""
        self._is_one = is_one
        self._streams = 0
        self._notified_change = self._listed_change = change
        self._names: frozenset[str] | None = None
        self._updated = anyio.Event()
        self.notified_at = -math.inf
        """When it was last notified of a change, on the clock of the event loop."""
        self.listed_at = -math.inf
        """When it was last given a list from the beginning, on the same clock."""
        self.follows = False
        """Whether it ever asked for its list after it was notified of a change, at once or later."""
        self.ignores_hints = False
        """Whether it did not ask for its list in time when it was last notified."""

    @property
    def can_hear(self) -> bool:
        """Whether there is a stream on which it hears of changes."""
        return self._streams > 0

    def has_tool(self, name: str) -> bool:
        """Whether the list that it was given last holds a tool."""
        return name in (self._names or ())

    def has_change(self, change: int) -> bool:
        """Whether its list holds a change."""
        return self._listed_change >= change

    def is_notified(self, change: int) -> bool:
        """Whether it was sent a change."""
        return self._notified_change >= change

    async def wait_until(self, condition: Callable[[int], bool], change: int) -> None:
        """Returns when `has_change` or `is_notified` holds."""
        while not condition(change):
            await self._updated.wait()

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Meanwhile a stream is open on which it hears of changes."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    def record_hint(self, change: int, at: float) -> None:
        """Records that it was sent all changes up to this one, at this time of the event loop."""
        if self.can_hear and not self.is_notified(change):
            self._notified_change, self.notified_at = change, at
            self._wake()

    def record_page(self, names: Iterable[str], change: int, at: float, *, first: bool) -> None:
        """Records that it was given a page of the list, `first` or a later one, as it stands after `change`."""
        given = frozenset(names)
        # 1. One client: its list is what it was given, page by page.
        # 2. Several, which may each have another list: only names that every list held are in hand.
        is_alone = self._is_one or self._streams == 1
        if not first:
            if self._names is not None and is_alone:
                self._names |= given
            return
        if self._notified_change > self._listed_change:
            self.follows, self.ignores_hints = True, False
        self.listed_at = at
        self._names = given if self._names is None or is_alone else self._names & given
        if is_alone:
            self._listed_change = max(self._listed_change, change)
        self._wake()

    def _wake(self) -> None:
        self._updated.set()
        self._updated = anyio.Event()
