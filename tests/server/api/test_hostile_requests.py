"""The API before strangers: no token, other hosts and origins, bodies of every wrong kind; never a 5xx."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic import SecretStr

from alita_mcp.errors import LibraryError
from alita_mcp.server.api.requests import MAX_BODY_BYTES
from alita_mcp.settings import Settings
from tests.server.agents.scripted import serving
from tests.server.api.calling import api, code_of
from tests.server.test_http import TOKEN

JSON = {"content-type": "application/json"}
PATHS = [("GET", "/api/tasks"), ("POST", "/api/tasks"), ("GET", "/api/nothing")]


@pytest.mark.slow
async def test_every_path_asks_for_the_token_and_refuses_other_hosts_and_origins(settings: Settings) -> None:
    """What else the door refuses: tests/server/test_http.py."""
    right = {"authorization": f"Bearer {TOKEN}"}
    async with api(serving(settings, settings_token=SecretStr(TOKEN))) as client:
        for method, path in PATHS:
            for headers, refusal in (
                ({}, (401, "invalid_token")),
                (right | {"host": "evil.example"}, (421, "unknown_host")),
                (right | {"origin": "https://evil.example"}, (403, "unknown_origin")),
            ):
                assert code_of(await client.request(method, path, headers=headers)) == refusal
        there = await client.get("/api/nothing", headers=right)
        assert code_of(there) == (404, "not_found")


BODIES: list[tuple[bytes, int]] = [
    (b"", 400), (b"{", 400), (b"nul", 400), (b"\xff\xfe", 400), (b'{"task": "\xff"}', 400),
    (b'{"task": "\\ud800"}', 400), (b'{"task": "t", "max_usd": NaN}', 400), (b'{"task": "t", "max_usd": 1e999}', 400),
    (b"[" * 100_000, 400), (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, 400), (b"1" * 5_000, 400),
    (b'{"task": "t"} {"task": "t"}', 400), (b'{"task": "t", "files": ' + b"[" * 33 + b"]" * 33 + b"}", 400),
    (b"null", 422), (b"[]", 422), (b'"task"', 422), (b"7", 422), (b"{}", 422), (b'{"task": ""}', 422),
    (b'{"task": " \\n"}', 422), (b'{"task": 7}', 422), (b'{"task": null}', 422), (b'{"task": ["t"]}', 422),
    (b'{"task": "' + b"t" * 20_001 + b'"}', 422), (b'{"task": "t", "extra": 1}', 422),
    (b'{"task": "t", "max_steps": "3"}', 422), (b'{"task": "t", "max_steps": 0}', 422),
    (b'{"task": "t", "max_steps": 1001}', 422), (b'{"task": "t", "max_usd": -1}', 422),
    (b'{"task": "t", "max_seconds": true}', 422), (b'{"task": "t", "plans": 9}', 422),
    (b'{"task": "t", "hosts": "a.example"}', 422), (b'{"task": "t", "hosts": ["http://a.example/"]}', 422),
    (b'{"task": "t", "hosts": ["*"]}', 422), (b'{"task": "t", "hosts": ["127.0.0.1"]}', 422),
    (b'{"task": "t", "hosts": [' + b'"a.example",' * 32 + b'"a.example"]}', 422),
    (b'{"task": "t", "files": ["/etc/passwd"]}', 422), (b'{"task": "t", "files": [{"path": "/etc/passwd"}]}', 422),
    (b'{"task": "t", "max_tokens": 1' + b"0" * 4_000 + b"}", 422),
]  # fmt: skip


@pytest.mark.slow
async def test_no_body_of_a_wrong_kind_begins_a_task(settings: Settings) -> None:
    made = serving(settings)
    async with api(made) as client:
        for body, status in BODIES:
            answer = await client.post("/api/tasks", content=body, headers=JSON)
            assert code_of(answer)[0] == status, (body[:60], answer.text)
            assert len(answer.content) < 4_000
    assert made.tasks.begun == []


KINDS = ("", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "multipart/form-data")


async def test_a_body_of_another_type_than_json_is_refused(settings: Settings) -> None:
    async with api(serving(settings)) as client:
        for kind in KINDS:
            headers = {"content-type": kind} if kind else {}
            answer = await client.post("/api/tasks", content=b'{"task": "t"}', headers=headers)
            assert code_of(answer) == (415, "unsupported_type")
        headers = {"content-type": "Application/JSON; charset=utf-8"}
        answer = await client.post("/api/tasks", content=b'{"task": "t"}', headers=headers)
    assert answer.status_code == 200


async def test_a_body_over_the_limit_is_refused_whether_it_says_so_or_not(settings: Settings) -> None:
    async def drip() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 65_536

    async with api(serving(settings)) as client:
        said = await client.post("/api/tasks", content=b" " * (MAX_BODY_BYTES + 1), headers=JSON)
        unsaid = await client.post("/api/tasks", content=drip(), headers=JSON)
        fits = await client.post("/api/tasks", content=b'{"task": "t"}' + b" " * 1_000_000, headers=JSON)
    assert code_of(said) == code_of(unsaid) == (413, "too_large")
    assert fits.status_code == 200


async def test_other_methods_and_paths_are_told_in_the_same_form(settings: Settings) -> None:
    async with api(serving(settings)) as client:
        for method in ("GET", "HEAD", "PUT"):
            answer = await client.request(method, "/api/tasks")
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        for path in ("/api/", "/api/tasks/", "/api/tasks/x/y/z", "/api/../api/x", "/api/%2e%2e/etc"):
            assert code_of(await client.get(path)) == (404, "not_found")


async def test_a_library_that_cannot_be_opened_is_unavailable(settings: Settings) -> None:
    made = serving(settings)

    def broken() -> Any:
        raise LibraryError("The library is damaged.", hint="Restore it.")

    made._opened = broken  # type: ignore[method-assign]
    async with api(made) as client:
        assert code_of(await client.post("/api/tasks", json={"task": "t"})) == (503, "unavailable")
