"""Persistent memory of tasks, which implements `agent.interface.Memory`: programs, facts and profiles of files.

Each memory is a file of its owner's. Neither `recall` nor `remember` raises, and a recall does not wait long: it is a
help, not a truth.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

import anyio
import anyio.to_thread
from pydantic import ValidationError

from alita_mcp.agent.interface import Fact, FinishedRun, Recalled, ToolProposal
from alita_mcp.agent.memory.instructions import gives_orders, overrides_instructions
from alita_mcp.agent.memory.likeness import coverage
from alita_mcp.agent.memory.privacy import Privacy
from alita_mcp.agent.memory.profiles import FileProfile, describe_text, file_digest, plain_text
from alita_mcp.agent.memory.programs import FILE_CHARACTERS, LONGEST_CODE, PROPOSED_AFTER, KeptProgram, learn, propose_tool
from alita_mcp.agent.memory.recalling import render
from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library.bounded_folder import BoundedFolder
from alita_mcp.library.words.stems import stems
from alita_mcp.machine import unusable
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
ABOUT_FROM = 0.6
"""So much of a fact's subject the task must mention."""
MOST_FACTS = 3
MOST_NOTES, LONGEST_NOTE = 10, 300
_EARLIER = ("memory.sqlite3", "memory.sqlite3-journal")
"""Files of earlier versions, whose recipes hold no whole program; removed."""
MemoryKind = Literal["program", "fact", "file"]
T = TypeVar("T", KeptProgram, Fact, FileProfile)
_CLASSES: Mapping[str, type[KeptProgram] | type[Fact] | type[FileProfile]] = {
    "program": KeptProgram, "fact": Fact, "file": FileProfile,
}  # fmt: skip
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
    """The memory of one home: an owner recalls its own alone, a person may see all; reads nothing before it is used."""

    def __init__(
        self, home: Path, secrets: Callable[[], Iterable[str]] = tuple, most: int = MOST_KEPT, *, owner: str = USER
    ) -> None:
        """`secrets` gives the values that must never be stored, besides keys of the environment."""
        self._home = home
        self._folders = {kind: BoundedFolder(home / FOLDER / kind, most, MOST_BYTES) for kind in _CLASSES}
        self._most = most
        self._secrets = secrets
        self._owner = owner

    async def recall(self, task: str, files: Mapping[str, Path] | None = None) -> Recalled:
        """What the owner's memory says about a task and its files; empty when out of time."""
        try:
            with anyio.move_on_after(RECALL_WITHIN_S):
                return await anyio.to_thread.run_sync(self._recall, task, files or {}, abandon_on_cancel=True)
        except Exception as failure:  # noqa: BLE001 - duty of the interface: a memory that fails stops no run
            _log.warning("Cannot recall earlier tasks: %s", failure)
        return Recalled()

    async def remember(self, finished: FinishedRun) -> ToolProposal | None:
        """Stores what a run found out; proposes a tool where its program has now answered a second task."""
        try:
            return await anyio.to_thread.run_sync(self._remember, finished)
        except Exception as failure:  # noqa: BLE001 - duty of the interface: a memory that fails stops no run
            _log.warning("Cannot remember the task: %s", failure)
        return None

    async def list(self, kind: MemoryKind | None = None, query: str = "") -> Sequence[MemoryEntry]:
        """All memories of all owners, or those of one kind, or those with all words of a query; newest first.

        Raises:
            LibraryError: they cannot be read.
        """
        words = stems(query)
        found = await anyio.to_thread.run_sync(lambda: [entry for _, entry in self._entries()])
        return [
            entry
            for entry in sorted(found, key=lambda each: (each.at, each.id), reverse=True)
            if kind in (None, entry.kind) and all(word in f"{entry.text} {entry.value}".lower() for word in words)
        ]

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
            places = [place for place, entry in self._entries() if everything or entry.id in ids]
            try:
                for place in places:
                    place.unlink(missing_ok=True)
                if everything:
                    self._remove_earlier()
                    shutil.rmtree(self._home / FOLDER, ignore_errors=True)
            except OSError as failure:
                raise unusable(self._home / FOLDER, failure) from failure
            return len(places)

        return await anyio.to_thread.run_sync(remove)

    async def export(self, path: Path, kind: MemoryKind | None = None) -> int:
        """Writes all memories, one JSON object a line; returns their number.

        Raises:
            LibraryError: they cannot be read, or the file not be written.
        """
        entries = await self.list(kind)
        lines = "".join(f"{entry.model_dump_json()}\n" for entry in entries)
        try:
            await anyio.Path(path).write_text(lines, encoding="utf-8")
        except OSError as failure:
            raise LibraryError(f"Cannot write {path}: {failure.strerror}.") from failure
        return len(entries)

    def _recall(self, task: str, files: Mapping[str, Path]) -> Recalled:
        if not task.strip():
            return Recalled()
        scored = [(value.similarity(task), entry.id, value) for entry, value in self._own(KeptProgram)]
        best = max((each for each in scored if each[0] >= ALIKE_FROM), key=lambda each: each[:2], default=None)
        about = [(coverage(value.subject, task), entry.id, value) for entry, value in self._own(Fact)]
        about = sorted((each for each in about if each[0] >= ABOUT_FROM), key=lambda each: each[:2])[-MOST_FACTS:]
        known = {value.digest: (entry.id, value) for entry, value in self._own(FileProfile)}
        # A file that no run has seen is described at once.
        digests = {name: file_digest(path) for name, path in files.items()}
        profiles = {name: known[digest] for name, digest in digests.items() if digest in known}
        new = {name: describe_text(name, plain_text(path)) for name, path in files.items() if name not in profiles}
        ids = [*([best[1]] if best else ()), *(each[1] for each in about), *(each for each, _ in profiles.values())]
        self._touch(ids)
        described = {name: profile for name, (_, profile) in profiles.items()}
        described |= {name: FileProfile(digest="", name=name, profile=said) for name, said in new.items() if said}
        return render(task, best[2] if best else None, [each[2] for each in about[::-1]], described, ids)

    def _remember(self, finished: FinishedRun) -> ToolProposal | None:
        self._remove_earlier()
        privacy = Privacy(self._secrets())
        # 1. What a page says is kept with its address, what a file says with the profile of the file.
        notes: dict[str, list[str]] = {}
        for fact in finished.facts:
            said = " ".join(HIDDEN.sub(" ", fact.text).strip().strip("“”").split())[:998]
            if not said or gives_orders(said) or gives_orders(fact.subject):
                continue
            fact = fact.model_copy(update={"text": f"“{said}”"})
            name = fact.source.url.removeprefix("file:")
            if name != fact.source.url:
                notes.setdefault(name, []).append(f"{one_line(fact.subject, 150)}: {fact.text}")
            elif not privacy.is_private(fact.model_dump()):
                line = f"{fact.subject}: {fact.text} ({fact.source.url})"
                self._write("fact", " ".join(sorted({*stems(fact.subject)})) or fact.subject, fact, finished.at, line)
        # 2. The files of the task.
        for file in finished.files:
            if not (digest := file_digest(file.path)):
                continue
            known = next((value for _, value in self._own(FileProfile) if value.digest == digest), None)
            new_notes = [one_line(note, LONGEST_NOTE) for note in (*notes.get(file.name, ()), *finished.notes)]
            new_notes = [each for each in new_notes if not gives_orders(each) and not privacy.is_private(each)]
            profile = FileProfile(
                digest=digest,
                name=file.name,
                profile=describe_text(file.name, plain_text(file.path) or file.text),
                notes=tuple(dict.fromkeys((*new_notes, *(known.notes if known else ()))))[:MOST_NOTES],
                text=file.text or (known.text if known else ""),
            )
            for field in ("text", "profile"):
                if privacy.is_private(getattr(profile, field)):
                    profile = profile.model_copy(update={field: ""})
            line = f"{file.name}: {profile.profile or 'no profile'}"
            self._write("file", digest, profile, finished.at, line)
        # 3. The program that the answer rests on.
        proposal = None
        for program in finished.programs[-1:]:
            if len(program.code) > LONGEST_CODE or overrides_instructions(program.code):
                continue
            texts = {file.name: text for file in finished.files if (text := plain_text(file.path, FILE_CHARACTERS))}
            kept = learn(finished, program, [value for _, value in self._own(KeptProgram)], texts)
            values = [run.model_dump(exclude={"run"}) for run in kept.runs]
            if privacy.is_private(values, code=kept.code) or overrides_instructions(json.dumps(values[-1])):
                continue
            line = f"{kept.runs[-1].task} ({len(kept.runs)} runs)"
            self._write("program", kept.key, kept, finished.at, line)
            proposal = propose_tool(kept) if len(kept.runs) == PROPOSED_AFTER else None
        return proposal

    def _own(self, kind: type[T]) -> list[tuple[MemoryEntry, T]]:
        """The owner's memories of a kind."""
        name = next(each for each, known in _CLASSES.items() if known is kind)
        places = self._folders[name].newest("*.json", self._most, self._owner)
        entries = filter(None, map(_read_entry, places))
        return [(entry, kind.model_validate(entry.value)) for entry in entries if entry.owner == self._owner]

    def _entries(self) -> list[tuple[Path, MemoryEntry]]:
        places = sorted((self._home / FOLDER).glob("*/*.json"))
        return [(place, entry) for place in places if (entry := _read_entry(place))]

    def _write(self, kind: MemoryKind, key: str, value: Value, at: str, text: str) -> None:
        mark = hashlib.sha256(f"{self._owner} {key}".encode("utf-8", "replace")).hexdigest()[:12]
        entry = MemoryEntry(
            id=f"{kind}-{mark}", kind=kind, at=at, text=one_line(HIDDEN.sub(" ", text)),
            value=value.model_dump(mode="json"), owner=self._owner,
        )  # fmt: skip
        self._folders[kind].write_file(f"{mark}.json", entry.model_dump_json().encode(), self._owner)

    def _touch(self, ids: Iterable[str]) -> None:
        """Keeps memories that were used when others make room."""
        for each in ids:
            kind, _, mark = each.partition("-")
            place = self._folders[kind].find(f"{mark}.json", self._owner)
            with suppress(OSError):
                os.utime(place or "")

    def _remove_earlier(self) -> None:
        for name in _EARLIER:
            (self._home / name).unlink(missing_ok=True)
        shutil.rmtree(self._home / "memory.damaged", ignore_errors=True)


def _read_entry(place: Path) -> MemoryEntry | None:
    """A memory; None for a damaged one, or one of a later version."""
    try:
        entry = MemoryEntry.model_validate_json(place.read_bytes())
        _CLASSES[entry.kind].model_validate(entry.value)
    except FileNotFoundError:  # another process removed it
        return None
    except (ValidationError, KeyError):
        _log.warning("%s is damaged and is not used.", place)
        return None
    return entry
