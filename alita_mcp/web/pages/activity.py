"""Activity of all clients of the home, live."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlencode

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from alita_mcp.app.activity import Activity, ActivityFeed
from alita_mcp.app.journal_activity import activity_of
from alita_mcp.web.live_activity import Board, follow_home, read_journal
from alita_mcp.web.rendering import ago, render, templates
from alita_mcp.web.site import Site

PAUSE_S = 0.1
"""Between two changes of the page."""
MAX_FILTER = 100
TONES = {"busy": "under way", "ok": "went well", "warn": "worth a look", "bad": "failed"}


def routes(site: Site) -> list[Route]:
    """The routes of this page."""

    async def show_activity(request: Request) -> Response:
        filters = read_filters(request)
        board, _, clients = await open_board(site, filters)
        return render(
            request,
            "activity.html",
            lines=board.lines,
            filters=filters,
            clients=sorted({*clients, filters["client"]} - {""}),
            tones=TONES,
            stream=f"/ui/activity/events?{urlencode(filters)}",
            clock=clock,
        )

    async def stream_activity(request: Request) -> Response:
        """Changes of the page as server-sent events, all of its lines first."""
        sending, receiving = anyio.create_memory_object_stream[ServerSentEvent]()

        async def send() -> None:
            async with sending, receiving:
                await send_changes(site, read_filters(request), sending)

        return EventSourceResponse(receiving, data_sender_callable=send)

    return [Route("/ui/activity", show_activity), Route("/ui/activity/events", stream_activity)]


def read_filters(request: Request) -> dict[str, str]:
    """What the reader wants to see: of which client, which tool, and with what outcome."""
    asked = request.query_params
    filters = {name: asked.get(name, "").strip()[:MAX_FILTER] for name in ("client", "tool", "outcome")}
    return filters | {"outcome": filters["outcome"] if filters["outcome"] in TONES else ""}


async def open_board(site: Site, filters: dict[str, str]) -> tuple[Board, int, list[str]]:
    """The lines that a page begins with, the last row of the journal that they show, and all clients seen in it."""
    app = await site.app()
    rows = await read_journal(app.library)
    told = [activity for row in reversed(rows) if (activity := activity_of(row))]
    # what is in the feed says more of the same
    known = {activity.id: activity for activity in (*told, *app.activity.recent)}

    def matches(activity: Activity) -> bool:
        return (
            filters["client"] in ("", activity.client)
            and filters["tool"].casefold() in activity.tool.casefold()
            and filters["outcome"] in ("", activity.tone)
        )

    board = Board(matches)
    board.take(known.values(), all_at_once=True)
    return board, rows[0].id if rows else 0, [activity.client for activity in known.values()]


async def send_changes(
    site: Site, filters: dict[str, str], sending: MemoryObjectSendStream[ServerSentEvent]
) -> None:
    """Sends what changes until it is cancelled."""
    feed = ActivityFeed()
    template = templates().get_template("_activity_changes.html")
    async with anyio.create_task_group() as tasks:
        with feed.subscribe() as subscription:
            board, last_row, _ = await open_board(site, filters)
            changes = board.take((), all_at_once=True)
            tasks.start_soon(follow_home, site, feed, last_row)
            while True:
                text = template.render(changes=changes, clock=clock)
                await sending.send(ServerSentEvent(text, event="activity"))
                await anyio.sleep(PAUSE_S)
                events = await subscription.read()
                changes = board.take(events, subscription.take_dropped())


def clock(time: str) -> str:
    """When something happened: the time of today, or how long ago it was."""
    local = datetime.fromisoformat(time).astimezone()
    is_today = local.date() == datetime.now(UTC).astimezone().date()
    return local.strftime("%H:%M:%S") if is_today else ago(time)
