"""The Ask page: a task and its run, what a person stops, and the same box without a model."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from pydantic import SecretStr

from alita_mcp.agent.runs.store import RUNS, StoredRuns
from alita_mcp.agent.values import Solution, TaskEvent, TaskRequest
from alita_mcp.app.app import App, open_app
from alita_mcp.errors import ModelError
from alita_mcp.library.storage import Storage
from alita_mcp.models.interface import Completion, Message
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import token_owner
from alita_mcp.research.values import Source
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import FixedLimits, Settings
from tests.agent.world import call, finish
from tests.in_process import IN_PROCESS
from tests.small_disk import fill, small_disk
from tests.web.visiting import csrf_token, visiting

HOSTILE = "<script>alert(1)</script>\u202etxt.exe"
RUN = "ab" * 16


def png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
        + chunk(b"IEND", b"")
    )


DRAW = f"""
import base64
open("a #1?%25 & ä.txt", "w").write("1")
open("table.csv", "w").write("a,b")
open("drawn.svg", "w").write("<svg/>")
base64.b64decode({base64.b64encode(png()).decode()!r})
"""


class Waiting(ScriptedModel):
    """A model that says what it is told to, then never answers."""

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        try:
            return await super().complete(messages, **options)
        except ModelError:
            await anyio.sleep_forever()
            raise


@asynccontextmanager
async def asking(
    settings: Settings, model: ScriptedModel | None, **changes: Any
) -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    limits = FixedLimits(task_plans=0)
    chosen = settings.model_copy(update={"limits": limits, "memory": False, "sandbox": IN_PROCESS, **changes})
    async with open_app(chosen, admit=admit, model=model) as app, visiting(app) as browser:
        yield app, browser


async def begin(browser: httpx.AsyncClient, task: str = "What is 55?", **more: Any) -> str:
    """Begins a task as the page's form does; the path of its run."""
    token = csrf_token((await browser.get("/ui/ask")).text)
    begun = await browser.post("/ui/ask", data={"task": task, "csrf_token": token}, **more)
    assert begun.status_code == 303, begun.text
    return begun.headers["location"]


async def until(page: Callable[[], Any], says: str) -> str:
    with anyio.fail_after(60):
        while True:
            text = (await page()).text
            if says in text:
                return str(text)
            await anyio.sleep(0.02)


DRAWN = call("run_code", code=DRAW, arguments={}, reason="one picture")


@pytest.mark.slow
async def test_a_task_is_asked_and_its_run_has_pictures_files_and_the_answer(settings: Settings) -> None:
    claims = [{"claim": "It says given", "reference": "o2", "quote": "given"}]
    script = [DRAWN, call("read_file", name="notes.txt"), finish("given", claims=claims)]
    async with asking(settings, ScriptedModel(script), sandbox="wasm") as (_, browser):
        where = await begin(
            browser, "What do the notes say?", files={"files": ("C:\\me\\notes.txt", b"given")}
        )
        page = await until(lambda: browser.get(where), 'aria-label="Answer"')
        assert re.search(r'badge ok">solved', page), page
        assert '<p class="wrap">given</p>' in page
        assert f'<img src="{where}/files/figure-1.png"' in page
        assert f'<img src="{where}/files/drawn.svg"' in page
        assert "notes.txt" in page
        assert "hx-trigger" not in page[page.index("<main") :]  # what has ended is not asked for again
        assert where in (await browser.get("/ui/ask")).text
        shown = await browser.get(f"{where}/files/figure-1.png")
        assert (shown.content, shown.headers["content-type"]) == (png(), "image/png")
        assert shown.headers["content-disposition"].startswith("attachment")
        links = re.findall(f'href="({where}/files/[^"]*)" download', page)
        files = [await browser.get(unescape(link)) for link in links]
        assert [file.content for file in files] == [b"1", b"<svg/>", png(), b"a,b"]
        for file, media_type in ((files[3], "application/octet-stream"), (files[1], "image/svg+xml")):
            assert (file.headers["content-type"], file.headers["content-disposition"].split(";")[0]) == (
                media_type,
                "attachment",
            )
            assert "default-src 'none'" in file.headers["content-security-policy"]
            assert file.headers["x-content-type-options"] == "nosniff"


