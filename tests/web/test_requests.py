"""What every request for a page is checked for: a session, the session's CSRF token, and a form of bounded size."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from alita_mcp.web import routes
from alita_mcp.web.security import Sessions
from alita_mcp.web.site import Site

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


async def nothing_opens() -> None:
    raise AssertionError


SITE = Site(app=nothing_opens, sessions=Sessions(b"key"), servers=list)  # type: ignore[arg-type]


@pytest.fixture
def client() -> Iterator[TestClient]:
    async def echo(request: Request) -> Response:
        if request.method == "GET":
            return PlainTextResponse(request.state.csrf_token)
        form = await request.form()
        file = form.get("file")
        content = "" if file is None or isinstance(file, str) else (await file.read()).decode()
        return PlainTextResponse(f"{form.get('said', '')}{content}")

    routed = [Route("/echo", routes.check_session(SITE, echo), methods=["GET", "POST"])]
    client = TestClient(Starlette(routes=routed))
    client.cookies.set(SITE.sessions.cookie, SITE.sessions.make_session())
    yield client


def test_a_form_is_checked_and_reaches_its_page(client: TestClient) -> None:
    token = client.get("/echo").text
    assert client.post("/echo", data={"said": "a", "csrf_token": token}).text == "a"
    multipart = client.post("/echo", data={"csrf_token": token}, files={"file": ("a.txt", b"b")})
    assert multipart.text == "b"
    assert client.post("/echo", data={"said": "c"}, headers={"x-csrf-token": token}).text == "c"


@pytest.mark.parametrize("sent", [{}, {"csrf_token": ""}, {"csrf_token": "0" * 64}, {"csrf_token": "ä"}])
def test_a_change_without_the_token_of_the_session_is_refused(
    client: TestClient, sent: dict[str, str]
) -> None:
    refused = client.post("/echo", data=sent)
    assert (refused.status_code, "out of date" in refused.text) == (403, True)


@pytest.mark.parametrize("cookie", ["", "x", "9999999999.n.s", "é.b.c", f"{SITE.sessions.make_session()}0"])
def test_without_a_session_nothing_is_shown(client: TestClient, cookie: str) -> None:
    client.cookies.clear()
    refused = client.get("/echo", headers={"cookie": f"{SITE.sessions.cookie}={cookie}".encode()})
    assert (refused.status_code, "alita ui" in refused.text) == (401, True)


def test_a_form_that_is_too_large_or_of_unknown_size_is_refused_unread(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "MAX_FORM_BYTES", 1 << 20)
    token = client.get("/echo").text
    large = client.post("/echo", headers={"x-csrf-token": token}, files={"file": ("a", b"0" * (2 << 20))})
    assert (large.status_code, "exceed 1 MB" in large.text) == (413, True)
    unknown = client.post("/echo", headers={"x-csrf-token": token}, content=iter([b"said=a"]))
    assert unknown.status_code == 413
    many = client.post(
        "/echo", headers={"x-csrf-token": token}, files=[("file", ("a", b"0"))] * (routes.MAX_FORM_FILES + 1)
    )
    assert many.status_code == 400
