"""Deadline of a call: a thread that watches the wall clock and the processor time of the computing thread."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

GRACE_SECONDS = 0.5
"""How much later than its deadline a call is ended that waits for the host and so looks at no deadline."""
_LOOK_SECONDS = 0.05


class Deadline:
    """Watcher of one deadline; `interrupt` stops code that computes, `abandon` ends the process of code that waits."""

    def __init__(self, interrupt: Callable[[], None], abandon: Callable[[str], None]) -> None:
        self._interrupt = interrupt
        self._abandon = abandon
        self._changed = threading.Condition()
        self._wall_end: float | None = None
        self._cpu_end = 0.0
        self._hit = ""
        # seconds of the processor that the main thread used; where no system tells them, the time that passed
        self._cpu: Callable[[], float] = time.monotonic
        ident = threading.main_thread().ident
        if os.name == "posix" and hasattr(time, "pthread_getcpuclockid") and ident is not None:
            clock = time.pthread_getcpuclockid(ident)
            self._cpu = lambda: time.clock_gettime(clock)

    def start_thread(self) -> None:
        """Starts the thread."""
        threading.Thread(target=self._watch, daemon=True).start()

    def start_clock(self, wall_seconds: float, cpu_seconds: float) -> None:
        """From now on so many seconds are left."""
        with self._changed:
            self._hit = ""
            self._wall_end = time.monotonic() + wall_seconds
            self._cpu_end = self._cpu() + cpu_seconds
            self._changed.notify()

    def stop_clock(self) -> str:
        """Nothing is watched any more; the limit that was hit, `wall_seconds` or `cpu_seconds`, or nothing."""
        with self._changed:
            self._wall_end = None
            return self._hit

    def _watch(self) -> None:
        with self._changed:
            while True:
                rest = None  # nothing is watched
                if self._wall_end is not None:
                    wall = self._wall_end - time.monotonic()
                    # one thread computes, so processor time never runs ahead of the wall clock
                    cpu = wall if self._hit else max(self._cpu_end - self._cpu(), _LOOK_SECONDS)
                    rest = max(min(wall, cpu), 0.0)
                self._changed.wait(rest)
                if self._wall_end is None:
                    continue
                is_late = time.monotonic() >= self._wall_end
                if self._hit and is_late:
                    self._abandon(self._hit)
                elif not self._hit and (is_late or self._cpu() >= self._cpu_end):
                    self._hit = "wall_seconds" if is_late else "cpu_seconds"
                    self._wall_end = time.monotonic() + GRACE_SECONDS
                    self._interrupt()
