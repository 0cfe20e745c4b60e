"""Persistent memory of tasks: programs and profiles of files.

Each memory is a file of its owner's. Nothing secret is stored; what is stored is bounded, dated and de-duplicated.
Neither `recall` nor `remember` raises, and a recall does not wait long: it is a help, not a truth.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from alita_mcp.agent.interface import FinishedRun, Recalled, ToolProposal
from alita_mcp.agent.memory.instructions import gives_orders, overrides_instructions
from alita_mcp.agent.memory.privacy import Privacy
from alita_mcp.agent.memory.profiles import FileProfile, plain_text, profile_file
from alita_mcp.agent.memory.programs import (
    FILE_CHARACTERS,
    LONGEST_CODE,
    PROPOSED_AFTER,
    KeptProgram,
    learn,
    propose_tool,
)
from alita_mcp.agent.memory.recalling import render
from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.bounded_folder import StoredFile
from alita_mcp.library.storage import BoundedFiles, Storage
from alita_mcp.owners import USER
from alita_mcp.texts import one_line
from alita_mcp.unseen import HIDDEN
from alita_mcp.values import Value

FOLDER = "memory"
RECALL_WITHIN_S = 1.0
MOST_KEPT, MOST_BYTES = 300, 8 << 20
"""Memories of each kind, of all owners together."""
ALIKE_FROM = 0.4
"""Programs of less similar tasks are not recalled."""
MOST_NOTES, LONGEST_NOTE = 10, 300
LONGEST_TASK = 200
"""Characters of a task in a note on what its file says."""
MOST_SHOWN, MOST_SEEN = 5, 20
"""Files of one task that are described, and remembered."""
MemoryKind = Literal["program", "file"]
Memorable = KeptProgram | FileProfile
T = TypeVar("T", KeptProgram, FileProfile)
_KINDS: Mapping[type[Memorable], MemoryKind] = {KeptProgram: "program", FileProfile: "file"}
_log = logging.getLogger(__name__)


class MemoryEntry(Value):
    """One memory, as it is stored and as a person sees it."""

    id: str
    kind: MemoryKind
    at: str
    """ISO 8601 date of when it was found out."""
    text: str
    """One line that says what it is."""
    value: dict[str, Any]
    """The whole of it."""
    owner: str = USER


class StoredMemory:
    """The memory of one library: an owner recalls its own, a person may see all; reads nothing before it is used."""

    def __init__(
        self,
        storage: Storage,
        secrets: Callable[[], Iterable[str]] = tuple,
        most: int = MOST_KEPT,
        *,
        owner: str = USER,
    ) -> None:
        """`secrets` gives the values that must never be stored, besides keys of the environment."""
        self._home = storage.home
        self._files: Mapping[str, BoundedFiles] = {
            kind: storage.files(f"{FOLDER}/{kind}", most, MOST_BYTES) for kind in _KINDS.values()
        }
        self._most = most
        self._secrets = secrets
        self._owner = owner

    async def recall(self, task: str, files: Mapping[str, Path] | None = None) -> Recalled:
        """What the owner's memory says about a task and its files; empty when out of time."""
        try:
            with anyio.move_on_after(RECALL_WITHIN_S):
                return await anyio.to_thread.run_sync(self._recall, task, files or {}, abandon_on_cancel=True)
        except Exception as failure:  # noqa: BLE001 - a memory that fails stops no run
            _log.warning("Cannot recall earlier tasks: %s", failure)
        return Recalled()

    async def remember(self, finished: FinishedRun) -> ToolProposal | None:
        """Stores what a run found out; proposes a tool where its program has now answered a second task."""
        try:
            return await anyio.to_thread.run_sync(self._remember, finished)
        except Exception as failure:  # noqa: BLE001 - a memory that fails stops no run
            _log.warning("Cannot remember the task: %s", failure)
        return None

    async def list(self) -> Sequence[MemoryEntry]:
        """All memories of all owners, newest first.

        Raises:
            LibraryError: they cannot be read.
        """
        found = await anyio.to_thread.run_sync(lambda: [entry for _, entry in self._entries()])
        return sorted(found, key=lambda each: (each.at, each.id), reverse=True)

    async def show(self, memory_id: str) -> MemoryEntry:
        """One memory by its id.

        Raises:
            ToolNotFound: there is none.
            LibraryError: they cannot be read.
        """
        found = next((each for each in await self.list() if each.id == memory_id), None)
        if found is None:
            raise ToolNotFound(f"There is no memory {memory_id[:60]!r}.", hint="List them: alita memory list")
        return found

    async def forget(self, ids: Collection[str] = (), *, everything: bool = False) -> int:
        """Removes memories from the disk: those of these ids, or all; returns their number.

        Raises:
            LibraryError: they cannot be read or removed.
        """

        def remove() -> int:
            found = [(file, entry) for file, entry in self._entries() if everything or entry.id in ids]
            for file, entry in found:
                if not self._files[entry.kind].replace_file(file, None):
                    return remove()  # another process wrote or removed it meanwhile
            if everything:  # also what cannot be read
                self._remove_earlier()
                for files in self._files.values():
                    for file in files.newest("*", None, self._most):
                        files.replace_file(file, None)
                shutil.rmtree(self._home / FOLDER, ignore_errors=True)
            return len(found)

        return await anyio.to_thread.run_sync(remove)

    def _recall(self, task: str, files: Mapping[str, Path]) -> Recalled:
        programs = self._find(KeptProgram, lambda kept: kept.similarity(task), ALIKE_FROM)[:1]
        # A file that no run has seen is described at once.
        new, until = dict[str, FileProfile](), time.monotonic() + RECALL_WITHIN_S / 2
        for name, path in islice(files.items(), MOST_SHOWN):
            if time.monotonic() < until:  # large files must not keep a program back
                new[name] = profile_file(name, path)
        digests = {each.digest for each in new.values() if each.digest}
        seen = self._find(FileProfile, lambda kept: float(kept.digest in digests), 1.0)
        known = {kept.digest: kept for _, kept in seen}
        profiles = {name: known.get(each.digest, each) for name, each in new.items()}
        ids = [each for each, _ in (*programs, *seen)]
        for each in ids:  # what is used stays when others make room
            kind, _, mark = each.partition("-")
            with suppress(LibraryError):
                for file in self._files[kind].newest(f"{mark}.json", self._owner, 1):
                    self._files[kind].replace_file(file, file.content)
        program = programs[0][1] if programs else None
        return render(task, program, profiles, ids)

    def _remember(self, finished: FinishedRun) -> ToolProposal | None:
        self._remove_earlier()
        privacy = Privacy(self._secrets())

        def is_unfit(text: str) -> bool:
            return gives_orders(text) or privacy.is_private(text)

        # 1. The files of the task, with what they were found to say.
        kept_files = [value for _, value in self._find(FileProfile)]
        for file in finished.files[:MOST_SEEN]:
            profile = profile_file(file.name, file.path, file.text)
            known = [value for value in kept_files if value.digest == profile.digest]
            said = [
                " ".join(HIDDEN.sub(" ", text).split()).strip("“”")
                for text in file.found
                if not gives_orders(text)
            ]
            fresh = (*(f"{finished.task[:LONGEST_TASK]}: “{text}”" for text in said), *finished.notes)
            notes = [one_line(note, LONGEST_NOTE) for note in fresh if not is_unfit(note)]
            notes += [note for old in known for note in old.notes]
            update = {
                "notes": tuple(dict.fromkeys(notes))[:MOST_NOTES],
                "text": ""
                if privacy.is_private(profile.text) or overrides_instructions(profile.text)
                else profile.text,
                "profile": "" if is_unfit(profile.profile) else profile.profile,
            }
            if profile.digest:
                line = f"{file.name}: {update['profile']}"
                self._write(profile.model_copy(update=update), profile.digest, finished.at, line)
        # 2. The program that the answer rests on, the last one.
        if not finished.programs or len(finished.programs[-1].code) > LONGEST_CODE:
            return None
        texts = {file.name: plain_text(file.path, FILE_CHARACTERS) for file in finished.files}
        program = learn(finished, [value for _, value in self._find(KeptProgram)], texts)
        values = program.runs[-1].model_dump(exclude={"run"})
        if privacy.is_private(values, code=program.code) or overrides_instructions(
            f"{program.code} {values}"
        ):
            return None
        many = len(program.runs)
        self._write(
            program, program.key, finished.at, f"{finished.task} (a program that answered {many} tasks)"
        )
        return propose_tool(program) if many == PROPOSED_AFTER else None

    def _find(
        self, kind: type[T], score: Callable[[T], float] = lambda _: 0.0, least: float = 0.0
    ) -> Sequence[tuple[str, T]]:
        """The owner's memories of a kind with their ids, the best first; of equal ones the newest."""
        files = self._files[_KINDS[kind]].newest("*.json", self._owner, self._most)[::-1]
        entries = [
            entry
            for file in files
            if (entry := _read_entry(file, _KINDS[kind])) and entry.owner == self._owner
        ]
        values = ((entry.id, kind.model_validate(entry.value)) for entry in entries)
        scored = sorted(((score(value), name, value) for name, value in values), key=lambda each: -each[0])
        return [each[1:] for each in scored if each[0] >= least]

    def _entries(self) -> Sequence[tuple[StoredFile, MemoryEntry]]:
        found = [
            (file, kind)
            for kind, files in self._files.items()
            for file in files.newest("*.json", None, self._most)
        ]
        return [(file, entry) for file, kind in found if (entry := _read_entry(file, kind))]

    def _write(self, value: Memorable, key: str, at: str, text: str) -> None:
        kind = _KINDS[type(value)]
        mark = hashlib.sha256(f"{self._owner} {key}".encode("utf-8", "replace")).hexdigest()[:12]
        entry = MemoryEntry(
            id=f"{kind}-{mark}", kind=kind, at=at, text=one_line(HIDDEN.sub(" ", text)), owner=self._owner,
            value=value.model_dump(mode="json"),
        )  # fmt: skip
        self._files[kind].write_file(f"{mark}.json", entry.model_dump_json().encode(), self._owner)

    def _remove_earlier(self) -> None:
        """Removes what earlier versions remembered in the home: their recipes hold no whole program."""
        (self._home / "memory.sqlite3").unlink(missing_ok=True)
        shutil.rmtree(self._home / "memory.damaged", ignore_errors=True)


def _read_entry(file: StoredFile, kind: str) -> MemoryEntry | None:
    """A memory; None for one that is damaged, or of another place."""
    try:
        entry = MemoryEntry.model_validate_json(file.content)
        next(each for each, known in _KINDS.items() if known == entry.kind).model_validate(entry.value)
    except ValidationError:
        return None
    mark = file.name.removesuffix(".json")
    return entry if entry.id == f"{kind}-{mark}" == f"{entry.kind}-{mark}" else None
