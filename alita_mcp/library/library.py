"""The library: what the rest of the program knows of all tools. Disk and search stand behind it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from alita_mcp.errors import LibraryError, ToolUnavailable
from alita_mcp.library.call_journal import CallJournal
from alita_mcp.library.catalogue_rows import JournalRow, Snapshot
from alita_mcp.library.export import export_version
from alita_mcp.library.finder import finder_for
from alita_mcp.library.listeners import Listeners
from alita_mcp.library.listing import answer, difference, enabled
from alita_mcp.library.loaded import LoadedVersions
from alita_mcp.library.naming import deleted, existing_version, not_found, version_before, why_not_callable
from alita_mcp.library.permits import too_thin
from alita_mcp.library.runs import Runs
from alita_mcp.library.search_answer import SearchAnswer, SearchHit
from alita_mcp.library.store import Store
from alita_mcp.library.trust import may_hold_grants
from alita_mcp.settings import Settings
from alita_mcp.values import AcceptedVersion, CatalogueEntry, Lock, Manifest, StoredVersion

WATCH_EVERY_S = 0.25
THREADS = 8

__all__ = ["Library", "SearchAnswer", "SearchHit"]
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Library:
    """All tools of one home. What is listed is read from memory; everything else runs in worker threads."""

    def __init__(self, store: Store, tasks: TaskGroup, settings: Settings) -> None:
        """Made by `open_library`; `tasks` carries the work in the background."""
        self.home: Path = store.home
        self.permits = store.permits
        self._store = store
        self._loaded = LoadedVersions(store.files, store.read)
        self.calls = CallJournal(store.catalogue)
        self._runs = Runs(store.home / "runs")
        self._threads = anyio.CapacityLimiter(THREADS)
        self._finder = finder_for(settings, store.catalogue.path, tasks)
        self._listeners = Listeners()
        self._generation, self._snapshot = 0, Snapshot(0, {}, {})
        self._entries: tuple[CatalogueEntry, ...] = ()
        self._total = 0

    @property
    def generation(self) -> int:
        """Grows with every change of any tool's standing that this process knows of; use does not count."""
        return self._generation

    def entries(self) -> tuple[CatalogueEntry, ...]:
        """All tools but the deleted ones, the oldest first."""
        return self._entries

    def entry(self, name: str) -> CatalogueEntry:
        """One tool as it stands.

        Raises:
            ToolNotFound: no tool has that name; `nearest` look alike.
            ToolUnavailable: it is deleted; the hint says how it comes back.
        """
        entry = self._snapshot.entries.get(name)
        if entry is None:
            raise not_found(name, (known.name for known in self.entries()))
        if entry.state == "deleted":
            raise deleted(name)
        return entry

    def evidence(self, name: str, version: int) -> tuple[str, ...]:
        """Kinds of sandbox in which a version passed its gates; none for what is unknown."""
        return tuple(self._snapshot.evidence.get((name, version), {}))

    async def callable_entry(self, name: str) -> CatalogueEntry:
        """One tool that may be called now.

        Raises:
            ToolNotFound: no tool has that name.
            ToolUnavailable: it is deleted, disabled, quarantined or not approved; the hint says what to do.
        """
        entry = await self._known(name)
        if unavailable := why_not_callable(entry) or self.permits.refusal(entry.manifest):
            raise unavailable
        return entry

    async def read(self, name: str, version: int | None = None) -> StoredVersion:
        """A version from disk (default: the current one), proved unchanged; disabled tools can be read too.

        Raises:
            ToolNotFound: there is no such tool or version.
            ToolUnavailable: the tool is deleted.
            ToolQuarantined: a file is not what was verified; it is journalled and will not run.
        """
        number = existing_version(await self._known(name, version), version)
        kept = self._loaded.unchanged(name, number)
        if kept is not None and (name, number) not in self._snapshot.quarantined:
            return kept
        try:
            return await self._in_thread(self._loaded.read, name, number)
        except ToolUnavailable:
            await self.refresh()
            raise

    async def publish(self, accepted: AcceptedVersion, *, expected_version: int) -> Manifest:
        """Publishes an accepted version: 0 for a new name, k for a version on top of the newest one, v<k>.

        Raises:
            NameTaken: somebody published this name, or is doing so.
            ToolUnavailable: the tool is deleted.
            LibraryError: it was not accepted, cannot be kept, or the disk refuses; nothing is left behind.
        """
        return await self._change(self._store.publish, accepted, expected_version)

    async def raise_trust(self, accepted: AcceptedVersion, known: StoredVersion) -> Manifest:
        """Gives a published version more examples and their report; raises as `Store.raise_trust`."""
        return await self._change(self._store.raise_trust, accepted, known)

    def lock_in(self, name: str, version: int, sandbox_kind: str) -> Lock | None:
        """The packages a version was proved with in a kind of sandbox, where they are not those of the version."""
        lock = self._snapshot.evidence.get((name, version), {}).get(sandbox_kind)
        return Lock.model_validate_json(lock) if lock else None

    async def raise_evidence(self, name: str, version: int, sandbox_kind: str, lock: Lock) -> None:
        """Records that a version passed its gates under another kind of sandbox too, with these packages."""
        kept: dict[str, Any] = {
            "sandbox": sandbox_kind,
            "lock": lock.model_dump_json() if lock.requirements else "",
        }
        await self._change(partial(self._store.catalogue.change, **kept), "passed elsewhere", name, version)

    async def pin(self, name: str) -> CatalogueEntry:
        """Lists a tool before all that are not pinned."""
        return await self._alter("pinned", name)

    async def unpin(self, name: str) -> CatalogueEntry:
        """Undoes `pin`."""
        return await self._alter("unpinned", name)

    async def disable(self, name: str) -> CatalogueEntry:
        """Takes a tool out of lists and calls until `enable`."""
        return await self._alter("disabled", name)

    def caches(self, name: str) -> bool:
        """Whether results of a tool may be kept, as far as a person decides that."""
        return name not in self._snapshot.uncached

    async def set_caching(self, name: str, *, on: bool) -> CatalogueEntry:
        """A person says whether results of a tool may be kept."""
        return await self._alter("cache on" if on else "cache off", name)

    async def approve(self, name: str) -> CatalogueEntry:
        """A person grants what the current version asks for, and only that version.

        Raises:
            ToolUnavailable: it is not `verified`; the hint says what would raise its trust.
        """
        if not may_hold_grants((await self._known(name)).manifest):
            raise too_thin(await self.read(name))
        return await self._alter("approved", name)

    async def revoke(self, name: str) -> CatalogueEntry:
        """A person takes all grants of a tool back."""
        return await self._alter("revoked", name)

    async def delete(self, name: str) -> CatalogueEntry:
        """Puts up a tombstone; answers the entry as it was last known."""
        return await self._alter("deleted", name)

    async def enable(self, name: str) -> CatalogueEntry:
        """Brings a disabled, deleted or quarantined tool back; ToolNotFound, or raises as `Store.enable`."""
        if name not in self._snapshot.entries:
            await self._known(name)
        await self._change(self._store.enable, name, self._snapshot.entries[name].manifest.version)
        return self.entry(name)

    async def learn_wording(self, name: str, text: str, *, from_use: bool = False) -> None:
        """Records a request in other words that a tool serves, told or seen in use; it is found by them from now on."""
        event = "learned" if from_use else "worded"
        await self._change(partial(self._store.catalogue.change, text=text), event, name)

    async def rollback(self, name: str, version: int | None = None) -> CatalogueEntry:
        """Makes another version the current one; default: the one before the current.

        Raises:
            ToolNotFound: there is no such tool or version.
            UsageError: there is no version before the current one.
            ToolQuarantined: that version is not what was verified.
        """
        entry = await self._known(name, version)
        target = version_before(entry) if version is None else version
        await self.read(name, target)
        return await self._alter("rolled back", name, target)

    async def export(self, name: str, version: int | None = None) -> Path:
        """Writes a folder that runs anywhere without alita; answers where it is. Errors as `read`."""
        stored = await self.read(name, version)
        folder = await self._in_thread(export_version, self.home / "exports", stored)
        await self.record("exported", name, {"folder": str(folder)}, stored.manifest.version)
        return folder

    async def settle(self) -> None:
        """Returns when all calls that were recorded are on the disk and in the entries' use."""
        await self._change(self.calls.write)

    async def record(
        self, event: str, name: str | None, detail: dict[str, Any], version: int | None = None
    ) -> None:
        """Writes an event into the journal."""
        await self._in_thread(self._store.catalogue.record, event, name, version, detail)

    def journal(self, limit: int = 100, event: str | None = None) -> list[JournalRow]:
        """The newest events first, all or those of one kind."""
        self.calls.write()
        return self._store.catalogue.journal(limit, event)

    async def search(self, query: str, limit: int) -> SearchAnswer:
        """The tools that serve a need, and how sure that is."""
        found = await self._found(query)
        return answer(found, self._snapshot.entries, limit, self._total)

    async def make_searchable(self) -> None:
        """Gives tools their vectors in the background, from a moment from now on, where an embedder is configured."""
        await self._finder.make_ready()

    async def similar(self, text: str, limit: int = 5) -> tuple[str, ...]:
        """Names of the tools whose words are nearest to a draft's name and description."""
        return tuple(islice((name for name, _ in await self._found(text) if self._is_enabled(name)), limit))

    async def _found(self, text: str) -> list[tuple[str, float]]:
        """What the search finds; a tool that it knows and we do not is of another process, just now."""
        found = await self._finder.find(text)
        if not all(self._is_enabled(name) for name, _ in found):
            await self.refresh()
        return found

    def _is_enabled(self, name: str) -> bool:
        entry = self._snapshot.entries.get(name)
        return entry is not None and entry.state == "enabled"

    async def reindex(self) -> int:
        """Reads every tool again, quarantines the changed ones, makes the search tables anew; answers their number."""
        for entry in self.entries():
            try:
                await self.read(entry.name)
            except ToolUnavailable as damaged:
                _log.warning("%s", damaged)
        rows = await self._in_thread(self._store.catalogue.reindex)
        self._finder.follow()
        await self.record("reindexed", None, {"rows": rows})
        return rows

    async def keep_run(self, result: JsonValue) -> str:
        """Stores a whole result; answers the name to read it by."""
        return await self._in_thread(self._runs.keep, result)

    async def read_run(self, run: str) -> JsonValue:
        """A stored result; ToolNotFound when there is none of that name, or no longer."""
        return await self._in_thread(self._runs.read, run)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls back on the event loop after every committed change of what is listed; answers how to stop that."""
        return self._listeners.add(callback)

    async def refresh(self) -> None:
        """Takes in what other processes committed; the watcher does so by itself four times a second."""
        self._apply(await self._in_thread(self._store.snapshot))

    async def watch(self) -> None:
        """Notices what other processes commit and what people grant, for as long as it runs."""
        seen = None
        while True:
            try:
                used = self.calls.waiting and await self._in_thread(self.calls.write)
                mark = await self._in_thread(self._store.mark)
                if used or mark != seen:
                    await self.refresh()
                seen = mark
            except LibraryError as failure:
                _log.warning("%s", failure)
            await anyio.sleep(WATCH_EVERY_S)

    def close(self) -> None:
        """Writes the last calls and lets go of the search; the store is closed by who opened it."""
        try:
            self.calls.write()
        except LibraryError as failure:
            _log.warning("%s", failure)
        self._finder.close()

    async def _known(self, name: str, version: int | None = None) -> CatalogueEntry:
        """`entry`, after a second look at the catalogue when this process does not know the name or version."""
        entry = self._snapshot.entries.get(name)
        if entry is None or (version is not None and version not in entry.versions):
            await self.refresh()
        return self.entry(name)

    async def _alter(self, event: str, name: str, version: int | None = None) -> CatalogueEntry:
        await self._known(name)
        await self._change(self._store.catalogue.change, event, name, version)
        return self._snapshot.entries[name] if event == "deleted" else self.entry(name)

    async def _change(self, work: Callable[..., T], *arguments: Any) -> T:
        """Runs a change to its end, cancelled or not, and takes in how things stand afterwards."""
        try:
            return await self._in_thread(work, *arguments)
        finally:
            with anyio.CancelScope(shield=True):
                await self.refresh()

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._threads)

    def _apply(self, snapshot: Snapshot) -> None:
        if snapshot.serial <= self._snapshot.serial:
            return
        before, self._snapshot = self._snapshot.entries, snapshot
        if before is snapshot.entries:
            return
        self._entries = tuple(entry for entry in snapshot.entries.values() if entry.state != "deleted")
        different = difference(before, snapshot.entries)
        if not different.stands:
            return
        self._generation += 1
        self._total = enabled(snapshot.entries)
        self._finder.follow()
        if different.listed:
            self._listeners.tell()
