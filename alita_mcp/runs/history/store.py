"""Store of runs: the newest, whole, in the memory of this process; no value of them lies on the disk."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass

from alita_mcp.errors import ToolNotFound
from alita_mcp.owners import choose_surplus
from alita_mcp.runs.code_run import RecordedRun

MAX_RUNS = 500
MAX_BYTES = 16 << 20
LARGEST_BYTES = 1 << 20
"""What a run counts as that no JSON holds as it is."""
MAX_LIKE = 20
"""So many runs of one program are looked at, the newest."""


@dataclass(frozen=True)
class _Remembered:
    run: RecordedRun
    key: str
    owner: str
    bytes: int


class RunStore:
    """Runs by their id and by the key of their program; its methods block and may be called in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: OrderedDict[str, _Remembered] = OrderedDict()

    def add_run(self, run: RecordedRun, key: str, owner: str) -> None:
        """Remembers a run of an owner; `key` is that of its program."""
        try:
            text = json.dumps(run.model_dump(), allow_nan=False)
        except (ValueError, TypeError, RecursionError):  # no JSON holds it as it is
            text = ""
        size = len(text) or LARGEST_BYTES
        with self._lock:
            self._runs[run.id] = _Remembered(run, key, owner, size)
            known = [(run_id, each.owner, each.bytes) for run_id, each in self._runs.items()]
            for surplus in choose_surplus(known, owner, MAX_RUNS, MAX_BYTES):
                del self._runs[surplus]

    def same_program(self, key: str, owner: str) -> list[RecordedRun]:
        """Newest runs of an owner of one program, the newest last."""
        with self._lock:
            own = [each.run for each in self._runs.values() if (each.key, each.owner) == (key, owner)]
        return own[-MAX_LIKE:]

    def find_run(self, run_id: str, owner: str) -> RecordedRun:
        """A run of an owner.

        Raises:
            ToolNotFound: none of that id is known, or no longer.
        """
        with self._lock:
            known = self._runs.get(run_id)
        if known is not None and known.owner == owner:
            return known.run
        hint = (
            "Run the code again, and use the id that the answer names as `run`. Runs last as long as the server that "
            "ran them."
        )
        raise ToolNotFound(f"There is no run {run_id[:40]!r}.", hint=hint)
