"""The Activity page: what was, what is going on, and what changes on a page that is open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from sse_starlette import ServerSentEvent

from alita_mcp.app import App, open_app
from alita_mcp.app.activity import LOST, Activity, ActivityFeed
from alita_mcp.library.rows import JournalRow
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ignore_stage
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.request import SynthesisRequest, read_request
from alita_mcp.web.live_activity import LINES, NEW_AT_ONCE, Board, follow_journal
from alita_mcp.web.pages.activity import send_changes
from alita_mcp.web.security import Sessions
from alita_mcp.web.site import Site
from tests.app.test_activity import WRONG
from tests.in_process import InProcessSandbox
from tests.web.visiting import alone, visiting

pytestmark = pytest.mark.anyio

START = datetime(2026, 1, 1, tzinfo=UTC)
EDITOR = ClientIdentity(client="some-editor 2.1")
HOSTILE = "<img src=x onerror=alert(1)>\u202e</li>" + "x" * 10_000
ALL = {"client": "", "tool": "", "outcome": ""}


def event(number: int, outcome: str = "ok", **more: Any) -> Activity:
    moment = (START + timedelta(milliseconds=10 * number)).isoformat(timespec="microseconds")
    return Activity(id=f"w{number}", kind="call", outcome=outcome, **{"time": moment, **more})


def ids(activities: list[Activity]) -> list[str]:
    return [each.id for each in activities]


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings, admit=lambda _manifest: (), sandbox=InProcessSandbox()) as app:
        yield app


def test_more_than_a_reader_can_follow_is_left_out_and_counted() -> None:
    board = Board(lambda _event: True)
    first = board.take([event(0, ""), event(1)])
    assert ids(first.added) == ["w1", "w0"]
    flood = board.take([event(number) for number in range(2, 302)], dropped=12)
    assert ids(flood.added) == [f"w{number}" for number in range(301, 301 - NEW_AT_ONCE, -1)]
    assert flood.not_shown == 300 - NEW_AT_ONCE + 12
    # what was left out while it ran appears when it goes on
    board.take([event(400, ""), *(event(number) for number in range(401, 420))])
    late = board.take([event(400, "", time=event(420).time)])
    assert ids(late.added) == ["w400"]
    # lines that leave the page at its end are no loss
    for number in range(500, 500 + LINES):
        last = board.take([event(number)])
    assert len(board.lines) == LINES
    assert last.not_shown == 300 - NEW_AT_ONCE + 12 + (20 - NEW_AT_ONCE)
    assert last.removed


def test_a_line_changes_in_its_place_and_what_ended_stays_as_it_is() -> None:
    board = Board(lambda _event: True)
    board.take([event(0, ""), event(1, "")])
    assert ids(board.take([event(0, ""), event(0, outcome=LOST)]).changed) == ["w0", "w0"]
    assert board.take([event(0, outcome="timeout")]).changed[0].outcome == "timeout"  # the journal knew it
    assert board.take([event(0, ""), event(0, outcome="ok")]).changed == []
    assert [(line.id, line.outcome) for line in board.lines] == [("w1", ""), ("w0", "timeout")]


def test_older_lines_find_their_places() -> None:
    board = Board(lambda _event: True)
    board.take([event(1_000), event(3_000)], all_at_once=True)
    again = board.take([event(2_000), event(3_001)])
    assert (again.is_whole, ids(again.added)) == (True, ["w3001", "w3000", "w2000", "w1000"])
    assert len(board.take([event(number) for number in range(100)]).added) == LINES
    assert not board.take([event(3_000 - 100)]).is_whole  # a moment late: the journal is read once a second


def test_a_line_that_matches_no_longer_goes() -> None:
    board = Board(lambda each: each.tone == "busy")
    board.take([event(0, ""), event(1)])
    assert ids(board.lines) == ["w0"]
    assert board.take([event(0)]).removed == ["w0"]
    assert board.lines == []


async def test_a_row_of_the_journal_is_told_once_and_after_what_its_server_may_say(
    settings: Settings,
) -> None:
    """The server tells of gates, and the journal does not: it speaks only where nobody else did."""
    times = {1: START, 2: START, 3: datetime.now(UTC) + timedelta(hours=1), 4: START}
    journal = [
        JournalRow(id=number, time=at.isoformat(), event="pinned", name="x", version=1, detail={})
        for number, at in times.items()
    ]
    asked: list[int] = []

    class Rows:
        def journal(self, limit: int, after: int) -> list[JournalRow]:
            asked.append(after)
            return [row for row in reversed(journal) if row.id > after][:limit]

    feed = ActivityFeed()
    with feed.subscribe() as subscription, anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow_journal, Rows(), feed, 1)
            assert ids(await subscription.read()) == ["journal-2"]
            while asked != [1, 2]:  # noqa: ASYNC110 - a thread asks
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()


async def test_the_page_tells_what_was_without_a_script(settings: Settings) -> None:
    async with opened(settings) as app:
        request = read_request(WRONG, client=EDITOR)
        assert isinstance(request, SynthesisRequest)
        await app.synthesize(request, ignore_stage)
        await app.search_tools(HOSTILE, identity=ClientIdentity(client=HOSTILE))
        async with visiting(app) as browser:
            page = (await browser.get("/ui/activity")).text
            of_client = (await browser.get("/ui/activity", params={"client": EDITOR.client})).text
            failed = (await browser.get("/ui/activity", params={"outcome": "bad", "tool": "Double"})).text
            none = (await browser.get("/ui/activity", params={"outcome": "ok", "tool": "double"})).text
    for text in (page, of_client, failed):
        assert "rejected" in text
        assert "examples failed" in text
        for name, value in (("case", "{&#34;n&#34;: 5}"), ("expected", "11"), ("got", "10")):
            assert f"<dt>{name}</dt><dd>{value}</dd>" in text
    assert "<img" not in page
    assert "\u202e" not in page
    assert len(page) < 60_000
    assert "&lt;img src=x onerror=alert(1)&gt;&lt;U+202E&gt;" in page
    assert "double_it" not in none.split("<ol")[1]


async def test_what_only_the_journal_tells_appears_once(settings: Settings, home: Path) -> None:
    async with opened(settings) as app, streamed(app) as read:
        assert "no stream yet" not in await read()
        async with opened(settings) as elsewhere:  # with a feed that nobody hears
            await elsewhere.search_tools("water the plants", identity=EDITOR)
        await app.search_tools("feed the cat", identity=EDITOR)
        texts = ""
        while "water the plants" not in texts:
            texts += await read()
        await app.search_tools("walk the dog", identity=EDITOR)
        while "walk the dog" not in texts:
            texts += await read()
        await app.library.settle()
        rows = [row.detail["query"] for row in app.library.journal(3)]
        await app.search_tools("the end", identity=EDITOR)
        while "the end" not in texts:
            texts += await read()
    assert sorted(rows) == ["feed the cat", "walk the dog", "water the plants"]
    for words in (*rows, "the end"):
        assert texts.count(f'<span class="text">{words}</span>') == 1


@asynccontextmanager
async def streamed(app: App) -> AsyncIterator[Callable[[], Any]]:
    """Reads the changes that an open page gets."""

    async def the_app() -> App:
        return app

    site = Site(app=the_app, sessions=Sessions(b"key"), servers=list, follow_others=alone)
    sending, receiving = anyio.create_memory_object_stream[ServerSentEvent]()

    async def read() -> str:
        with anyio.fail_after(60):
            return (await receiving.receive()).encode().decode()

    async with anyio.create_task_group() as tasks, sending, receiving:
        tasks.start_soon(send_changes, site, ALL, sending)
        yield read
        tasks.cancel_scope.cancel()