async def test_a_run_is_stopped_and_shown_from_its_record_by_another_server(settings: Settings) -> None:
    script = [call("search_capabilities", query="anything")]
    async with asking(settings, Waiting(script)) as (_, browser):
        where = await begin(browser)
        await until(lambda: browser.get(where), 'id="step-1"')
        async with asking(settings, None) as (_, elsewhere):
            page = (await elsewhere.get(where)).text
            assert 'badge busy">running' in page
            again = re.search(r'hx-get="([^"]*)" hx-trigger="every 200ms"', page)
            assert again is not None
            assert (await elsewhere.get(again[1])).status_code == 204
            refused = await elsewhere.post(f"{where}/stop", data={"csrf_token": csrf_token(page)})
            assert "Stop it where it was started" in refused.text
            token = csrf_token((await browser.get(where)).text)
            stopped = await browser.post(f"{where}/stop", data={"csrf_token": token})
            assert stopped.status_code == 303
            twice = await browser.post(f"{where}/stop", data={"csrf_token": token})
            assert twice.status_code == 303
            for page in ((await browser.get(again[1])).text, (await elsewhere.get(where)).text):
                assert 'badge warn">stopped' in page
                assert "Stopped (cancelled): It was stopped." in page


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.extra("team")
async def test_a_run_of_another_server_is_followed_there_and_its_files_are_read(
    settings: Settings, tmp_path: Path, postgres_url: str
) -> None:
    library = SecretStr(postgres_url)
    async with (
        asking(settings, Waiting([DRAWN]), sandbox="wasm", library=library, home=tmp_path / "one") as (
            _,
            browser,
        ),
        asking(settings, None, library=library, home=tmp_path / "other") as (_, elsewhere),
    ):
        where = await begin(browser)
        page = await until(lambda: elsewhere.get(where), 'id="step-1"')
        assert 'badge busy">running' in page
        assert where in (await elsewhere.get("/ui/ask")).text
        assert (await elsewhere.get(f"{where}/files/figure-1.png")).content == png()
        stop = {"csrf_token": csrf_token((await browser.get(where)).text)}
        assert (await browser.post(f"{where}/stop", data=stop)).status_code == 303
        assert 'badge warn">stopped' in (await elsewhere.get(where)).text
        assert not (tmp_path / "one" / "task_runs").exists()


async def test_a_run_whose_process_died_says_so_and_shows_how_far_it_came(settings: Settings) -> None:
    storage = Storage(settings.home)
    stored = StoredRuns(storage)
    await stored.begin_run(RUN, TaskRequest(task="t"))
    plan = {"chosen": {"steps": [{"action": "run_code", "need": HOSTILE}]}}
    happened: list[tuple[str, str, dict[str, Any]]] = [
        ("plan", "1 step", plan),
        ("plan", "damaged", {"chosen": 1}),
        ("step", "damaged", {"number": "x"}),
        ("step_started", "1. run_code", {"number": 1}),
    ]
    for number, (kind, text, data) in enumerate(happened, 1):
        event = {"run": RUN, "number": number, "at": "damaged", "kind": kind, "text": text, "data": data}
        await stored.append(TaskEvent.model_validate(event))
    storage._owner.close()
    async with asking(settings, None) as (_, browser):
        page = (await browser.get(f"/ui/ask/{RUN}")).text
        assert "died: its process ended" in page
        assert 'badge warn">not finished' in page
        assert (
            "<li><code>run_code</code> &lt;script&gt;alert(1)&lt;/script&gt;&lt;U+202E&gt;txt.exe</li>"
            in page
        )
        assert "died" in (await browser.get("/ui/ask")).text
        assert "hx-trigger" not in page[page.index("<main") :]


