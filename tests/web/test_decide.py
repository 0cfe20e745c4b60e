"""To decide: what a person sees, approves, refuses and reviews, and what two people or a forger get."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.errors import ToolUnavailable
from alita_mcp.library.grants.code_approvals import AskedCode
from alita_mcp.library.library import Library
from alita_mcp.owners import Maker
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Manifest
from tests.in_process import IN_PROCESS
from tests.library.factory import simple
from tests.web.visiting import csrf_token, visiting

WIDE = Grants(network=("api.example.org",), model=True)
Form = dict[str, str | list[str]]


async def publish(library: Library, answer: str, grants: Grants = WIDE, name: str = "asker") -> Manifest:
    known = library.tools.entry(name)
    made = simple(name, f"Asks for <b>much</b>\u202e, says {answer}.", answer=answer, grants=grants)
    made = made.model_copy(update={"made_by": Maker("claude\u200b")})
    return await library.publish(made, expected_version=max(known.versions) if known else 0)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[tuple[App, httpx.AsyncClient]]:
    chosen = settings.model_copy(update={"sandbox": IN_PROCESS})
    async with open_app(chosen, admit=admit) as app, visiting(app) as browser:
        browser.follow_redirects = True
        yield app, browser


def forms(page: str) -> list[tuple[str, Form]]:
    """Action and fields of each form on a page, in order; boxes that are not ticked are there too."""
    found = []
    for action, body in re.findall(
        r'<form method="post" action="([^"]+)"[^>]*>(.*?)</form>', page, re.DOTALL
    ):
        fields: Form = {}
        for tag in re.findall(r"<input[^>]*>", body):
            name, value = (re.search(rf' {each}="([^"]*)"', tag) for each in ("name", "value"))
            if name and 'type="checkbox"' in tag:
                fields.setdefault(name[1], []).append(html.unescape(value[1] if value else ""))  # type: ignore[union-attr]
            elif name:
                fields[name[1]] = html.unescape(value[1] if value else "")
        found.append((action, fields))
    return found


async def first_form(browser: httpx.AsyncClient, kind: str = "version") -> Form:
    page = (await browser.get("/ui/decide")).text
    return next(fields for action, fields in forms(page) if action == f"/ui/decide/{kind}")


def granted(app: App, manifest: Manifest) -> Grants | None:
    return app.library.effective_grants.of(manifest)


async def test_a_version_is_shown_with_what_is_new_in_it_and_approved(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        first = await publish(app.library, "one", Grants(model=True, secrets=("token",)))
        await app.library.approve("asker", first.digest)
        second = await publish(app.library, "two\u2066")
        page = (await browser.get("/ui/decide")).text
        shown = html.unescape(re.sub(r"<[^>]*>", "", page))
        for piece in (
            "network api.example.org (new)",
            "secret token (no longer)",
            "model (approved before)",
            "-    return 'one'",
            "+    return 'two\\u2066'",
            "Asks for <b>much</b><U+202E>",
            "Made by claude<U+200B>",
            "v1, approved last",
            second.digest,
        ):
            assert piece in shown, piece
        assert "<b>much" not in page
        assert "\u202e" not in page
        assert (await browser.get("/ui/decide/count")).text.startswith(
            '<span id="number" class="badge warn">'
        )
        done = await browser.post(
            "/ui/decide/version", data={**await first_form(browser), "decision": "approve"}
        )
        assert "asker v2 is the current version now and may use: network api.example.org, model." in done.text
        assert done.url.path == "/ui/decide"
        assert granted(app, second) == WIDE
        assert app.library.journal(1, "approved")[0].detail["from"] == "page"


async def test_what_a_person_refuses_or_puts_off_is_granted_nothing(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        made = await publish(app.library, "one")
        other = await publish(app.library, "one", name="other")
        later = await browser.post(
            "/ui/decide/version", data={**await first_form(browser), "decision": "later"}
        )
        assert "asker v1 stays to be decided." in later.text
        page = (await browser.get("/ui/decide")).text
        fields = next(each for _, each in forms(page) if each.get("name") == "other")
        refused = await browser.post("/ui/decide/version", data={**fields, "decision": "refuse"})
        assert "other v1 was refused." in refused.text
        assert (granted(app, made), granted(app, other)) == (None, None)
        assert (await first_form(browser))["name"] == "asker"


async def test_nothing_is_granted_that_the_page_did_not_show(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        pure = await publish(app.library, "pure", Grants())
        first = await publish(app.library, "one")
        fields = {**await first_form(browser), "decision": "approve"}
        second = await publish(app.library, "two")
        for changes in (
            {},
            {"digest": f"sha256:{64 * '0'}", "version": "3"},
            {"version": "3"},
            {"digest": pure.digest, "version": "1"},
            {"name": "<script>"},
            {"version": "99999999999999999999"},
            {"version": "x"},
            {"name": "other\x00", "decision": "refuse"},
            {"digest": second.digest, "version": "3", "seen": "7"},
        ):
            refused = await browser.post("/ui/decide/version", data={**fields, **changes})
            assert refused.status_code in (400, 404), changes
            assert "badge bad" in refused.text
            assert "<script>" not in refused.text
        assert (
            "asker is not as it was a moment ago; nothing was approved."
            in (await browser.post("/ui/decide/version", data=fields)).text
        )
        no_token = await browser.post("/ui/decide/version", data={**fields, "csrf_token": "0" * 64})
        assert no_token.status_code == 403
        assert [row for row in app.library.journal() if row.event in ("approved", "not approved")] == []
        assert (granted(app, first), granted(app, second)) == (None, None)
        # What is there now is shown with its own difference, and can be approved.
        assert (await first_form(browser))["digest"] == second.digest


@pytest.mark.parametrize("decision", ["approve", "refuse"])
async def test_of_two_people_one_approves_and_the_other_is_told(settings: Settings, decision: str) -> None:
    async with opened(settings) as (app, browser):
        made = await publish(app.library, "one")
        number = app.library.code_approvals.ask(AskedCode(code="1", grants=WIDE))
        for kind in ("version", "code"):
            fields = await first_form(browser, kind)
            first = await browser.post(f"/ui/decide/{kind}", data={**fields, "decision": "approve"})
            assert first.status_code == 200
            replayed = await browser.post(f"/ui/decide/{kind}", data={**fields, "decision": decision})
            assert replayed.status_code == 400
            assert "was approved already" in replayed.text
        events = [row.event for row in app.library.journal() if "approved" in row.event]
        assert events == ["code approved", "approved"]
        assert granted(app, made) == WIDE
        assert app.library.code_approvals.find(number).approved_at


async def test_hosts_that_are_left_open_have_to_be_named(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        made = await publish(app.library, "one", Grants(network=("*",)))
        fields = {**await first_form(browser), "decision": "approve"}
        for hosts, message in (
            ("", "Name the hosts"),
            ("*", "cannot be granted"),
            ("http://a", "cannot be granted"),
        ):
            refused = await browser.post("/ui/decide/version", data={**fields, "hosts": hosts})
            assert (refused.status_code, message in html.unescape(refused.text)) == (400, True)
        await browser.post("/ui/decide/version", data={**fields, "hosts": "a.example.org, b.example.org"})
        assert granted(app, made) == Grants(network=("a.example.org", "b.example.org"))


async def test_what_is_not_verified_waits_for_nobody_and_is_granted_nothing(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        made = simple("asker", answer="one", grants=WIDE, trust="provisional")
        published = await app.library.publish(made, expected_version=0)
        page = (await browser.get("/ui/decide")).text
        assert "Nothing waits for approval" in page
        forged = {"csrf_token": csrf_token(page), "name": "asker", "version": "1", "digest": published.digest}
        refused = await browser.post("/ui/decide/version", data={**forged, "decision": "approve"})
        assert refused.status_code == 400
        assert granted(app, published) is None


async def test_code_is_read_approved_and_refused(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        approvals = app.library.code_approvals
        asked = AskedCode(code="print('<i>')\n# \u202egnp", grants=WIDE, packages=("httpx",), client="codex")
        approvals.ask(asked)
        page = html.unescape((await browser.get("/ui/decide")).text)
        for piece in (
            "1 | print('<i>')",
            "2 | # <U+202E>gnp",
            "Packages: httpx",
            "Sent by codex",
            asked.digest,
        ):
            assert piece in page
        fields = {**await first_form(browser, "code"), "decision": "approve"}
        forged = await browser.post("/ui/decide/code", data={**fields, "digest": "sha256:0"})
        assert (forged.status_code, "does not have the digest" in forged.text) == (400, True)
        gone = await browser.post("/ui/decide/code", data={**fields, "number": "../../x"})
        assert gone.status_code == 404
        assert not approvals.is_approved(asked)
        assert "may run" in (await browser.post("/ui/decide/code", data=fields)).text
        assert approvals.is_approved(asked)
        other = asked.model_copy(update={"code": "2"})
        approvals.ask(other)
        fields = {**await first_form(browser, "code"), "decision": "refuse"}
        assert "was refused" in (await browser.post("/ui/decide/code", data=fields)).text
        assert approvals.list_waiting() == []


async def test_reviews_are_marked_in_bulk_each_as_it_was_shown(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        for name in ("alpha", "beta", "gamma"):
            await publish(app.library, "one", Grants(), name)
        fields = await first_form(browser, "reviews")
        tools = fields["tool"]
        assert [each.split()[0] for each in tools] == ["gamma", "beta", "alpha"]
        await publish(app.library, "two", Grants(), "beta")
        done = await browser.post(
            "/ui/decide/reviews", data={**fields, "tool": [*tools, "forged 1 sha256:0", "x"]}
        )
        assert done.status_code == 400
        assert "3 tools were marked as reviewed. Not as shown any more: forged, x." in done.text
        assert [(each.name, each.version) for each in app.library.tools.unreviewed()[1]] == [("beta", 2)]
        page = (await browser.get("/ui/decide")).text
        link = re.search(r'href="(/ui/library/beta[^"]*from=1[^"]*)"', page)
        assert link
        reading = (await browser.get(html.unescape(link[1]))).text
        assert "-    return &#39;one&#39;" in reading
        assert "+    return &#39;two&#39;" in reading


async def test_a_damaged_version_does_not_keep_the_others_from_being_decided(settings: Settings) -> None:
    async with opened(settings) as (app, browser):
        await publish(app.library, "one")
        await publish(app.library, "one", name="other")
        damaged = app.library.home / "generated_tools" / "asker" / "v1" / "tool.py"
        damaged.chmod(0o600)
        damaged.write_text("import os", encoding="utf-8")
        page = await browser.get("/ui/decide")
        assert page.status_code == 200
        assert [each["name"] for action, each in forms(page.text) if action == "/ui/decide/version"][:1] == [
            "other"
        ]
        with pytest.raises(ToolUnavailable):
            await app.library.read("asker")
