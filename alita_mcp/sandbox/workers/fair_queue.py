"""Fair queue of waiting callers: by urgency and arrival within a key, keys in rotation."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
C = TypeVar("C")


class FairQueue(Generic[K, C]):
    """Queue of waiting callers by key; a key that was served comes after all others."""

    def __init__(self, urgency: Callable[[C], int]) -> None:
        self._urgency = urgency
        self._queues: dict[K, deque[C]] = {}  # whose turn it is first

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def __iter__(self) -> Iterator[C]:
        return iter([caller for queue in self._queues.values() for caller in queue])

    @property
    def keys(self) -> Iterable[K]:
        """Keys with waiting callers."""
        return self._queues.keys()

    def join(self, key: K, caller: C) -> None:
        """Puts a caller behind the others of its key that are as urgent."""
        queue = self._queues.setdefault(key, deque())
        queue.insert(sum(self._urgency(other) >= self._urgency(caller) for other in queue), caller)

    def leave(self, key: K, caller: C) -> None:
        """Removes a caller, if it waits."""
        queue = self._queues.get(key, deque())
        if caller in queue:
            queue.remove(caller)
        if not queue:
            self._queues.pop(key, None)

    def serve(self, key: K, caller: C) -> None:
        """Removes a caller that was served and puts its key behind the others."""
        self.leave(key, caller)
        if key in self._queues:
            self._queues[key] = self._queues.pop(key)

    def first(self, key: K) -> C | None:
        """The next caller of a key."""
        return self._queues[key][0] if key in self._queues else None

    def firsts(self) -> list[C]:
        """The next caller of each key, in rotation order."""
        return [queue[0] for queue in self._queues.values()]

    def most_dispensable(self, key: K) -> C:
        """The caller to drop: the last of `key`, or of the longest queue, so that no key fills the queue alone."""
        longest = max(self._queues.values(), key=len)
        own = self._queues[key]
        return longest[-1] if len(longest) > len(own) else own[-1]
