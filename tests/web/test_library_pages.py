"""The library's page and a tool's: search, evidence, differences, actions, and hostile tools."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import httpx
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.owners import Maker
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, MutationScore, Survivor
from tests.in_process import IN_PROCESS
from tests.library.factory import SLUGIFY, accepted, forge, no_starters, simple, version_folder
from tests.web.hostile import HOSTILE, hostile_tool, large_tool
from tests.web.visiting import csrf_token, visiting


async def page_of(browser: httpx.AsyncClient, place: str, status: int = 200) -> str:
    found = await browser.get(f"/ui/library{place}")
    assert found.status_code == status, found.text
    return found.text


async def act(browser: httpx.AsyncClient, page: str, action: str, **more: str) -> httpx.Response:
    """Presses the button of an action on a page as it was when it was opened."""
    form = next(each for each in re.findall(r"<form.*?</form>", page, re.DOTALL) if f"/{action}" in each)
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    place = re.search(r'action="([^"]+)"', form)
    assert place is not None
    return await browser.post(place[1], data=fields | more)


def rows_of(page: str) -> dict[str, str]:
    """The text of each row of the list, by the tool's name."""
    rows = re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
    texts = (" ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in rows)
    return {text.partition(" ")[0]: text for text in texts}


async def test_the_list_says_how_each_tool_stands_and_was_used(
    app: App, library: Library, browser: httpx.AsyncClient
) -> None:
    await library.publish(accepted(), expected_version=0)
    network = accepted(
        "get_rates", code=SLUGIFY.replace("slugify", "get_rates"), grants=Grants(network=("a.org",))
    )
    await library.publish(network, expected_version=0)
    for name in ("turned_off", "thrown_away", "kept_first"):
        await library.publish(simple(name, trust="provisional"), expected_version=0)
    await library.disable("turned_off")
    await library.delete("thrown_away")
    await library.pin("kept_first")
    await app.run_tool("slugify", {"text": "A b"})
    await app.run_tool("slugify", {"text": "?"})
    await library.settle()
    rows = rows_of(await page_of(browser, ""))
    assert "verified unreviewed 2, 1 failed error 2" in rows["slugify"]
    assert "verified waits for approval unreviewed" in rows["get_rates"]
    assert "not approved" in rows["http_request"]
    assert "provisional disabled unreviewed 0 never called" in rows["turned_off"]
    assert "pinned" in rows["kept_first"]
    assert "verified 0 never called" in rows["calculate"]
    assert "deleted" in rows["thrown_away"]


async def test_a_long_list_is_read_page_by_page(library: Library, browser: httpx.AsyncClient) -> None:
    for number in range(60):
        await library.publish(simple(f"tool_{number:03}"), expected_version=0)
    names, place = [], "?"
    while place:
        page = await page_of(browser, place.removeprefix("/ui/library"))
        names += list(rows_of(page))[1:]
        link = re.search(r'href="/ui/library(\?after=\w+)" rel="next"', page)
        place = link[1] if link else ""
    assert names == library.tools.names()


async def test_search_finds_by_meaning_and_by_name_and_is_no_search_of_a_client(
    library: Library, browser: httpx.AsyncClient
) -> None:
    await library.publish(simple("turned_off"), expected_version=0)
    await library.disable("turned_off")
    page = await page_of(browser, "?q=add+up+these+numbers+exactly")
    assert "calculate" in rows_of(page)
    assert "disabled" in rows_of(await page_of(browser, "?q=turned+of"))["turned_off"]
    for nothing in ("zzqqxx", HOSTILE, "%_*\"'", "a" * 5_000, "\x00", "ü" * 300):
        found = await browser.get("/ui/library", params={"q": nothing})
        assert (found.status_code, "<script>alert" in found.text) == (200, False)
    await library.settle()
    assert [row for row in library.journal() if row.event == "found nothing"] == []


async def test_the_page_of_a_tool_shows_its_evidence_code_and_maker(
    app: App, library: Library, browser: httpx.AsyncClient
) -> None:
    made = accepted()
    survivor = Survivor(line=15, was="slug[:max_length]", now="slug[:None]")
    score = MutationScore(killed=3, total=4, survivors=(survivor,))
    report = made.report.model_copy(update={"mutation": score})
    await library.publish(
        made.model_copy(update={"report": report, "made_by": Maker("cursor")}), expected_version=0
    )
    await app.run_tool("slugify", {"text": "A b"})
    page = await page_of(browser, "/slugify")
    text = re.sub(r"<[^>]*>", "", page)
    for said in (
        "slugify(text: str, max_length?: int) -&gt; str", "3 of 4 noticed by the examples",
        "line 15: slug[:max_length] → slug[:None]",
        "4 of 4 examples",  "cursor",
        "1 calls, 0 failed", "computing", "longest slug wanted",
    ):  # fmt: skip
        assert said in text, said
    assert '<span class="k">def</span>' in page
    assert "def test_" in text
    assert "sha256" not in page


async def test_versions_are_compared_and_rolled_back(library: Library, browser: httpx.AsyncClient) -> None:
    for version, answer in enumerate(("old answer", "new answer")):
        await library.publish(simple("answers", answer=answer), expected_version=version)
    page = await page_of(browser, "/answers")
    difference = await page_of(browser, "/answers?version=2&from=1")
    assert '<span class="removed">-    return &#39;old answer&#39;' in difference
    assert '<span class="added">+    return &#39;new answer&#39;' in difference
    assert "Nothing differs" in await page_of(browser, "/answers?version=1&from=1")
    old = await page_of(browser, "/answers?version=1")
    assert "The current version is" in old
    assert "rollback" not in page
    assert (await act(browser, old, "rollback")).status_code == 303
    assert library.entry("answers").manifest.version == 1


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/no_such_tool", "There is no tool"),
        ("/calculat", "Did you mean calculate?"),
        ("/calculate?version=99", "There is no calculate v99"),
        ("/%3Cscript%3E", "&lt;script&gt;"),
    ],
)
async def test_what_is_not_there_is_said(browser: httpx.AsyncClient, place: str, said: str) -> None:
    assert said in await page_of(browser, place, 404)


