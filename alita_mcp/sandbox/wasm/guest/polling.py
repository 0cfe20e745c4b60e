"""`select`, `poll` and event loops over the component's sockets."""

from __future__ import annotations

import asyncio.selector_events
import select
import selectors
from typing import Any

from alita_mcp.sandbox.wasm.guest import sockets


class Poll:
    """Stand-in for `select.poll`; our sockets are always writable, and the host is asked whether they are readable."""

    def __init__(self) -> None:
        self._masks: dict[int, int] = {}

    def register(self, fd: Any, eventmask: int = select.POLLIN | select.POLLOUT | select.POLLPRI) -> None:
        """Watches a descriptor."""
        self._masks[_number(fd)] = eventmask

    def modify(self, fd: Any, eventmask: int) -> None:
        """Watches it for something else."""
        if _number(fd) not in self._masks:
            raise FileNotFoundError(2, "No such file or directory")
        self._masks[_number(fd)] = eventmask

    def unregister(self, fd: Any) -> None:
        """Watches it no longer."""
        del self._masks[_number(fd)]

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        """What may be done now; milliseconds."""
        found = {fd: select.POLLOUT for fd, mask in self._masks.items() if mask & select.POLLOUT}
        wanted = [fd for fd, mask in self._masks.items() if mask & select.POLLIN]
        seconds = None if timeout is None or timeout < 0 else timeout / 1_000
        if wanted or not found:
            for fd in sockets.ready(wanted, 0 if found else seconds):
                found[fd] = found.get(fd, 0) | select.POLLIN
        return list(found.items())


class Selector(selectors._PollLikeSelector):
    """Selector of event loops over our sockets."""

    _selector_cls = Poll
    _EVENT_READ = select.POLLIN
    _EVENT_WRITE = select.POLLOUT

    def select(self, timeout: float | None = None) -> Any:
        """What may be done now; seconds."""
        if timeout is None and not self.get_map():
            raise RuntimeError("deadlock: nothing is scheduled and nothing can arrive")
        return super().select(timeout)


class Loop(asyncio.selector_events.BaseSelectorEventLoop):
    """Event loop without wake-ups from other threads."""

    def __init__(self) -> None:
        super().__init__(Selector())

    def _make_self_pipe(self) -> None:
        """There are no threads."""

    def _close_self_pipe(self) -> None:
        """There is none."""

    def _write_to_self(self) -> None:
        """Does nothing: no other thread could be woken."""


def install() -> None:
    """Replaces `select.select` and `select.poll` where sockets of ours are meant."""
    real = select.select

    def choose(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
        reading, writing = [*rlist], [*wlist]
        if not any(sockets.is_ours(_number(each)) for each in (*reading, *writing)):
            return real(rlist, wlist, xlist, timeout)
        known = sockets.ready([_number(each) for each in reading], 0 if writing else timeout)
        return [each for each in reading if _number(each) in known], writing, []

    select.select = choose
    select.poll = Poll  # type: ignore[misc]
    selectors.SelectSelector._select = staticmethod(choose)  # type: ignore[attr-defined]
    selectors.DefaultSelector = Selector  # type: ignore[misc]


def _number(fd: Any) -> int:
    number: int = fd if isinstance(fd, int) else fd.fileno()
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number
