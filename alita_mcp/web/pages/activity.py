"""Activity of all clients of the home, live."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from anyio.abc import ObjectSendStream
from pydantic import ValidationError
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.app.activity import COMMAND_LINE, LOST, Activity, Kind, Subscription, show_detail, show_text
from alita_mcp.app.app import App
from alita_mcp.library.catalogue.use import FOUND_NOTHING, RAN_CODE
from alita_mcp.library.library import Library
from alita_mcp.library.rows import JournalRow
from alita_mcp.owners import USER
from alita_mcp.web.rendering import render, templates
from alita_mcp.web.security import may_follow
from alita_mcp.web.site import Site

LINES = 50
"""So many pieces of work stand on the page."""
ROWS = 200
"""Rows of the journal that are searched for those to show."""
PAUSE_S = 0.2
"""Between two changes of the page."""
READ_JOURNAL_EVERY_S = 1.0
SETTLED = timedelta(seconds=1)
"""Rows that came while a page is open are shown when they are so old."""
REMEMBERED = 2_000
MAX_FILTER = 100
TONES = {"busy": "under way", "ok": "went well", "warn": "worth a look", "bad": "failed"}
JOURNAL: dict[str, tuple[Kind, str]] = {
    "called": ("call", "message"),
    "sandbox failed": ("call", "message"),
    FOUND_NOTHING: ("search", "query"),
    RAN_CODE: ("code", "error"),
    "synthesis": ("synthesis", "reason"),
}
"""Events of the journal that tell of work, its kind, and the field that is the text of its line."""
OUTCOMES = {"sandbox failed": "sandbox failed", FOUND_NOTHING: "none"}


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show_activity(request: Request) -> Response:
        filters = read_filters(request)
        board = await open_board(await site.app_of(request), filters, partial(may_follow, request))
        return render(
            request,
            "activity.html",
            board=board,
            filters=filters,
            clients=sorted({filters["client"], *(each.client for each in board.works.values())} - {""}),
            tones=TONES,
            stream=f"/ui/activity/events?{urlencode(filters)}",
        )

    async def stream_activity(request: Request) -> Response:
        """The lines of the page as server-sent events, each time that they change."""
        sending, receiving = anyio.create_memory_object_stream[ServerSentEvent]()

        async def send() -> None:
            async with sending, receiving:
                await send_lines(site, request, sending)

        return EventSourceResponse(receiving, data_sender_callable=send)

    return [Route("/ui/activity", show_activity), Route("/ui/activity/events", stream_activity)]


def read_filters(request: Request) -> dict[str, str]:
    """What the reader wants to see: of which client, which tool, and with what outcome."""
    asked = request.query_params
    filters = {name: asked.get(name, "").strip()[:MAX_FILTER] for name in ("client", "tool", "outcome")}
    return filters | {"outcome": filters["outcome"] if filters["outcome"] in TONES else ""}


class Board:
    """The lines of one page: what is under way, and below it what ended, the newest first."""

    def __init__(self, filters: dict[str, str], sees: Callable[[str], bool] = lambda _owner: True) -> None:
        """Only pieces of work that fit the filters have lines; those of owners that the reader `sees` are taken."""
        self._filters, self._sees = filters, sees
        self.works: dict[str, Activity] = {}
        """Those that were seen, whatever the filters are."""
        self.lines: list[Activity] = []
        self.not_shown = 0
        """How many pieces of work were left out since the page was opened."""

    def take(self, events: Iterable[Activity], dropped: int = 0) -> None:
        """Takes events in, the oldest first; of more than a page holds the newest. What has ended stays as it is."""
        newest = max((line.time for line in self.lines), default=datetime.max.replace(tzinfo=UTC))
        for event in filter(lambda each: self._sees(each.owner), events):
            known = self.works.get(event.id)
            if known is None or known.outcome in ("", LOST):
                self.works[event.id] = event
        for name in list(self.works)[:-REMEMBERED]:
            del self.works[name]
        fitting = sorted(filter(self._fits, self.works.values()), key=_order, reverse=True)
        self.lines = fitting[:LINES]
        self.not_shown += dropped + sum(line.time > newest for line in fitting[LINES:])

    def _fits(self, activity: Activity) -> bool:
        return (
            self._filters["client"] in ("", activity.client)
            and self._filters["tool"].casefold() in activity.tool.casefold()
            and self._filters["outcome"] in ("", activity.tone)
        )


def _order(line: Activity) -> tuple[bool, datetime]:
    """Under way or not, and when it began, which no event changes."""
    return line.tone == "busy", line.time - timedelta(seconds=line.seconds)


async def open_board(app: App, filters: dict[str, str], sees: Callable[[str], bool]) -> Board:
    """The lines that a page begins with."""
    board = Board(filters, sees)
    board.take(app.activity.recent)
    board.take(await read_journal(app.library))
    return board


async def read_journal(library: Library, age: timedelta = timedelta()) -> list[Activity]:
    """What the journal tells, the oldest first, of rows of an age: a feed may yet say more of the newest."""
    rows = await anyio.to_thread.run_sync(library.journal, ROWS)
    settled = (datetime.now(UTC) - age).isoformat()
    return list(filter(None, (activity_of(row) for row in reversed(rows) if row.time <= settled)))


def activity_of(row: JournalRow) -> Activity | None:
    """What a row of the journal tells, under the id that the feed gave it.

    None for rows that are damaged, or tell of something else.
    """
    if row.event not in JOURNAL:
        return None
    kind, text = JOURNAL[row.event]
    fields = dict(row.detail)
    text = str(fields.pop(text, None) or "")
    with suppress(ValidationError, ValueError):
        return Activity(
            id=fields.get("activity") or f"journal-{row.id}",
            kind=kind,
            outcome=show_text(OUTCOMES.get(row.event) or str(fields.get("status") or "failed")),
            client=show_text(str(fields.get("client") or COMMAND_LINE)),
            owner=str(fields.get("owner") or USER),
            tool=show_text(row.name or ""),
            text=show_text(text),
            time=datetime.fromisoformat(row.time),
            seconds=fields.get("seconds") or 0.0,
            detail=show_detail(fields),
        )
    return None


async def send_lines(site: Site, request: Request, sending: ObjectSendStream[ServerSentEvent]) -> None:
    """Sends the lines of a page each time that they change, until it is cancelled."""
    app = await site.app_of(request)
    board = await open_board(app, read_filters(request), partial(may_follow, request))
    template = templates().get_template("_works.html")
    subscription = Subscription()
    async with anyio.create_task_group() as tasks:
        with app.activity.tell(subscription.add):
            tasks.start_soon(site.follow_others, subscription.add)
            sent = ""
            while site.sessions.read(request):  # it ends with the token that opened it
                if (text := template.render(board=board)) != sent:
                    await sending.send(ServerSentEvent(sent := text, event="works"))
                await anyio.sleep(PAUSE_S)
                with anyio.move_on_after(READ_JOURNAL_EVERY_S):
                    board.take(*await subscription.read())
                board.take(await read_journal(app.library, SETTLED))
        await sending.aclose()
        await anyio.sleep_forever()  # the response ends now, and this with it
