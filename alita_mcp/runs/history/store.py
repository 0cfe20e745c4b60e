"""Store of runs: the newest whole in memory, and on the disk too where `ALITA_KEEP_VALUES` allows it."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from alita_mcp.errors import ToolNotFound
from alita_mcp.library.bounded_folder import BoundedFolder
from alita_mcp.owners import choose_surplus
from alita_mcp.runs.code_run import RUN_ID, RecordedRun
from alita_mcp.settings import Settings

MAX_RUNS = 500
MAX_BYTES = 16 << 20
"""Of the runs in memory."""
MAX_KEPT_RUNS = 1_000
MAX_KEPT_BYTES = 64 << 20
LARGEST_BYTES = 1 << 20
"""Larger runs are not kept on the disk."""
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

    def __init__(self, kept: BoundedFolder | None) -> None:
        """Keeps values in the folder `kept`; None: in memory alone."""
        self._kept = kept
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
        if self._kept and text and size <= LARGEST_BYTES and not run.holds_secret:
            try:
                self._kept.write_file(f"{key}-{run.id}.json", text.encode(), owner)
            except OSError as failure:  # no run fails for the sake of its record
                _log.warning("Cannot keep runs in %s: %s", self._kept.folder, failure)

    def same_program(self, key: str, owner: str) -> list[RecordedRun]:
        """Newest runs of an owner of one program, the newest last, of this process and on the disk."""
        with self._lock:
            own = [each.run for each in self._runs.values() if (each.key, each.owner) == (key, owner)]
        found = {run.id: run for run in [*self._read_kept(f"{key}-*.json", owner), *own[-MAX_LIKE:]]}
        return sorted(found.values(), key=lambda run: run.at)

    def find_run(self, run_id: str, owner: str) -> RecordedRun:
        """A run of an owner.

        Raises:
            ToolNotFound: none of that id is known, or no longer.
        """
        with self._lock:
            known = self._runs.get(run_id)
        if known is not None and known.owner == owner:
            return known.run
        kept = self._read_kept(f"*-{run_id}.json", owner) if RUN_ID.fullmatch(run_id) else []
        if kept:
            return kept[0]
        hint = "Run the code again, and use the id that the answer names as `run`."
        if self._kept is None:
            hint += " Runs last as long as the server that ran them; ALITA_KEEP_VALUES=true keeps them on the disk."
        raise ToolNotFound(f"There is no run {run_id[:40]!r}.", hint=hint)

    def _read_kept(self, pattern: str, owner: str) -> list[RecordedRun]:
        """An owner's runs on the disk, the newest ones; what cannot be read is passed over."""
        if self._kept is None:
            return []
        found = []
        for place in self._kept.newest(pattern, MAX_LIKE, owner):
            with suppress(OSError, ValueError, RecursionError):
                found.append(RecordedRun.model_validate(json.loads(place.read_bytes())))
        return found


async def open_run_store(settings: Settings, *, serves: bool = False) -> RunStore:
    """The store of runs of `settings.home`.

    A server that may not keep values removes those that were kept earlier, by older versions too; a command in a shell
    without the server's settings leaves them alone.
    """
    folder = settings.home / "code-runs"
    if settings.keep_values:
        return RunStore(BoundedFolder(folder, MAX_KEPT_RUNS, MAX_KEPT_BYTES))
    if serves:
        await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))
    return RunStore(None)
