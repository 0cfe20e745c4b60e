"""Library of all tools in one home, as the rest of the program uses it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio import from_thread
from anyio.abc import TaskGroup
from anyio.lowlevel import current_token

from alita_mcp.domains import FILE, read_domains
from alita_mcp.errors import LibraryError, ToolNotFound, ToolUnavailable
from alita_mcp.library.catalogue.reader import CatalogueReader, Changes
from alita_mcp.library.catalogue.use import FOUND_NOTHING
from alita_mcp.library.catalogue.waiting import NOT_APPROVED, WaitingVersion
from alita_mcp.library.disk import replace_file
from alita_mcp.library.grants.approving import approval_of
from alita_mcp.library.grants.code_approvals import AskedCode, CodeApprovals
from alita_mcp.library.journal.calls import CallJournal
from alita_mcp.library.journal.gaps import Gap, find_gaps
from alita_mcp.library.kept_results import KeptResults
from alita_mcp.library.promotion import newcomers
from alita_mcp.library.quotas import Quotas
from alita_mcp.library.rows import By, CatalogueEntry, JournalRow
from alita_mcp.library.search.answer import ALWAYS_SHOWN, SearchAnswer, SearchHit, search_answer
from alita_mcp.library.search.finder import finder_for
from alita_mcp.library.storage import Storage
from alita_mcp.library.trust.trust import may_hold_grants
from alita_mcp.library.versions import naming
from alita_mcp.library.versions.export import export_version
from alita_mcp.library.versions.loaded import LoadedVersions
from alita_mcp.library.versions.store import Store
from alita_mcp.owners import USER, team_of
from alita_mcp.settings import Settings
from alita_mcp.values import AcceptedVersion, Lock, Manifest, StoredVersion

WATCH_EVERY_S = 0.25
THREADS = 8
GAPS_FROM = 100_000
"""The newest searches in vain that gaps are found in."""
GAPS_CHECKED = 3
"""For each gap to show, this many are searched again, because a tool may serve some of them by now."""

__all__ = ["Library", "SearchAnswer", "SearchHit"]
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass
class _Following:
    """How far a library follows its catalogue; its readers share it."""

    seen: Changes


class Library:
    """All tools of one home. How single tools stand is read at once; what takes longer, in worker threads."""

    def __init__(self, store: Store, tasks: TaskGroup, settings: Settings, storage: Storage) -> None:
        """Made by `open_library`; `tasks` carries the work in the background."""
        self.home: Path = store.home
        self.storage = storage
        """Where all else is stored."""
        self.code_approvals = CodeApprovals(storage)
        self.quotas = Quotas(settings, storage.database)
        self.effective_grants = store.effective_grants
        self.tools: CatalogueReader = store.reader
        """Reader of many tools at once; takes milliseconds and more in a large library."""
        self._store = store
        self._loaded = LoadedVersions(store.files, store.read_version)
        self.calls = CallJournal(store.catalogue)
        self._threads = anyio.CapacityLimiter(THREADS)
        self._finder = finder_for(settings, store.catalogue.path, tasks)
        self._listeners: dict[object, Callable[[], None]] = {}
        self._following = _Following(Changes(0, 0))
        self._counted: tuple[int, int] = (-1, 0)
        self._has_teams = bool(settings.library or settings.oauth_issuer)
        self._views: dict[str, Library] = {}
        self._team: str | None = None
        self._named: tuple[int, list[str]] = (-1, [])

    def seen_by(self, owner: str) -> Library:
        """The library as an owner sees it and may change it: tools of another team are not there.

        Tools without a team are there for all, but a team cannot change them. The user sees all.
        """
        if not self._has_teams or owner == USER or self._team is not None:
            return self
        team = team_of(owner)
        if team not in self._views:
            view = self._views[team] = copy(self)
            view.tools, view._finder = self.tools.of_team(team), self._finder.of_team(team)  # noqa: SLF001
            view._team = team  # noqa: SLF001
        return self._views[team]

    def is_taken(self, name: str) -> bool:
        """Whether a tool has this name that is not this reader's to change: of another team, or of none."""
        if self._team is None or self._store.reader.entry(name) is None:
            return False
        return team_of(self._store.reader.origin(name, 1).owner) != self._team

    def check_own(self, name: str) -> None:
        """Checks that a tool which this reader sees is its own to change.

        Raises:
            ToolUnavailable: it has no team, and the reader has one.
        """
        if self.tools.entry(name) is not None and self.is_taken(name):
            raise ToolUnavailable(
                f"{name} is everybody's: only a person at the server's command line changes it.",
                hint="Make a tool of another name.",
            )

    def sees_code(self, asked: AskedCode) -> bool:
        """Whether code that asked for rights is of this reader's team; the user sees all."""
        return self._team is None or self._team == team_of(asked.owner) != ""

    def _check_code(self, number: str) -> None:
        if not self.sees_code(self.code_approvals.find(number)):
            self.code_approvals.find("")  # raises as for a number that none has

    def promotable(self, at_most: int, *, reviewed_only: bool = False) -> tuple[CatalogueEntry, ...]:
        """Few tools, with all among them that `Promotion` would choose of the whole library."""
        names = self.tools.candidates(at_most, newcomers(at_most), reviewed_only=reviewed_only)
        return tuple(self.tools.some(names).values())

    def entry(self, name: str) -> CatalogueEntry:
        """One tool as it stands.

        Raises:
            ToolNotFound: no tool has that name; `nearest` look alike.
            ToolUnavailable: it is deleted or damaged; the hint says how it comes back.
        """
        entry = self.tools.entry(name)
        if entry is None:
            raise naming.not_found_error(name, self.tools.names_like(name))
        if entry.state == "deleted":
            raise naming.deletion_error(name)
        return entry

    async def find_entry(self, name: str) -> CatalogueEntry:
        """One tool as it stands, if only another server knew it until now; raises as `entry`."""
        try:
            return self.entry(name)
        except ToolNotFound:
            await self.look_again()
            return self.entry(name)

    def callable_entry(self, name: str) -> CatalogueEntry:
        """One tool that may be called now.

        Raises:
            ToolNotFound: no tool has that name.
            ToolUnavailable: it is deleted, disabled, quarantined or not approved; the hint says what to do.
        """
        return self.check_callable(self.entry(name))

    def check_callable(self, entry: CatalogueEntry) -> CatalogueEntry:
        """The same entry, if its tool may be called; raises as `callable_entry`."""
        if entry.state != "enabled":
            raise naming.not_callable(entry)
        if self.effective_grants.of(entry.manifest) is None:
            raise self.effective_grants.not_granted(entry.manifest)
        return entry

    async def read(
        self, name: str, version: int | None = None, entry: CatalogueEntry | None = None
    ) -> StoredVersion:
        """A version from disk (default: the current one), proved unchanged; disabled tools can be read too.

        `entry` is the tool's, where the caller has just read it.

        Raises:
            ToolNotFound: there is no such tool or version.
            ToolUnavailable: the tool is deleted.
            ToolQuarantined: a file is not what was verified; it is journalled and will not run.
        """
        entry = entry or self.entry(name)
        number = naming.find_version(entry, version)
        kept = self._loaded.find_unchanged(name, number)
        if kept is not None and number == entry.manifest.version and entry.state == "enabled":
            return kept
        row = self.tools.version_row(name, number)
        if kept is not None and row is not None and row.quarantined is None:
            return kept
        try:
            return await self._in_thread(self._loaded.read_version, name, number)
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
        self.check_own(accepted.draft.name)
        return await self._change(self._store.publish, accepted, expected_version)

    async def raise_trust(self, accepted: AcceptedVersion, known: StoredVersion) -> Manifest:
        """Gives a published version more examples and their report; raises as `Store.raise_trust`."""
        self.check_own(accepted.draft.name)
        return await self._change(self._store.raise_trust, accepted, known)

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
        """Removes a tool from lists and calls until `enable`."""
        return await self._alter("disabled", name)

    async def approve(
        self,
        name: str,
        digest: str | None = None,
        *,
        hosts: Sequence[str] = (),
        seen: int | None = None,
        by: By = "person",
        once: bool = False,
        origin: Mapping[str, str] | None = None,
    ) -> CatalogueEntry:
        """Grants what one version asks for, of its hosts only these if any are named.

        Raises as `approval_of`, where it is not as `seen`, or with `once` where somebody else granted it first.

        The `origin` (`from` terminal, digest, policy, page or elicitation, at which `client`) is journalled.
        """
        wanted = await approval_of(self, name, digest, hosts)
        if wanted is None:
            return self.entry(name)
        self.entry(name)
        self.check_own(name)
        values = {"seen": seen, "by": by, "once": once, **wanted, **(origin or {})}
        version = values.pop("version")
        is_changed = await self._change(partial(self._store.change, **values), "approved", name, version)
        entry = self.entry(name)
        if once and not is_changed and self.tools.approval(name, wanted["digest"]) is not None:
            raise ToolUnavailable(f"{name} v{version} was approved already; nothing was changed.")
        if by == "person" and (not is_changed or entry.manifest.digest != wanted["digest"]):
            raise naming.not_as_seen_error(name)
        return entry

    async def refuse(self, name: str, version: int, digest: str, origin: Mapping[str, str]) -> None:
        """A person refuses what a version asks for: it is kept, and nobody is asked about it again.

        Raises:
            ToolNotFound: there is no such tool.
            ToolUnavailable: it is not the version of that digest (any more), or somebody granted it.
        """
        self.entry(name)
        self.check_own(name)
        detail: dict[str, Any] = {"digest": digest, "why": "a person refused it", **origin}
        if await self._change(partial(self._store.change, **detail), NOT_APPROVED, name, version):
            return
        if self.tools.approval(name, digest) is not None:
            raise ToolUnavailable(
                f"{name} v{version} was approved already.",
                hint=f"`alita revoke {name}` takes it back.",
            )
        raise naming.not_as_seen_error(name)

    def waiting_versions(self) -> list[WaitingVersion]:
        """The newest version of each tool that asks for what it was not granted, the oldest first; it blocks.

        Versions before the current one do not wait, nor what a person refused, is not verified, or came with alita.
        """
        found: dict[str, WaitingVersion] = {}
        for each in self.tools.may_wait():
            name = each.manifest.name
            if name not in found and self.effective_grants.of(each.manifest) is None:
                found[name] = each
        waiting = [each for each in found.values() if not each.set_aside and may_hold_grants(each.manifest)]
        return sorted(waiting, key=lambda each: each.manifest.created_at)

    async def review(self, name: str, version: int, digest: str) -> bool:
        """A person has read a version; False when it is not the one of that digest (any more)."""
        self.check_own(name)
        if self.tools.entry(name) is None:
            return False
        change = partial(self._store.change, digest=digest)
        return await self._change(change, "reviewed", name, version)

    async def approve_code(self, number: str, digest: str, origin: Mapping[str, str]) -> bool:
        """Lets code of `run_code` have what it asks for; False where somebody did so before.

        Raises as `CodeApprovals.approve`.
        """
        await self._in_thread(self._check_code, number)
        is_new = await self._in_thread(self.code_approvals.approve, number, digest)
        if is_new:
            await self.record("code approved", None, {**origin, "digest": digest})
        return is_new

    async def revoke_code(self, number: str, *, if_waiting: bool = False) -> AskedCode:
        """Takes back what code of `run_code` was granted, or refuses it; as `CodeApprovals.revoke`."""
        await self._in_thread(self._check_code, number)
        revoke = partial(self.code_approvals.revoke, if_waiting=if_waiting)
        asked = await self._in_thread(revoke, number)
        if not (if_waiting and asked.approved_at):
            await self.record("code revoked", None, {"digest": asked.digest})
        return asked

    async def revoke(self, name: str) -> CatalogueEntry:
        """A person takes all grants of a tool back."""
        return await self._alter("revoked", name)

    async def delete(self, name: str) -> CatalogueEntry:
        """Puts up a tombstone; returns the entry as it was last known."""
        return await self._alter("deleted", name)

    async def enable(self, name: str) -> CatalogueEntry:
        """Brings a disabled, deleted or quarantined tool back; ToolNotFound, or raises as `Store.enable`."""
        entry = self.tools.entry(name) or self.entry(name)
        self.check_own(name)
        await self._change(self._store.enable, name, entry.manifest.version)
        return self.entry(name)

    async def rollback(self, name: str, version: int | None = None) -> CatalogueEntry:
        """Makes another version the current one; default: the one before the current.

        Raises:
            ToolNotFound: there is no such tool or version.
            UsageError: there is no version before the current one.
            ToolQuarantined: that version is not what was verified.
        """
        entry = self.entry(name)
        target = naming.version_before(entry) if version is None else version
        await self.read(name, target)
        return await self._alter("rolled back", name, target)

    async def export(self, name: str, version: int | None = None) -> Path:
        """Writes a folder that runs anywhere without alita; returns where it is. Errors as `read`."""
        stored = await self.read(name, version)
        folder = await self._in_thread(export_version, self.home / "exports", stored)
        await self.record("exported", name, {"folder": str(folder)}, stored.manifest.version)
        return folder

    async def settle(self) -> None:
        """Returns when all calls that were recorded are in the entries' use, or the disk takes none."""
        await self._change(self._write_calls)

    async def record(
        self, event: str, name: str | None, detail: dict[str, Any], version: int | None = None
    ) -> None:
        """Writes an event into the journal; on a disk that takes none, into the log."""
        try:
            await self._in_thread(self._store.catalogue.record, event, name, version, detail)
        except LibraryError as failure:
            _log.warning("%s Not journalled: %s %s %s", failure, event, name or "", detail)

    def journal(self, limit: int = 100, event: str | None = None) -> list[JournalRow]:
        """The newest events first, all or those of one kind."""
        self._write_calls()
        return self._store.catalogue.journal(limit, event)

    async def search(self, query: str, limit: int) -> SearchAnswer:
        """The tools that serve a need, and how sure that is."""
        found = (await self._finder.search(query)).hits
        entries = self.tools.some(hit.name for hit in found)
        few = len(entries) < ALWAYS_SHOWN
        others = self.tools.some(self.tools.most_used(ALWAYS_SHOWN + len(entries)) if few else ())
        if self._counted[0] != self._following.seen.standing:
            self._counted = (self._following.seen.standing, self.tools.counts().get("enabled", 0))
        scores = {hit.name: hit.probability for hit in found}
        return search_answer(scores, entries, limit, self._counted[1], tuple(others.values()))

    async def find_domains(self) -> list[str]:
        """What its tools are about, as the table of domains has it; noted in the home for the next greeting."""
        if self._named[0] != self._following.seen.standing:
            self._named = (self._following.seen.standing, await self._in_thread(self._name_domains))
        return self._named[1]

    def _name_domains(self) -> list[str]:
        try:
            found = self._finder.find_domains()
            if found != read_domains(self.home):
                replace_file(self.home / FILE, "\n".join(found).encode())
        except LibraryError as failure:
            _log.warning("%s", failure)
            return self._named[1]
        except OSError as failure:  # a full disk keeps nobody from the tools
            _log.warning("%s cannot be written: %s", self.home / FILE, failure)
        return found

    async def find_gaps(self, limit: int) -> list[Gap]:
        """Needs that were searched for and not found, the most wanted first; then those that a tool serves by now."""
        rows = await self._in_thread(self.journal, GAPS_FROM, FOUND_NOTHING)
        gaps = (await self._in_thread(find_gaps, rows))[: GAPS_CHECKED * limit]
        for place, gap in enumerate(gaps):
            found = await self.search(gap.need, 1)
            served_by = found.results[0].name if found.fit == "match" else ""
            gaps[place] = gap.model_copy(update={"now": served_by})
        return sorted(gaps, key=lambda gap: bool(gap.now))[:limit]

    async def similar(self, text: str, limit: int = 5) -> tuple[str, ...]:
        """Names of the tools whose words are nearest to a draft's."""
        found = self.tools.some(hit.name for hit in (await self._finder.search(text)).hits)
        return tuple(name for name, entry in found.items() if entry.state == "enabled")[:limit]

    async def reindex(self) -> int:
        """Reads every tool again, quarantines the changed ones, makes the search index anew; returns their number."""
        for name in await self._in_thread(self.tools.names):
            try:
                await self.read(name)
            except ToolUnavailable as damaged:
                _log.warning("%s", damaged)
        await self._in_thread(self._store.set_strangers_aside)
        rows = await self._in_thread(self._store.catalogue.reindex)
        self._finder.track()
        await self.record("reindexed", None, {"rows": rows})
        return rows

    def runs_of(self, owner: str) -> KeptResults:
        """The kept results and files of an owner's runs; its methods block."""
        return KeptResults(self.storage, owner)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Calls back on the event loop after every committed change of what is listed; returns how to stop that."""
        key = object()
        self._listeners[key] = callback

        def remove() -> None:
            self._listeners.pop(key, None)

        return remove

    def announce(self) -> None:
        """Calls back all that asked for it by `on_change`."""
        for callback in tuple(self._listeners.values()):
            callback()

    async def refresh(self) -> None:
        """Reads what other processes committed; the watcher does so by itself four times a second."""
        changes = await self._in_thread(self.tools.changes)
        before, self._following.seen = self._following.seen, Changes(*map(max, self._following.seen, changes))
        if self._following.seen.standing != before.standing:
            self._finder.track()
        if self._following.seen.listed != before.listed:
            self.announce()

    async def look_again(self) -> None:
        """Reads what other processes and servers committed up to now, before something is said not to be there."""
        await self._in_thread(self._store.catalogue.catch_up)
        await self.refresh()

    async def watch(self) -> None:
        """Notices what other processes commit, for as long as it runs."""
        seen, complaint = None, ""
        woken, loop = anyio.Event(), current_token()
        self._store.catalogue.follow(lambda: from_thread.run_sync(woken.set, token=loop))
        while True:
            try:
                used = self.calls.has_unwritten and await self._in_thread(self.calls.write_calls)
                mark = await self._in_thread(self.tools.data_version)
                if used or mark != seen:
                    await self.refresh()
                seen, complaint = mark, ""
            except LibraryError as failure:
                if complaint != str(failure):  # a disk stays full for long
                    complaint = str(failure)
                    _log.warning("%s", complaint)
            with anyio.move_on_after(WATCH_EVERY_S):
                await woken.wait()
            woken = anyio.Event()

    def close(self) -> None:
        """Writes the last calls and lets go of the search; the store is closed by who opened it."""
        self._write_calls()
        for view in self._views.values():
            view.tools.close()
            view._finder.close()  # noqa: SLF001
        self._finder.close()

    def _write_calls(self) -> None:
        """Writes the last calls where the disk takes them: no reader is refused for the sake of the journal."""
        try:
            self.calls.write_calls()
        except LibraryError as failure:
            _log.warning("%s", failure)

    async def _alter(self, event: str, name: str, version: int | None = None, **more: Any) -> CatalogueEntry:
        known = self.entry(name)
        self.check_own(name)
        change = partial(self._store.change, **more)
        await self._change(change, event, name, version)
        return self.tools.entry(name) or known if event == "deleted" else self.entry(name)

    async def _change(self, work: Callable[..., T], *arguments: Any) -> T:
        """Runs a change to its end, cancelled or not, and takes in how things stand afterwards."""
        try:
            return await self._in_thread(work, *arguments)
        finally:
            with anyio.CancelScope(shield=True):
                await self.refresh()

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._threads)
