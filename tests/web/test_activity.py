"""The Activity page: what was, what is going on, and what changes on a page that is open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from sse_starlette import ServerSentEvent
from starlette.requests import Request

from alita_mcp.app import App, open_app
from alita_mcp.app.activity import LOST, Activity
from alita_mcp.library.rows import JournalRow
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ignore_stage
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.request import SynthesisRequest, read_request
from alita_mcp.web.pages.activity import LINES, SETTLED, Board, read_journal, send_lines
from alita_mcp.web.security import PERSON, WEB_PAGE, Sessions
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
    fields = {"id": f"w{number}", "time": START + timedelta(milliseconds=10 * number), **more}
    return Activity(kind="call", outcome=outcome, **fields)


def ids(board: Board) -> list[str]:
    return [line.id for line in board.lines]


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings, admit=lambda _manifest: (), sandbox=InProcessSandbox()) as app:
        yield app


def test_more_than_a_reader_can_follow_is_left_out_and_counted() -> None:
    board = Board(ALL)
    board.take([event(number) for number in range(100)])
    assert board.lines == [event(number) for number in range(99, 99 - LINES, -1)]
    assert board.not_shown == 0
    board.take([event(0, ""), *(event(number) for number in range(100, 300))], dropped=12)
    assert ids(board)[:2] == ["w299", "w298"]  # w0 had ended
    assert board.not_shown == 200 - LINES + 12
    # what is read late, as of a server that is heard from now on, is no loss
    board.take([event(number, id=f"old{number}") for number in range(100)])
    assert board.not_shown == 200 - LINES + 12
    assert len(ids(board)) == LINES


def test_a_line_changes_in_its_place_and_what_ended_stays_as_it_is() -> None:
    board = Board(ALL)
    board.take([event(0, ""), event(1, ""), event(2)])
    assert ids(board) == ["w1", "w0", "w2"]  # what is under way comes first
    board.take([event(0, "", time=event(50).time, seconds=0.5)])
    assert ids(board) == ["w1", "w0", "w2"]
    board.take([event(0, LOST)])
    board.take([event(0, "timeout")])  # the journal knew it
    board.take([event(0, ""), event(0, "ok")])
    assert [(line.id, line.outcome) for line in board.lines] == [
        ("w1", ""), ("w2", "ok"), ("w0", "timeout"),
    ]  # fmt: skip


def test_a_line_that_fits_no_longer_goes() -> None:
    board = Board({**ALL, "outcome": "busy"})
    board.take([event(0, ""), event(1)])
    assert ids(board) == ["w0"]
    board.take([event(0)])
    assert ids(board) == []


async def test_the_journal_waits_for_what_a_server_may_say_itself() -> None:
    """The server tells of gates, and the journal does not: it speaks only where nobody else did."""
    times = {1: START, 2: datetime.now(UTC)}

    class Rows:
        def journal(self, limit: int) -> list[JournalRow]:
            return [
                JournalRow(id=number, time=at.isoformat(), event="called", name="x", version=1, detail={})
                for number, at in times.items()
            ]

    assert [told.id for told in await read_journal(Rows(), SETTLED)] == ["journal-1"]  # type: ignore[arg-type]


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
    assert "Nothing here yet." in none


async def test_what_only_the_journal_tells_appears_once(settings: Settings) -> None:
    async with opened(settings) as app, streamed(app) as read:
        text = await read()
        async with opened(settings) as elsewhere:  # with a feed that nobody hears
            await elsewhere.search_tools("water the plants", identity=EDITOR)
        await app.search_tools("feed the cat", identity=EDITOR)
        while "water the plants" not in text or "feed the cat" not in text:
            text = await read()
        await app.library.settle()
        rows = app.library.journal(2)
        assert {row.detail["query"] for row in rows} == {"feed the cat", "water the plants"}
        # the journal has told of both now, and nothing stands twice
        await app.search_tools("the end", identity=EDITOR)
        while "the end" not in text:
            text = await read()
    for words in ("feed the cat", "water the plants", "the end"):
        assert text.count(f'<span class="text">{words}</span>') == 1


@asynccontextmanager
async def streamed(app: App) -> AsyncIterator[Callable[[], Any]]:
    """Reads the changes that an open page gets."""

    async def the_app() -> App:
        return app

    sessions = Sessions(b"key")
    site = Site(app=the_app, sessions=sessions, follow_others=alone)
    sending, receiving = anyio.create_memory_object_stream[ServerSentEvent]()

    async def read() -> str:
        with anyio.fail_after(60):
            return (await receiving.receive()).encode().decode()

    async with anyio.create_task_group() as tasks, sending, receiving:
        cookie = f"{sessions.cookie}={sessions.make_session()}".encode()
        request = Request(
            {
                "type": "http", "query_string": b"", "headers": [(b"cookie", cookie)],
                "state": {"identity": WEB_PAGE, "principal": PERSON},
            }
        )  # fmt: skip
        tasks.start_soon(send_lines, site, request, sending)
        yield read
        tasks.cancel_scope.cancel()
