"""Store of code runs: whole ones in memory, their shapes on disk, their values on disk only if allowed.

What lies on the disk is a guess about the past: a damaged, full or missing file means that less comes back, never that
a run fails. A run is remembered at once for this process and written a moment later for all.
"""

from __future__ import annotations

import json
import logging
import math
import secrets
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from alita_mcp.errors import LibraryError, ToolNotFound, UsageError
from alita_mcp.library.background import background
from alita_mcp.library.numbered_file import Spoiled
from alita_mcp.library.runs import rows as sql
from alita_mcp.library.runs.marks import KeptRun, home_key, kept_run
from alita_mcp.library.runs.memory import RunMemory
from alita_mcp.library.runs.rows import RunRow, RunRows, sketch_of
from alita_mcp.runs.recorded_run import RecordedRun
from alita_mcp.settings import Settings

LARGEST_BYTES = 1 << 20
"""Larger values of one run are not kept on the disk."""
MAX_WAITING = 300
"""So many runs may wait to be written; the oldest one is lost first."""
WRITE_AFTER_S = 0.25
TRY_AGAIN_S = 60.0

T = TypeVar("T")
Shape = dict[str, Any]
_log = logging.getLogger(__name__)


class CodeRuns:
    """Runs of one home; made by `open_code_runs`. Methods that are not `async` block and may be called in threads."""

    def __init__(
        self,
        folder: Path,
        *,
        keep_values: bool,
        forget_values: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """With `forget_values`, values that were kept earlier are removed from the disk when it is first used."""
        self._folder = folder
        self._keep_values = keep_values
        self._forget_values = forget_values
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._memory = RunMemory()
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, RunRow] = OrderedDict()
        self._made: dict[str, str] = {}
        self._opening = threading.Lock()
        self._rows: RunRows | None = None
        self._try_again_at = 0.0
        self._wanted = anyio.Event()

    def note(self, run: RecordedRun, shape: Shape, digest: str, owner: str = "") -> None:
        """Remembers a run, in a worker thread; `write_soon` has it written.

        `shape` is its program's normal form, empty where the code does not parse. `owner` tells the client that ran it
        from all others: only what it ran itself is told to it by `reachable`.
        """
        self._current()
        whole = _whole(run)
        kept = kept_run(run, digest, self._key)
        keeps = self._keep_values and not kept.secret and len(whole or "") <= LARGEST_BYTES
        self._memory.add(run, owner, LARGEST_BYTES if whole is None else len(whole))
        with self._lock:
            self._waiting[run.id] = RunRow(self._clock(), kept, shape, whole if keeps else None)
            while len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)

    def write_soon(self) -> None:
        """Starts writing what waits, a moment later; called on the event loop."""
        self._wanted.set()

    async def read(self, run_id: str) -> RecordedRun:
        """A run with its values.

        Raises:
            ToolNotFound: no run of that id is known, or no longer.
            UsageError: it is known, and its values were not kept.
        """
        return await anyio.to_thread.run_sync(self._read, run_id)

    def _read(self, run_id: str) -> RecordedRun:
        self._current()
        if (own := self._memory.find(run_id)) is not None:
            return own
        kept, run = self._from_disk(run_id)
        if run is not None:
            return run
        if kept is None:
            hint = (
                "The newest runs are kept: run the code again, and use the id that the answer names as `run`."
            )
            raise ToolNotFound(f"There is no run {run_id[:40]!r}.", hint=hint)
        if kept.secret:
            raise UsageError(
                f"The values of run {run_id!r} were not kept: they hold what looks like a key or a password.",
                hint="Run the code again without it, and use that run.",
            )
        raise UsageError(
            f"Of run {run_id!r} only the shape is kept: code and values stay in the process that ran it.",
            hint="Set ALITA_KEEP_VALUES=true to have them kept on the disk, and run the code again.",
        )

    def reachable(self, run_ids: Iterable[str], owner: str) -> list[RecordedRun]:
        """Those runs whose values can be read here: what the owner ran in this process, and what is on the disk."""
        found = [self._memory.find(run_id, owner) or self._from_disk(run_id)[1] for run_id in run_ids]
        return [run for run in found if run is not None]

    def _from_disk(self, run_id: str) -> tuple[KeptRun | None, RecordedRun | None]:
        with self._lock:
            row = self._waiting.get(run_id)
        if row is not None:
            return row.kept, _restored(row.whole)
        found = self._select(sql.FIND, run_id)
        return next(iter(_kept(found)), None), _restored(found[0][1] if found else None)

    def like(self, shape: Shape) -> dict[str, Shape]:
        """Programs that may be like this one: their shapes by their digests."""
        parts = sketch_of(shape)
        found = _parsed(self._use(lambda rows: rows.like(parts)) or ())
        with self._lock:
            waiting = {row.kept.digest: row.shape for row in self._waiting.values()}
        near = [(len({*parts} & {*sketch_of(other)}), digest) for digest, other in waiting.items()]
        nearest = sorted((each for each in near if each[0]), reverse=True)[: sql.CANDIDATES]
        return found | {digest: dict(waiting[digest]) for _, digest in nearest}

    def runs_of(self, digests: Iterable[str]) -> list[KeptRun]:
        """The newest runs of these programs, the newest first."""
        wanted = frozenset(digests)
        with self._lock:
            waiting = [row.kept for row in reversed(self._waiting.values()) if row.kept.digest in wanted]
        seen = {kept.id for kept in waiting}
        written = _kept(self._select(sql.NEWEST, json.dumps(sorted(wanted))))
        return [*waiting, *(kept for kept in written if kept.id not in seen)]

    def all(self) -> list[KeptRun]:
        """All runs, the newest first; what waits is written before."""
        self.write()
        return _kept(self._select(sql.ALL))

    def shapes(self) -> dict[str, Shape]:
        """The shapes of all programs by their digests; what waits is written before."""
        self.write()
        return _parsed(self._select(sql.SHAPES))

    def made(self) -> dict[str, str]:
        """The tool that was made of a program, by the program's digest."""
        return dict(self._select(sql.MADE)) | self._made

    async def record_made(self, run_ids: Sequence[str], tool: str) -> None:
        """Remembers that a tool was made of runs, so that it is not proposed again."""
        await anyio.to_thread.run_sync(self._record_made, run_ids, tool)

    def _record_made(self, run_ids: Sequence[str], tool: str) -> None:
        known = [self._from_disk(run_id)[0] for run_id in run_ids]
        digests = sorted({kept.digest for kept in known if kept is not None and kept.digest})
        self._made |= dict.fromkeys(digests, tool)
        self._use(lambda rows: rows.record_made(digests, tool))

    async def drop_all(self) -> int:
        """Removes all that is kept, for all processes; returns how many runs there were.

        Raises:
            LibraryError: the file cannot be removed.
        """
        return await anyio.to_thread.run_sync(self._drop_all)

    def _drop_all(self) -> int:
        known = {kept.id for kept in self.all()} | {*self._waiting} | self._memory.ids()
        rows = self._current()
        if rows is not None:
            rows.begin_next()
        self._current()  # opens the new file, which removes the old one
        self._forget_memory()
        if len(list(self._folder.glob("runs-*.sqlite3"))) > (rows is not None):
            raise LibraryError(
                f"The kept runs in {self._folder} cannot be removed.", hint="Remove that folder by hand."
            )
        return len(known)

    async def tend(self) -> None:
        """Writes what was remembered a moment after it was, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = anyio.Event()
            await anyio.sleep(WRITE_AFTER_S)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.write)

    def write(self) -> None:
        """Writes what waits; what cannot be written now waits on."""
        if not self._waiting:
            return
        self._current()  # where all was forgotten meanwhile nothing waits any more
        with self._lock:
            waiting = dict(self._waiting)

        def written(rows: RunRows) -> bool:
            rows.write(list(waiting.values()), self._clock())
            return True

        if self._use(written):
            with self._lock:
                for run_id, row in waiting.items():
                    if self._waiting.get(run_id) is row:
                        del self._waiting[run_id]

    def close(self) -> None:
        """Writes the rest and closes the file."""
        self.write()
        with self._opening:
            self._try_again_at = math.inf
            if self._rows is not None:
                self._rows.close()
                self._rows = None

    def _select(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        return self._use(lambda rows: rows.select(query, *values)) or []

    def _use(self, ask: Callable[[RunRows], T]) -> T | None:
        """What the file answers; None where it cannot be used now."""
        rows = self._current()
        try:
            return None if rows is None else ask(rows)
        except Spoiled as damaged:
            with self._opening:
                if rows is not None and rows is self._rows:  # else it was closed meanwhile
                    _log.warning(
                        "The kept runs in %s are damaged (%s); they are begun anew.", self._folder, damaged
                    )
                    rows.begin_next()
                    rows.close()
                    self._rows = None
        except sqlite3.Error as failure:
            _log.info("The kept runs in %s cannot be used now: %s", self._folder, failure)
        return None

    def _current(self) -> RunRows | None:
        """The file; None while it cannot be used, which is tried again after a while.

        Where another process began a new file, or somebody removed this one, all is forgotten here too.
        """
        with self._opening:
            if self._rows is not None and not self._rows.is_newest:
                self._rows.close()
                self._rows = None
                self._forget_memory()
            if self._rows is None and time.monotonic() >= self._try_again_at:
                self._rows = self._open()
                if self._rows is None:
                    self._try_again_at = time.monotonic() + TRY_AGAIN_S
            return self._rows

    def _open(self) -> RunRows | None:
        try:
            self._key = home_key(self._folder) or self._key
            return RunRows(self._folder, forget_values=self._forget_values)
        except (OSError, sqlite3.Error, Spoiled) as failure:
            _log.warning("Runs cannot be kept in %s: %s", self._folder, failure)
            return None

    def _forget_memory(self) -> None:
        self._memory.clear()
        with self._lock:
            self._waiting.clear()
            self._made.clear()


@asynccontextmanager
async def open_code_runs(settings: Settings, *, serves: bool = False) -> AsyncIterator[CodeRuns]:
    """The runs kept in `settings.home`, opened at the first use.

    A server that may not keep values removes those that were kept earlier; a command in a shell without the server's
    settings leaves them alone.
    """
    forget_values = serves and not settings.keep_values
    runs = CodeRuns(
        settings.home / "code-runs", keep_values=settings.keep_values, forget_values=forget_values
    )
    async with background() as tasks:
        tasks.start_soon(runs.tend)
        try:
            yield runs
        finally:
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(runs.close)


def _whole(run: RecordedRun) -> str | None:
    """A run as JSON; None where no JSON holds it as it is."""
    try:
        return json.dumps(run.model_dump(), allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None


def _restored(whole: str | None) -> RecordedRun | None:
    try:
        return None if whole is None else RecordedRun.model_validate(json.loads(whole))
    except (ValueError, RecursionError, ValidationError):
        return None


def _parsed(rows: Iterable[tuple[str, str]]) -> dict[str, Shape]:
    """Shapes by their digests, those that can be read."""
    found = {}
    for digest, text in rows:
        with suppress(ValueError, RecursionError):
            found[digest] = json.loads(text)
    return found


def _kept(rows: Iterable[tuple[Any, ...]]) -> list[KeptRun]:
    """Runs of those rows that can be read."""
    found = []
    for text, *_ in rows:
        with suppress(ValidationError):
            found.append(KeptRun.model_validate_json(text))
    return found
