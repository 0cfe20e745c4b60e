"""The list of tools as a client has it, known from its requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import anyio


class ClientToolList:
    """The list that one client was given last, or several clients that cannot be told apart.

    Changes are counted from the start of the server. Of several clients only what holds for each of them is claimed.
    """

    def __init__(self, change: int, *, is_one: bool) -> None:
        """`change` is the number of the last change when the client was first met."""
        self._is_one = is_one
        self._streams = 0
        self._change = change
        self._names: frozenset[str] | None = None
        self._updated = anyio.Event()
        self.listed_at = -math.inf
        """When it was last given a list, on the clock of the event loop."""
        self.follows = False
        """Whether it ever asked for its list again after a change that it could hear of, at once or later."""
        self.ignores_hints = False
        """Whether it did not ask for its list in time after the last change."""

    @property
    def can_hear(self) -> bool:
        """Whether there is a stream on which it hears of changes."""
        return self._streams > 0

    def has_tool(self, name: str) -> bool:
        """Whether the list that it was given last holds a tool."""
        return name in (self._names or ())

    def has_change(self, change: int) -> bool:
        """Whether its list holds a change."""
        return self._change >= change

    async def wait_for_change(self, change: int) -> None:
        """Returns when its list holds a change."""
        while not self.has_change(change):
            await self._updated.wait()

    @contextmanager
    def listen(self) -> Iterator[None]:
        """Meanwhile a stream is open on which it hears of changes."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    def record_list(self, names: Iterable[str], change: int, at: float) -> None:
        """Records that it was given the list as it stands after `change`."""
        if self.can_hear and not self.has_change(change):
            self.follows, self.ignores_hints = True, False
        self.listed_at = at
        # 1. One client: its list is what it was given last.
        # 2. Several, which may each have another list: only names that every list held are in hand.
        given = frozenset(names)
        if self._is_one or self._streams == 1:
            self._names, self._change = given, max(self._change, change)
        else:
            self._names = given if self._names is None else self._names & given
        self._updated.set()
        self._updated = anyio.Event()
