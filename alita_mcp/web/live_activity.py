"""Lines of the Activity page: what happens in all servers of the home, and what a page that is open has to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import anyio
import anyio.to_thread

from alita_mcp.app.activity import LOST, Activity, ActivityFeed
from alita_mcp.app.journal_activity import activity_of
from alita_mcp.library.library import Library
from alita_mcp.library.rows import JournalRow
from alita_mcp.web.site import Site

LINES = 50
"""So many pieces of work stand on the page."""
NEW_AT_ONCE = 10
"""So many new ones appear with one change of the page; of more, the newest."""
ROWS = 500
"""Rows of the journal that are searched for those to show."""
READ_JOURNAL_EVERY_S = 1.0
SETTLED = timedelta(seconds=1)
"""Rows are read so old: until then the server itself may tell more of the same work."""
LATE = timedelta(seconds=5)
"""A line that is so much older than the newest one does not belong above it."""
REMEMBERED = 5_000


async def follow_home(site: Site, feed: ActivityFeed, last_row: int) -> None:
    """Publishes until it is cancelled what happens here, in other servers and, by the journal, elsewhere."""
    app = await site.app()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(site.follow_others, feed)
        tasks.start_soon(follow_journal, app.library, feed, last_row)
        with app.activity.subscribe() as subscription:
            while True:
                for activity in await subscription.read():
                    feed.publish(activity)
                feed.drop(subscription.take_dropped())


async def follow_journal(library: Library, feed: ActivityFeed, last_row: int) -> None:
    """Publishes what comes after a row of the journal, until it is cancelled."""
    while True:
        await anyio.sleep(READ_JOURNAL_EVERY_S)
        rows = await read_journal(library, last_row)
        if len(rows) == ROWS:
            feed.drop(rows[-1].id - last_row - 1)
        settled = (datetime.now(UTC) - SETTLED).isoformat()
        for row in reversed(rows):
            if row.time > settled:
                break
            last_row = row.id
            if activity := activity_of(row):
                feed.publish(activity)


async def read_journal(library: Library, after: int = 0) -> list[JournalRow]:
    """The newest rows, the newest first."""
    return await anyio.to_thread.run_sync(lambda: library.journal(ROWS, after=after))


@dataclass(frozen=True)
class Changes:
    """What changes on a page."""

    added: list[Activity] = field(default_factory=list)
    """Lines to put above all others, the newest first."""
    changed: list[Activity] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    is_whole: bool = False
    """Whether `added` are all lines, in place of those that are there."""
    not_shown: int = 0
    """How many pieces of work have been left out since the page was opened."""


class Board:
    """The lines of one page, the newest first; knows what its reader has seen."""

    def __init__(self, matches: Callable[[Activity], bool]) -> None:
        """Only pieces of work that match have lines."""
        self._matches = matches
        self._shown: dict[str, Activity] = {}
        self._ended: dict[str, None] = {}
        self._not_shown = 0

    @property
    def lines(self) -> list[Activity]:
        """The newest first."""
        return list(reversed(self._shown.values()))

    def take(self, events: Iterable[Activity], dropped: int = 0, *, all_at_once: bool = False) -> Changes:
        """What events change, the oldest of which comes first.

        What has ended stays as it is. With `all_at_once`, or where some belong between the lines that are there, the
        page gets all of its lines anew; else only so many appear as a reader may follow.
        """
        fresh, changed = [], []
        for event in events:
            if event.id in self._ended:
                continue
            if event.outcome not in ("", LOST):
                self._ended[event.id] = None
            if event.id in self._shown:
                changed.append(event)
            elif self._matches(event):
                fresh.append(event)
        gone = [event.id for event in changed if not self._matches(event)]
        for name in gone:
            del self._shown[name]
        changed = [event for event in changed if event.id in self._shown]
        self._shown |= {event.id: event for event in changed}
        self._not_shown += dropped

        newest = next(reversed(self._shown.values())).at if self._shown else None
        if all_at_once or (newest is not None and any(event.at < newest - LATE for event in fresh)):
            lines = sorted((*self._shown.values(), *fresh), key=lambda event: event.at)[-LINES:]
            self._shown = {event.id: event for event in lines}
            return Changes(added=self.lines, is_whole=True, not_shown=self._not_shown)

        added = fresh[-NEW_AT_ONCE:]
        self._not_shown += len(fresh) - len(added)
        self._shown |= {event.id: event for event in added}
        surplus = list(self._shown)[: max(0, len(self._shown) - LINES)]
        for name in surplus:
            del self._shown[name]
        changed = [event for event in changed if event.id in self._shown]
        for name in list(self._ended)[:-REMEMBERED]:
            del self._ended[name]
        return Changes(added[::-1], changed, [*gone, *surplus], not_shown=self._not_shown)
