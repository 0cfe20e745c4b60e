"""Store of model records in the library's home: calibration results and practice, kept by the model's name.

One private file a model. A file that is damaged, foreign or too large counts as none and is said in the log: a record
is a help, and no synthesis fails for want of it. Several processes may write at once.
"""

from __future__ import annotations

import hashlib
import logging
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio.to_thread
from pydantic import AfterValidator, Field, ValidationError

from alita_mcp.errors import LibraryError
from alita_mcp.file_locks import held
from alita_mcp.library.disk import Damaged, read_plain_file, unreadable
from alita_mcp.synthesis.model_records.later import EVENTS, later_of
from alita_mcp.synthesis.model_records.result import TaskResult, counted
from alita_mcp.values import TOOL_NAME, Value
from alita_mcp.verification.agreement.record import ModelRecord, Record, Tally, record_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alita_mcp.library.rows import JournalRow
    from alita_mcp.models.roles import Models

FOLDER = "model_records"
MAX_BYTES = 256 << 10
MAX_TASKS = 500
MAX_PRACTICE = 200.0
"""Tests, and syntheses, of which practice remembers so many: older ones fade."""
LOCK_S = 5.0
EVENTS_READ = 10_000
"""The newest rows of the journal of each kind that say what became of versions."""
_log = logging.getLogger(__name__)

Journal = Callable[[str], Sequence["JournalRow"]]
"""Reads the rows of an event, by its name, in the library's journal."""


def _bounded(tally: Tally) -> Tally:
    if not math.isfinite(tally.total) or tally.total > MAX_PRACTICE * 1.001:
        raise ValueError("more than practice ever holds")
    return tally


Practised = Annotated[Tally, AfterValidator(_bounded)]


class Calibration(Value):
    """Results of one model on the tasks of one release; each task counts once."""

    version: str = Field(max_length=64)
    """Digest of these tasks."""
    done: dict[Annotated[str, Field(pattern=TOOL_NAME)], TaskResult] = Field(
        default_factory=dict, max_length=MAX_TASKS
    )


class ModelFile(Value):
    """File of all that is kept of one model."""

    model: str = Field(min_length=1, max_length=1_000)
    calibration: Calibration
    """The one that counts."""
    under_way: Calibration | None = None
    """Begun anew, for other tasks or on demand; it counts when all its tasks are done."""
    practised: Practised = Tally()
    first_time: Practised = Tally()


class Practice(Value):
    """Evidence of one synthesis about the models that wrote it."""

    kept: int = Field(default=0, ge=0)
    dropped: int = Field(default=0, ge=0)
    first_time: bool