@pytest.mark.parametrize("version", ["x", "-1", "1.5", "9" * 40, "<script>"])
async def test_no_version_is_said(browser: httpx.AsyncClient, version: str) -> None:
    refused = await browser.get("/ui/library/calculate", params={"version": version})
    assert (refused.status_code, "Invalid version" in refused.text) == (400, True)


async def test_actions_change_the_tool_and_can_be_undone(
    library: Library, browser: httpx.AsyncClient
) -> None:
    for action, state, pinned in [
        ("pin", "enabled", True), ("unpin", "enabled", False), ("disable", "disabled", False),
        ("enable", "enabled", False), ("delete", "deleted", False), ("enable", "enabled", False),
    ]:  # fmt: skip
        done = await act(browser, await page_of(browser, "/calculate"), action)
        assert done.status_code == 303, done.text
        entry = library.tools.entry("calculate")
        assert entry is not None
        assert (entry.state, entry.pinned) == (state, pinned)
        assert (await browser.get(done.headers["location"])).status_code == 200


async def test_an_action_needs_its_name_and_the_token_of_the_page(browser: httpx.AsyncClient) -> None:
    token = csrf_token(await page_of(browser, "/calculate"))
    unknown = await browser.post("/ui/library/calculate/do/approve", data={"csrf_token": token})
    assert unknown.status_code == 400
    assert (await browser.post("/ui/library/calculate/do/delete", data={})).status_code == 403


async def test_a_damaged_tool_says_so_and_can_be_deleted(
    library: Library, browser: httpx.AsyncClient
) -> None:
    manifest = await library.publish(simple("answers"), expected_version=0)
    (version_folder(library.home, manifest) / "tool.py").write_text("def answers(): return 'other'\n")
    page = await page_of(browser, "/answers")
    assert "quarantined" in page
    assert "<fieldset" not in page
    assert (await act(browser, page, "delete")).status_code == 303


async def test_an_export_is_a_zip_of_the_folder(library: Library, browser: httpx.AsyncClient) -> None:
    page = await page_of(browser, "/calculate")
    exported = await act(browser, page, "export")
    assert exported.headers["content-disposition"] == 'attachment; filename="calculate-v1.zip"'
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        assert "calculate-v1/tool.py" in archive.namelist()
        assert archive.read("calculate-v1/tool.py").decode() == (await library.read("calculate")).code
    refused = await browser.post(
        "/ui/library/http_request/export", data={"csrf_token": csrf_token(page), "version": "1"}
    )
    assert (refused.status_code, "asks for grants" in refused.text) == (400, True)


async def test_what_a_stranger_wrote_is_text_with_its_hidden_characters_spelled_out(
    library: Library, browser: httpx.AsyncClient
) -> None:
    await library.publish(hostile_tool(), expected_version=0)
    pages = [await page_of(browser, place) for place in ("", "/nasty", "?q=nasty")]
    shown = "".join(re.sub(r'<option value="[^"]*"', "", page) for page in pages)
    assert "&lt;U+202E&gt;" in shown
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
    assert "\u202e" not in shown
    assert "\u200b" not in shown


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-13-40", "-1", "9999-12-31T23:59:59.999999"])
async def test_a_forged_time_breaks_no_page(tmp_path: Path, moment: str) -> None:
    settings = Settings(home=tmp_path / "other", sandbox=IN_PROCESS)
    async with open_library(settings, starters=no_starters) as library:
        manifest = await library.publish(simple("answers"), expected_version=0)
    forge(version_folder(settings.home, manifest), manifest={"created_at": moment})
    for file in settings.home.glob("library.sqlite3*"):
        file.unlink()
    async with open_app(settings, admit=admit) as app, visiting(app) as browser:
        for place in ("", "/answers"):
            assert "answers" in await page_of(browser, place)


async def test_a_tool_of_200_kb_is_shown_whole(library: Library, browser: httpx.AsyncClient) -> None:
    for version, first in enumerate(("VALUE_0", "VALUE_X")):
        await library.publish(large_tool(first), expected_version=version)
    assert len((await library.read("large")).code) > 200_000
    page = re.sub(r"<[^>]*>", "", await page_of(browser, "/large"))
    assert "VALUE_11999 = 11999" in page
    assert "-VALUE_0 = 0" in await page_of(browser, "/large?version=2&from=1")
