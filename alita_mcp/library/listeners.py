"""Callbacks that are called at every change until they are removed."""

from __future__ import annotations

from collections.abc import Callable


class Listeners:
    """Callbacks of one process; the same one may be there several times."""

    def __init__(self) -> None:
        self._callbacks: dict[object, Callable[[], None]] = {}

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls back from now on; answers how to stop that."""
        key = object()
        self._callbacks[key] = callback

        def remove() -> None:
            self._callbacks.pop(key, None)

        return remove

    def tell(self) -> None:
        """Calls all callbacks."""
        for callback in tuple(self._callbacks.values()):
            callback()