class ModelRecords:
    """Store of the model records in one library's home."""

    def __init__(self, home: Path, journal: Journal | None = None) -> None:
        """`journal` tells what became of versions later; without it nothing is known of that."""
        self._folder = home / FOLDER
        self._journal = journal

    async def of(self, model: str) -> ModelRecord | None:
        """Record of a model; None where it was never calibrated and never practised."""
        return await anyio.to_thread.run_sync(self._of, model)

    async def all(self) -> list[ModelRecord]:
        """Records of all models, by name."""
        return await anyio.to_thread.run_sync(self._all)

    async def record_for(self, models: Models) -> Record | None:
        """Record of the writers of one synthesis; None for models that are scripted or replayed.

        Such a model can call itself whatever it likes.
        """
        if not models.own:
            return None
        coder, tester = models.role("coder").name, models.role("tester").name
        return record_of(await self.of(coder), await self.of(tester))

    async def done(self, model: str, version: str, *, again: bool = False) -> frozenset[str]:
        """The names of the tasks that a calibration which begins now would not have to do again."""
        return await anyio.to_thread.run_sync(partial(self._done, model, version, again=again))

    async def begin(self, model: str, version: str, *, again: bool = False) -> None:
        """Starts a calibration, or goes on with the one that is under way.

        Raises:
            LibraryError: the record cannot be written.
        """
        await anyio.to_thread.run_sync(partial(self._begin, model, version, again=again))

    async def add(self, model: str, task: str, result: TaskResult, of_tasks: int) -> None:
        """Keeps what a model did with a task; once all `of_tasks` are done, this calibration is the one that counts.

        Raises:
            LibraryError: the record cannot be written.
        """
        await anyio.to_thread.run_sync(self._add, model, task, result, of_tasks)

    async def practise(self, coder: str, tester: str, practice: Practice) -> None:
        """Keeps what a synthesis showed; raises as `add`."""
        await anyio.to_thread.run_sync(self._practise, coder, tester, practice)

    @contextmanager
    def calibrating(self, model: str) -> Iterator[None]:
        """Keeps other processes from calibrating the same model, which would pay for every task twice.

        Raises:
            LibraryError: another process does so now.
        """
        self._make_folder()
        with ExitStack() as stack:
            try:
                stack.enter_context(held(self._path(model).with_suffix(".run.lock"), 0))
            except LibraryError as busy:
                message = f"{model!r} is being calibrated by another process."
                raise LibraryError(message, hint="Wait for it, or stop it.") from busy
            yield

    def _of(self, model: str) -> ModelRecord | None:
        kept = self._read(model)
        return None if kept is None else self._record(kept)

    def _all(self) -> list[ModelRecord]:
        found = ((path, self._read_file(path)) for path in self._folder.glob("*.json"))
        own = [kept for path, kept in found if kept is not None and path == self._path(kept.model)]
        return sorted((self._record(kept) for kept in own), key=lambda record: record.model)

    def _record(self, kept: ModelFile) -> ModelRecord:
        counts = counted(kept.calibration.done.values())
        rows = [row for event in EVENTS for row in self._journal(event)] if self._journal else []
        return ModelRecord(
            model=kept.model,
            tasks=counts.tasks,
            candidates=counts.candidates,
            tests=counts.tests,
            misread=counts.misread,
            practised=_at_most(kept.practised, counts.tests.total),
            first_time=kept.first_time,
            later=later_of(kept.model, rows),
        )

    def _done(self, model: str, version: str, *, again: bool) -> frozenset[str]:
        kept = self._read(model)
        begun = _begun(kept, version, again=again) if kept is not None else None
        return frozenset((begun.under_way or begun.calibration).done) if begun is not None else frozenset()

    def _begin(self, model: str, version: str, *, again: bool) -> None:
        with self._locked(model):
            kept = self._read(model) or ModelFile(model=model, calibration=Calibration(version=version))
            self._write(_begun(kept, version, again=again))

    def _add(self, model: str, task: str, result: TaskResult, of_tasks: int) -> None:
        with self._locked(model):
            kept = self._read(model)
            if kept is None:
                raise LibraryError(
                    f"The record of {model!r} is gone or damaged.", hint="Calibrate it from the start."
                )
            now = kept.under_way or kept.calibration
            now = now.model_copy(update={"done": {**now.done, task: result}})
            if kept.under_way is not None and len(now.done) < of_tasks:
                update: dict[str, Calibration | None] = {"under_way": now}
            else:
                update = {"calibration": now, "under_way": None}
            self._write(kept.model_copy(update=update))

    def _practise(self, coder: str, tester: str, practice: Practice) -> None:
        tests = Tally(right=practice.kept, wrong=practice.dropped)
        once = Tally(right=practice.first_time, wrong=not practice.first_time)
        for model in dict.fromkeys((coder, tester)):
            with self._locked(model):
                kept = self._read(model) or ModelFile(model=model, calibration=Calibration(version=""))
                update = {}
                if model == tester:
                    update["practised"] = _at_most(kept.practised + tests, MAX_PRACTICE)
                if model == coder:
                    update["first_time"] = _at_most(kept.first_time + once, MAX_PRACTICE)
                self._write(kept.model_copy(update=update))

    @contextmanager
    def _locked(self, model: str) -> Iterator[None]:
        self._make_folder()
        with held(self._path(model).with_suffix(".lock"), LOCK_S):
            yield

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as failure:
            raise unreadable(self._folder, failure) from failure
        if self._folder.is_symlink():
            raise LibraryError(f"{self._folder} is a link.", hint="Put a folder there, or nothing.")

    def _path(self, model: str) -> Path:
        name = hashlib.sha256(model.encode(errors="surrogatepass")).hexdigest()[:16]
        return self._folder / f"{name}.json"

    def _read(self, model: str) -> ModelFile | None:
        kept = self._read_file(self._path(model))
        if kept is not None and kept.model != model:
            _log.warning("The record of the model %r names another one and is ignored.", model)
            return None
        return kept

    def _read_file(self, path: Path) -> ModelFile | None:
        if not path.exists() and not path.is_symlink():
            return None
        try:
            content = b"" if path.parent.is_symlink() else read_plain_file(path, MAX_BYTES)
            return ModelFile.model_validate_json(content)
        except (Damaged, ValidationError, OSError) as damaged:
            said = "it is no record" if isinstance(damaged, ValidationError) else damaged
            _log.warning("The record of a model in %s is ignored: %s.", path.name, said)
            return None

    def _write(self, kept: ModelFile) -> None:
        path = self._path(kept.model)
        try:
            handle, aside = tempfile.mkstemp(dir=path.parent, suffix=".part")  # readable by its owner only
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(kept.model_dump_json().encode())
                    file.flush()
                    os.fsync(file.fileno())
                Path(aside).replace(path)
            except BaseException:
                Path(aside).unlink(missing_ok=True)
                raise
        except OSError as failure:
            raise unreadable(path, failure) from failure


def _begun(kept: ModelFile, version: str, *, again: bool) -> ModelFile:
    """The file with a calibration of this version under way; what is done counts until that one is complete."""
    if kept.under_way is not None and kept.under_way.version == version and not again:
        return kept
    fresh = Calibration(version=version)
    if not kept.calibration.done:
        return kept.model_copy(update={"calibration": fresh, "under_way": None})
    if kept.calibration.version == version and not again:
        return kept.model_copy(update={"under_way": None})
    return kept.model_copy(update={"under_way": fresh})


def _at_most(tally: Tally, total: float) -> Tally:
    """The same shares with no more weight than this."""
    if tally.total <= total:
        return tally
    share = total / tally.total
    return Tally(right=tally.right * share, wrong=tally.wrong * share)