async def test_an_answer_and_its_sources_are_text(settings: Settings) -> None:
    sources = (
        Source(url="javascript:alert(1)", title=HOSTILE),
        Source(url='https://example.org/a?b="onclick=x', title="page"),
        Source(url="file:notes.txt"),
    )
    answer = f"[click](javascript:alert(1)) {HOSTILE}\n\n```html\n<b>code</b>\n```\n![x](http://evil/)"
    solution = Solution(
        run=RUN, task=HOSTILE, answer=answer, solved=True, sources=sources, tools_made=(HOSTILE,)
    )
    stored = StoredRuns(Storage(settings.home))
    await stored.begin_run(RUN, TaskRequest(task=HOSTILE))
    end = {"run": RUN, "number": 1, "at": "", "kind": "finished", "text": "", "data": solution.model_dump()}
    await stored.append(TaskEvent.model_validate(end))
    async with asking(settings, None) as (_, browser):
        for page in ((await browser.get(f"/ui/ask/{RUN}")).text, (await browser.get("/ui/ask")).text):
            assert "<script>alert" not in page
            assert "\u202e" not in page
        page = (await browser.get(f"/ui/ask/{RUN}")).text
    links = re.findall(r'<a href="([^"/][^"]*)"', page)
    assert links == ["https://example.org/a?b=&#34;onclick=x"]
    assert "&lt;b&gt;code&lt;/b&gt;" in page
    assert "<img" not in page


async def test_without_a_model_the_box_searches(settings: Settings) -> None:
    async with asking(settings, None) as (_, browser):
        page = (await browser.get("/ui/ask")).text
        assert "alita setup" in page
        assert "ALITA_MODEL" in page
        assert '<form action="/ui/library"' in page
        found = (await browser.get("/ui/library", params={"q": "evaluate an arithmetic expression"})).text
        assert 'href="/ui/library/calculate"' in found
        refused = await browser.post("/ui/ask", data={"task": "t", "csrf_token": csrf_token(page)})
        assert (refused.status_code, "No model is configured" in refused.text) == (400, True)


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"data": {"task": " "}}, "There is no task"),
        ({"data": {"task": "t" * 20_001}}, "too long"),
        (
            {"data": {"task": "t"}, "files": [("files", ("a/x", b"1")), ("files", ("b\\x", b"2"))]},
            "Two files",
        ),
    ],
)
async def test_what_cannot_be_a_task_leaves_nothing(
    settings: Settings, sent: dict[str, Any], says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "uploads"))
    (tmp_path / "uploads").mkdir()
    async with asking(settings, ScriptedModel([])) as (_, browser):
        token = csrf_token((await browser.get("/ui/ask")).text)
        refused = await browser.post("/ui/ask", headers={"x-csrf-token": token}, **sent)
        assert (refused.status_code, says in refused.text) == (400, True)
        assert "No tasks were worked on yet" in (await browser.get("/ui/ask")).text
    assert not list((tmp_path / "uploads").iterdir())


@pytest.mark.parametrize(
    "path",
    [
        "../events", RUN, f"{RUN[:8]}", f"{RUN}/files/../request.json", f"{RUN}/files/%2e%2e/request.json",
        f"{RUN}/files//etc/passwd", f"{RUN}/files/link", f"{'cd' * 16}/files/passwd",
    ],
)  # fmt: skip
async def test_what_is_no_run_or_file_of_one_is_not_found(settings: Settings, path: str) -> None:
    if "files" in path:
        storage = Storage(settings.home)
        runs = StoredRuns(storage)
        for run in (RUN, "cd" * 16):
            await runs.begin_run(run, TaskRequest(task="t"))
        await anyio.to_thread.run_sync(runs.write_file, RUN, "link", b"1")
        stored = settings.home / RUNS / f"{RUN}.{storage.server}.0"
        stored.unlink()
        stored.symlink_to("/etc/passwd")
    async with asking(settings, None) as (_, browser):
        refused = await browser.get(f"/ui/ask/{path}")
        if "files" in path:
            assert (await browser.get(f"/ui/ask/{RUN}")).status_code == 200
    assert refused.status_code in (400, 404)
    assert "root:" not in refused.text


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("../../etc/passwd", "passwd"), ("C:\\x\\y.txt", "y.txt"), ("..", "file-1"), (".env", ".env"),
        (" . ", "file-1"), ("a\u202eb.txt", "ab.txt"), ("\U0001f600" * 300 + ".csv", "\U0001f600" * 56 + ".csv"),
    ],
)  # fmt: skip
async def test_uploads_have_the_last_part_of_their_names(settings: Settings, sent: str, kept: str) -> None:
    model = Waiting([call("search_capabilities", query="anything")])
    async with asking(settings, model) as (_, browser):
        where = await begin(browser, files={"files": (sent, b"1")})
        await until(lambda: browser.get(where), 'id="step-1"')
    assert f'Files of the task: ["{kept}"]' in model.asked[0][-1].content


