"""Store of runs of code: the newest, whole, in the memory of this process; no value of them lies on the disk.

Servers that share a library find one another's in its database.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.storage import Storage
from alita_mcp.owners import choose_surplus
from alita_mcp.runs.code_run import RUN_ID, RecordedRun

MAX_RUNS = 500
MAX_BYTES = 16 << 20
LARGEST_BYTES = 1 << 20
"""What a run counts as that no JSON holds as it is."""
MAX_LIKE = 20
"""So many runs of one program are looked at, the newest."""
_log = logging.getLogger(__name__)


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


class SharedRunStore(RunStore):
    """A store that also finds the runs of other servers; what looks like a secret stays in the memory of its own."""

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self._files = storage.files("code_runs", MAX_RUNS, MAX_BYTES)

    def add_run(self, run: RecordedRun, key: str, owner: str) -> None:
        """As `RunStore` says; a run that cannot be written is known here alone."""
        super().add_run(run, key, owner)
        if run.holds_secret:
            return
        try:
            self._files.write_file(f"{run.id}.{key}", json.dumps(run.model_dump()).encode(), owner)
        except (LibraryError, ValueError, TypeError, RecursionError) as failure:
            _log.warning("Other servers do not find the run %s: %s", run.id, failure)

    def same_program(self, key: str, owner: str) -> list[RecordedRun]:
        """As `RunStore` says; those of this server alone while the database is away."""
        with suppress(LibraryError):
            if found := self._read(f"*.{key}", owner, MAX_LIKE):
                return found
        return super().same_program(key, owner)

    def find_run(self, run_id: str, owner: str) -> RecordedRun:
        """As `RunStore` says; raises LibraryError where another server may know it, and the database is away."""
        with suppress(ToolNotFound):
            return super().find_run(run_id, owner)
        found = self._read(f"{run_id}.*", owner, 1) if RUN_ID.fullmatch(run_id) else []
        return found[0] if found else super().find_run(run_id, owner)

    def _read(self, pattern: str, owner: str, limit: int) -> list[RecordedRun]:
        found = []
        for file in self._files.newest(pattern, owner, limit):
            with suppress(ValidationError):  # of a newer version
                found.append(RecordedRun.model_validate(json.loads(file.content)))
        return found
