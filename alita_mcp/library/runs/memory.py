"""Memory of whole runs of this process, found by id, bounded, least recently used dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict

from alita_mcp.runs.recorded_run import RecordedRun

MAX_RUNS = 500
MAX_BYTES = 16 << 20


class RunMemory:
    """Runs in memory, bounded in number and bytes; may be used in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, tuple[RecordedRun, str, int]] = OrderedDict()
        self._bytes = 0

    def add(self, run: RecordedRun, owner: str, size: int) -> None:
        """Remembers a run of `size` bytes, unless it is larger than all room there is."""
        with self._lock:
            self._remove(run.id)
            if size > MAX_BYTES:
                return
            self._runs[run.id] = (run, owner, size)
            self._bytes += size
            while len(self._runs) > MAX_RUNS or self._bytes > MAX_BYTES:
                self._remove(next(iter(self._runs)))

    def find(self, run_id: str, owner: str | None = None) -> RecordedRun | None:
        """A run, or a run of this owner; it then counts as used."""
        with self._lock:
            run, known_owner, _ = self._runs.get(run_id, (None, "", 0))
            if run is None or owner not in (None, known_owner):
                return None
            self._runs.move_to_end(run_id)
            return run

    def ids(self) -> set[str]:
        """Of all runs."""
        with self._lock:
            return set(self._runs)

    def clear(self) -> None:
        """Forgets all runs."""
        with self._lock:
            self._runs.clear()
            self._bytes = 0

    def _remove(self, run_id: str) -> None:
        if (gone := self._runs.pop(run_id, None)) is not None:
            self._bytes -= gone[2]