async def test_a_tool_that_the_run_makes_is_named_while_it_runs(settings: Settings) -> None:
    code = 'def double_it(number: int) -> int:\n    """Doubles a number."""\n    return number * 2\n'
    examples = [{"arguments": {"number": each}, "expected": each * 2} for each in (0, 1, -3, 1000)]
    built = call(
        "build_tool",
        description="Doubles a whole number.",
        name="double_it",
        code=code,
        examples=examples,
        reason="-",
    )
    async with asking(settings, Waiting([built])) as (_, browser):
        where = await begin(browser)
        page = await until(lambda: browser.get(where), 'id="step-1"')
        assert 'made</span> <a href="/ui/library/double_it">' in page, page


@pytest.mark.parametrize("size", [3, 1])  # one does not fit while it is read, the other not while it is kept
async def test_a_full_disk_is_said_and_leaves_nothing(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    folder = tmp_path / "small"
    with small_disk(folder, "2m"):
        filled = [fill(folder)] if size == 1 else []
        monkeypatch.setattr("tempfile.tempdir", str(folder))
        async with asking(settings, ScriptedModel([])) as (_, browser):
            token = csrf_token((await browser.get("/ui/ask")).text)
            refused = await browser.post(
                "/ui/ask",
                data={"task": "t", "csrf_token": token},
                files={"files": ("a", b"0" * (size << 20))},
            )
            assert refused.status_code >= 400
            assert "No space left" in refused.text
        assert list(folder.iterdir()) == filled


async def test_the_token_opens_no_runs_but_those_of_its_clients_and_what_it_starts_is_theirs(
    settings: Settings,
) -> None:
    token = "t" * 40
    runs = StoredRuns(Storage(settings.home))
    await runs.begin_run(RUN, TaskRequest(task="a person's own affair"))
    model = ScriptedModel([finish("4", solved=True)] * 4)
    settings = settings.model_copy(update={"sandbox": IN_PROCESS})
    async with (
        open_app(settings, admit=admit, model=model) as app,
        visiting(app) as person,
        visiting(app, token=token) as client,
    ):
        assert "own affair" in (await person.get("/ui/ask")).text
        page = (await client.get("/ui/ask")).text
        assert "own affair" not in page
        for path in (f"/ui/ask/{RUN}", f"/ui/ask/{RUN}/files/a.txt"):
            assert (await client.get(path)).status_code == 404
        form = {"csrf_token": csrf_token(page), "task": "2 + 2"}
        assert (await client.post(f"/ui/ask/{RUN}/stop", data=form)).status_code == 404
        begun = await client.post("/ui/ask", data=form)
        assert begun.status_code == 303
        summary = await app.tasks.runs_of(None).summary(begun.headers["location"].rpartition("/")[2])
        assert summary.owner == token_owner(token)
        assert (await client.get(begun.headers["location"])).status_code == 200
        for path in ("/ui/decide", "/ui/gaps"):
            assert (await person.get(path)).status_code == 200
            assert (await client.get(path)).status_code == 403
