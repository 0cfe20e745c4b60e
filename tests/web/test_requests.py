"""What every request for a page is checked for: a session, its CSRF token, where it comes from, the form's size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from alita_mcp.errors import SandboxUnavailable, ToolNotFound
from alita_mcp.owners import Principal, token_digest
from alita_mcp.web import security
from alita_mcp.web.routes import ui_application
from alita_mcp.web.security import Sessions
from alita_mcp.web.site import Site
from tests.tables import each_case
from tests.web.visiting import alone

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TOKEN = "correct horse battery staple"
ADDRESS = "http://127.0.0.1:8764"
PERMITTED = (
    "/ui/ask",
    "/ui/ask/1/stop",
    "/ui/library/a/calls",
)
DECISIONS = (
    "/ui/decide/version",
    "/ui/gaps",
    "/ui/library/calls",
    "/ui/library/a/do/pin",
    "/ui/library/a/export",
)
FAILURES = {
    "missing": ToolNotFound("There is no tool 'a'.", hint="Search."),
    "sandbox": SandboxUnavailable("No sandbox works.", hint="Run: alita doctor"),
    "defect": ZeroDivisionError("internal detail"),
}


def echo_routes(_site: Site) -> list[Route]:
    async def echo(request: Request) -> Response:
        if request.method == "GET":
            return PlainTextResponse(request.state.csrf_token)
        form = await request.form()
        file = form.get("file")
        content = "" if file is None or isinstance(file, str) else (await file.read()).decode()
        return PlainTextResponse(f"{form.get('said', '')}{content}")

    async def fail(request: Request) -> Response:
        raise FAILURES[request.path_params["kind"]]

    paths = ("/ui/echo", "/ui/library/a", *PERMITTED, *DECISIONS)
    return [*(Route(path, echo, methods=["GET", "POST"]) for path in paths), Route("/ui/fail/{kind}", fail)]


def make_client(sessions: Sessions, cookie: str = "") -> TestClient:
    async def open_app() -> Any:
        raise AssertionError

    site = Site(app=open_app, sessions=sessions, follow_others=alone)
    client = TestClient(ui_application(site, [echo_routes]), ADDRESS, follow_redirects=False)
    if cookie:
        client.cookies.set(sessions.cookie, cookie)
    return client


@pytest.fixture
def sessions() -> Sessions:
    own = Principal("token:1", frozenset({"call", "make"}))
    return Sessions(TOKEN.encode(), {token_digest(TOKEN): own}.get)


@pytest.fixture
def client(sessions: Sessions) -> Iterator[TestClient]:
    yield make_client(sessions, sessions.make_session())


def test_a_form_is_checked_and_reaches_its_page(client: TestClient) -> None:
    token = client.get("/ui/echo").text
    assert client.post("/ui/echo", data={"said": "a", "csrf_token": token}).text == "a"
    multipart = client.post("/ui/echo", data={"csrf_token": token}, files={"file": ("a.txt", b"b")})
    assert multipart.text == "b"
    own = {"x-csrf-token": token, "origin": ADDRESS, "sec-fetch-site": "same-origin"}
    assert client.post("/ui/echo", data={"said": "c"}, headers=own).text == "c"


@pytest.mark.parametrize("sent", [{}, {"csrf_token": ""}, {"csrf_token": "0" * 64}, {"csrf_token": "ä"}])
def test_a_change_without_the_token_of_the_session_is_refused(
    client: TestClient, sent: dict[str, str]
) -> None:
    refused = client.post("/ui/echo", data=sent)
    assert (refused.status_code, "out of date" in refused.text) == (403, True)


def test_a_form_of_one_session_is_refused_in_another(client: TestClient, sessions: Sessions) -> None:
    other = make_client(sessions, sessions.make_session())
    refused = other.post("/ui/echo", data={"csrf_token": client.get("/ui/echo").text})
    assert refused.status_code == 403


@each_case(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8765"},
        {"origin": f"{ADDRESS}.evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
@pytest.mark.parametrize("path", ["/ui/echo", "/ui/enter"])
def test_a_change_that_another_page_sends_is_refused(
    client: TestClient, sessions: Sessions, headers: dict[str, str], path: str
) -> None:
    form = {"csrf_token": client.get("/ui/echo").text, "code": sessions.make_code()}
    refused = client.post(path, data=form, headers=headers)
    assert (refused.status_code, "Another page" in refused.text) == (403, True)


def changed(cookie: str) -> list[str]:
    """Cookies that somebody made of one."""
    expiry, _, rest = cookie.partition(".")
    return ["", "x", "9999999999.n.s", "é.b.c", f"{cookie}0", cookie[:-1], f"{int(expiry) + 1}.{rest}"]


def test_without_a_session_nothing_is_shown(sessions: Sessions) -> None:
    """Nor with one of another home, of a token that was changed, or raised from a token's to a code's."""
    cookies = changed(sessions.make_session())
    cookies += [
        Sessions(b"another").make_session(),
        sessions.make_session("a" * 64).replace("a" * 64, "code"),
    ]
    for cookie in cookies:
        refused = make_client(sessions).get(
            "/ui/echo", headers={"cookie": f"{sessions.cookie}={cookie}".encode()}
        )
        assert (refused.status_code, "alita ui" in refused.text) == (401, True), cookie


def test_the_token_that_clients_have_decides_nothing(sessions: Sessions) -> None:
    browser = make_client(sessions)
    browser.post("/ui/enter", data={"code": TOKEN})
    form = {"csrf_token": browser.get("/ui/library/a").text}
    statuses = [browser.post(path, data=form).status_code for path in (*PERMITTED, *DECISIONS)]
    assert statuses == [200] * len(PERMITTED) + [403] * len(DECISIONS)


def test_a_session_ends(client: TestClient, sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "SESSION_S", -1)
    assert make_client(sessions, sessions.make_session()).get("/ui/echo").status_code == 401
    assert client.get("/ui/echo").status_code == 200


def test_servers_of_two_homes_use_two_cookies_and_those_of_one_the_same(sessions: Sessions) -> None:
    assert Sessions(b"another").cookie != sessions.cookie
    again = Sessions(TOKEN.encode())
    assert make_client(again, sessions.make_session()).get("/ui/echo").status_code == 200


def test_a_form_that_is_too_large_or_of_unknown_size_is_refused_unread(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "MAX_FORM_BYTES", 1 << 20)
    token = client.get("/ui/echo").text
    headers = {"x-csrf-token": token}
    large = client.post("/ui/echo", headers=headers, files={"file": ("a", b"0" * (2 << 20))})
    assert (large.status_code, "exceed 1 MB" in large.text) == (413, True)
    assert client.post("/ui/echo", headers=headers, content=iter([b"said=a"])).status_code == 413
    many = client.post(
        "/ui/echo", headers=headers, files=[("file", ("a", b"0"))] * (security.MAX_FORM_FILES + 1)
    )
    assert many.status_code == 400
    assert client.post("/ui/enter", data={"code": "x" * 5_000}).status_code == 400
    assert client.post("/ui/enter", files={"code": ("a", b"0")}).status_code == 400


@each_case(
    "kind, status, shown",
    [
        ("missing", 404, ["There is no tool", "Search."]),
        ("sandbox", 400, ["No sandbox works.", "alita doctor"]),
        ("defect", 500, ["Internal error (id "]),
    ],
)
def test_a_failure_is_a_page_or_for_htmx_a_line_above_it(
    client: TestClient, kind: str, status: int, shown: list[str]
) -> None:
    page = client.get(f"/ui/fail/{kind}")
    assert page.status_code == status
    assert [text for text in shown if text not in page.text] == []
    assert "internal detail" not in page.text
    assert "<nav" in page.text
    assert (page.headers["hx-retarget"], page.headers["hx-reselect"]) == ("#problem", ".problem")


def test_a_part_that_is_asked_for_after_the_session_brings_the_sign_in_page(sessions: Sessions) -> None:
    part = make_client(sessions).get("/ui/echo")
    assert (part.status_code, part.headers["hx-refresh"]) == (401, "true")


@each_case(
    "path, status",
    [
        ("/", 303),
        ("/ui", 303),
        ("/ui/echo", 200),
        ("/ui/nothing", 404),
        ("/ui/enter", 401),
        ("/ui/static/style.css", 200),
        ("/ui/static/../security.py", 404),
    ],
)
def test_every_response_carries_the_headers_that_protect_it(
    client: TestClient, path: str, status: int
) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


def test_a_code_lets_in_once_and_only_for_a_while(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = f"/ui/enter?code={sessions.make_code()}"
    assert make_client(sessions).head(link).status_code == 401  # a preview of the link uses nothing up
    client = make_client(sessions)
    entered = client.get(link)
    assert entered.status_code == 200
    assert re.search(r"HttpOnly; .*Path=/ui; SameSite=strict$", entered.headers["set-cookie"])
    assert client.get("/ui/echo").status_code == 200
    assert make_client(sessions).get(link).status_code == 403
    assert client.get(link).status_code == 303  # the same browser, by its history
    second = f"/ui/enter?code={sessions.make_code()}"
    assert "set-cookie" not in client.get(second).headers  # the forms in its open pages stay valid
    assert make_client(sessions).get(second).status_code == 403
    monkeypatch.setattr(security, "CODE_S", -1.0)
    assert make_client(sessions).get(f"/ui/enter?code={sessions.make_code()}").status_code == 403


def test_the_token_lets_in_and_a_wrong_one_does_not(sessions: Sessions) -> None:
    proxied = {"origin": "https://127.0.0.1:8764"}
    entered = make_client(sessions).post("/ui/enter", data={"code": f" {TOKEN}\n"}, headers=proxied)
    assert (entered.status_code, "; Secure" in entered.headers["set-cookie"]) == (200, True)
    assert make_client(sessions).post("/ui/enter", data={"code": "guess"}).status_code == 403


def test_where_clients_need_no_token_only_a_code_lets_in() -> None:
    sessions = Sessions(TOKEN.encode())
    assert make_client(sessions).post("/ui/enter", data={"code": TOKEN}).status_code == 403
    assert make_client(sessions).post("/ui/enter", data={"code": sessions.make_code()}).status_code == 200
