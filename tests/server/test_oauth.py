"""Access tokens of an authorization server: real clients that get theirs, and tokens that do not count."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx
import httpx2
import pytest
from cryptography.hazmat.primitives import serialization
from mcp import Client, MCPError
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from alita_mcp.errors import UsageError
from alita_mcp.server.api.problems import Refusal
from alita_mcp.server.transports import oauth
from alita_mcp.server.transports.http import serve_http
from alita_mcp.server.transports.oauth import ResourceServer
from alita_mcp.server.transports.shutdown import Drain
from alita_mcp.settings import Settings
from tests.server.authorization_server import Issuer, other_keys, running_issuer
from tests.server.connections import SHOUT
from tests.server.in_memory import Build, called, names_of, text_of
from tests.server.processes import META, PATIENCE_S
from tests.server.test_http import HEADERS, POST, TOKEN, with_token

AUDIENCE = "http://127.0.0.1:8765/mcp"
OAUTH = ("oauth_issuer", "oauth_audience", "token", "quota_calls")
USERS = {
    "ann": {"team": "red", "scope": "call make"},
    "bob": {"team": "blue", "scope": "call"},
    "cat": {"team": ["red", "blue"], "scope": "call"},
}


@pytest.fixture(scope="module")
def issuing() -> Iterator[Issuer]:
    with running_issuer(AUDIENCE, USERS) as issuer:
        yield issuer


@pytest.fixture
def issuer(issuing: Issuer) -> Issuer:
    issuing.is_away = False
    return issuing


@pytest.fixture
def checks(settings: Settings, issuer: Issuer) -> ResourceServer:
    return ResourceServer(with_oauth(settings, issuer))


def with_oauth(settings: Settings, issuer: Issuer, audience: str = AUDIENCE) -> Settings:
    return settings.model_copy(update={"oauth_issuer": issuer.url, "oauth_audience": audience})


async def test_a_token_names_team_subject_and_scopes(checks: ResourceServer, issuer: Issuer) -> None:
    principal = await checks.identify(
        issuer.sign(sub="auth0|a/b", team=["red"], scope=["call", "approve", "admin"])
    )
    assert principal is not None
    assert principal.owner == "red/auth0|a%2Fb"
    assert principal.scopes == {"call", "approve"}


async def test_clients_that_may_do_different_things_are_different(
    checks: ResourceServer, issuer: Issuer
) -> None:
    more, less = [await checks.identify(issuer.sign(scope=scope)) for scope in ("call approve", "call")]
    assert more is not None
    assert less is not None
    assert more.id != less.id


def unsigned(issuer: Issuer, **header: Any) -> str:
    def part(said: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")

    _, claims, _ = issuer.sign().split(".")
    return f"{part({'alg': 'none', 'kid': 'first', **header})}.{claims}."


def with_public_key(issuer: Issuer) -> str:
    public = (
        issuer.key.raw_value.public_key()
        if hasattr(issuer.key.raw_value, "public_key")
        else issuer.key.raw_value
    )
    pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"first","typ":"at+jwt"}').rstrip(b"=")
    claims = issuer.sign().split(".")[1].encode()
    mark = hmac.new(pem, head + b"." + claims, hashlib.sha256).digest()
    return b".".join((head, claims, base64.urlsafe_b64encode(mark).rstrip(b"="))).decode()


def issuer_words(signed: str, other: str) -> str:
    """The claims of one token with the signature of another."""
    return ".".join((signed.split(".", maxsplit=1)[0], other.split(".")[1], signed.split(".")[2]))


FORGED = {
    "of another audience": lambda i: i.sign(aud="https://other.example.org/mcp"),
    "of several others": lambda i: i.sign(aud=["a", "b"]),
    "of no audience": lambda i: i.sign(aud=None),
    "of a longer audience": lambda i: i.sign(aud=AUDIENCE + "/x"),
    "of another issuer": lambda i: i.sign(iss="http://127.0.0.1:1"),
    "of no issuer": lambda i: i.sign(iss=None),
    "expired": lambda i: i.sign(exp=int(time.time()) - 120),
    "without an end": lambda i: i.sign(exp=None),
    "not valid yet": lambda i: i.sign(nbf=int(time.time()) + 600),
    "without a subject": lambda i: i.sign(sub=None),
    "not signed": unsigned,
    "not signed, in capitals": lambda i: unsigned(i, alg="NONE"),
    "signed with the public key": with_public_key,
    "signed by another key": lambda i: i.sign(key=other_keys()["RS256"]),
    "signed by another kind of key": lambda i: i.sign(key=other_keys()["ES256"], alg="ES256"),
    "that brings its key": lambda i: i.sign(
        key=other_keys()["RS256"],
        headers={"jwk": {"kty": "RSA"}, "jku": "http://127.0.0.1:1/jwks", "kid": "mine"},
    ),
    "of a logout": lambda i: i.sign(headers={"typ": "logout+jwt"}),
    "with a critical header": lambda i: i.sign(headers={"crit": ["x"], "x": 1}),
    "changed": lambda i: issuer_words(i.sign(), i.sign(team="blue")),
    "without its mark": lambda i: i.sign().rpartition(".")[0] + ".",
    "of two parts": lambda i: i.sign().rpartition(".")[0],
    "of dots": lambda _i: "..",
    "of no JSON": lambda _i: "e30.e30.e30",
    "nested deeply": lambda _i: base64.urlsafe_b64encode(b"[" * 9_000).decode() + ".e30.e30",
}


@pytest.mark.parametrize("kind", FORGED)
async def test_a_forged_token_does_not_count(checks: ResourceServer, issuer: Issuer, kind: str) -> None:
    assert await checks.identify(issuer.sign()) is not None
    assert await checks.identify(FORGED[kind](issuer)) is None


@pytest.mark.parametrize(
    "team", [None, "", ["red", "blue"], "red/blue", "../red", {"red": 1}, 7, ".", "r" * 65]
)
async def test_a_token_of_no_team_is_refused(checks: ResourceServer, issuer: Issuer, team: object) -> None:
    with pytest.raises(Refusal) as refused:
        await checks.identify(issuer.sign(team=team))
    assert (refused.value.status, refused.value.problem["code"]) == (403, "no_team")


async def test_tokens_with_made_up_keys_do_not_make_the_server_ask_again_and_again(
    checks: ResourceServer, issuer: Issuer
) -> None:
    assert await checks.identify(issuer.sign()) is not None
    before, key = issuer.jwks_requests, other_keys()["RS256"]
    for number in range(20):
        assert await checks.identify(issuer.sign(key=key, headers={"kid": f"made-up-{number}"})) is None
    assert issuer.jwks_requests - before <= 1


async def test_a_new_key_is_found_and_the_old_one_counts_no_longer(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth.jwt, "PyJWKClient", partial(oauth.jwt.PyJWKClient, cooldown_duration=0))
    with running_issuer(AUDIENCE, USERS) as issuer:
        checks = ResourceServer(with_oauth(settings, issuer))
        old = issuer.sign()
        assert await checks.identify(old) is not None
        issuer.rotate_key()
        assert await checks.identify(issuer.sign(headers={"kid": "second"})) is not None
        assert await checks.identify(old) is None


async def test_an_authorization_server_that_is_away_is_called_so(settings: Settings, issuer: Issuer) -> None:
    token, checks = issuer.sign(), ResourceServer(with_oauth(settings, issuer))
    issuer.is_away = True
    for _ in range(2):
        with pytest.raises(Refusal) as refused:
            await checks.identify(token)
        assert refused.value.status == 503


async def test_metadata_of_another_issuer_do_not_count(settings: Settings, issuer: Issuer) -> None:
    other = settings.model_copy(
        update={"oauth_issuer": issuer.url.replace("127.0.0.1", "localhost"), "oauth_audience": AUDIENCE}
    )
    with pytest.raises(Refusal, match="keys"):
        await ResourceServer(other).identify(issuer.sign(iss=other.oauth_issuer))


async def test_issuer_and_audience_need_each_other(settings: Settings) -> None:
    for name in ("oauth_issuer", "oauth_audience"):
        with pytest.raises(UsageError, match="need each other"):
            await serve_http(settings.model_copy(update={name: AUDIENCE}), "127.0.0.1", 0, token="x" * 16)


# --- over HTTP ---


@asynccontextmanager
async def serving(
    build: Build, settings: Settings, issuer: Issuer, token: str | None = TOKEN
) -> AsyncIterator[str]:
    """A server whose access tokens are of this issuer, and whose own token is this one."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    audience, stop = f"http://127.0.0.1:{port}/mcp", anyio.Event()
    changed = with_token(with_oauth(settings, issuer, audience))
    issuer.audience = audience
    heard = anyio.Event()

    async def until(_url: str, _drain: Drain) -> int:
        heard.set()
        await stop.wait()
        return 0

    serve = partial(
        serve_http,
        changed,
        "127.0.0.1",
        port,
        token=token,
        until=until,
        server=build(settings={each: getattr(changed, each) for each in OAUTH}),
    )
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            await heard.wait()
            try:
                yield audience
            finally:
                stop.set()


class Kept:
    """Where a client keeps what it was given."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client: OAuthClientInformationFull) -> None:
        self.client = client


@asynccontextmanager
async def signed_in(url: str, user: str, era: str) -> AsyncIterator[Client]:
    """A client of the SDK that finds the authorization server by itself, and signs in there as this user."""
    redirects: list[str] = []

    async def open_browser(address: str) -> None:
        async with httpx.AsyncClient() as browser:
            answer = await browser.get(address, headers={"x-user": user})
        redirects.append(answer.headers["location"])

    async def come_back() -> AuthorizationCodeResult:
        given = parse_qs(urlsplit(redirects[-1]).query)
        return AuthorizationCodeResult(code=given["code"][0], state=given["state"][0])

    about = OAuthClientMetadata(
        redirect_uris=[AnyUrl("http://127.0.0.1:9/back")], client_name=user, token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(
        server_url=url,
        client_metadata=about,
        storage=Kept(),
        redirect_handler=open_browser,
        callback_handler=come_back,
    )
    async with httpx2.AsyncClient(auth=auth, timeout=httpx2.Timeout(PATIENCE_S)) as http:
        mode = "legacy" if era == "legacy" else "auto"
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            yield client


@pytest.mark.both_eras
async def test_clients_sign_in_by_themselves_and_see_what_their_team_and_scopes_allow(
    build: Build, settings: Settings, issuer: Issuer, era: str
) -> None:
    async with serving(build, settings, issuer) as url:
        async with signed_in(url, "ann", era) as ann:
            assert {"synthesize_tool", "run_tool", "search_capabilities"} <= {*await names_of(ann)}
            made = await called(ann, "synthesize_tool", **SHOUT)
            assert made.structured_content["status"] == "created", text_of(made)
            assert (await called(ann, "shout_it", text="a")).structured_content == {"result": "A!"}
        async with signed_in(url, "bob", era) as bob:
            names = await names_of(bob)
            assert "synthesize_tool" not in names
            assert "shout_it" not in names
            with pytest.raises(MCPError, match="insufficient_scope: this token lacks the scope `make`"):
                await called(bob, "synthesize_tool", **SHOUT)


async def test_who_has_no_token_or_too_little_is_told_where_to_get_one(
    build: Build, settings: Settings, issuer: Issuer
) -> None:
    async with serving(build, settings, issuer) as url, httpx.AsyncClient(timeout=PATIENCE_S) as http:
        metadata = f"{url.removesuffix('/mcp')}/.well-known/oauth-protected-resource/mcp"
        found = (await http.get(metadata)).json()
        assert found["resource"] == url
        assert found["authorization_servers"] == [issuer.url]
        assert found["scopes_supported"] == ["call", "make", "manage", "approve"]
        missing = await http.post(url, json=POST, headers=HEADERS)
        assert missing.status_code == 401
        assert missing.headers["www-authenticate"] == (
            f'Bearer realm="alita", scope="call make", resource_metadata="{metadata}"'
        )
        wrong = await http.post(
            url, json=POST, headers={**HEADERS, "authorization": f"Bearer {unsigned(issuer)}"}
        )
        assert 'error="invalid_token"' in wrong.headers["www-authenticate"]
        body = {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "synthesize_tool", "arguments": SHOUT, "_meta": META},
        }  # fmt: skip
        modern = {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "synthesize_tool",
        }
        bearer = {"authorization": f"Bearer {issuer.sign(scope='call')}"}
        little = await http.post(url, json=body, headers=HEADERS | modern | bearer)
        assert "insufficient_scope: this token lacks the scope `make`" in little.text
        # headers that say something else than the body do not widen what a token may do
        for lie in ({"mcp-name": "run_tool"}, {"mcp-method": "tools/list"}):
            lied = await http.post(url, json=body, headers=HEADERS | modern | lie | bearer)
            assert "created" not in lied.text
            assert lied.status_code == 400 or "insufficient_scope" in lied.text
        own = await http.post(url, json=POST, headers={**HEADERS, "authorization": f"Bearer {TOKEN}"})
        assert own.status_code == 200


async def test_a_token_in_the_address_does_not_count(
    build: Build, settings: Settings, issuer: Issuer
) -> None:
    async with serving(build, settings, issuer) as url, httpx.AsyncClient(timeout=PATIENCE_S) as http:
        query = await http.post(f"{url}?access_token={issuer.sign()}", json=POST, headers=HEADERS)
        assert query.status_code == 401


async def test_a_server_without_a_token_of_its_own_takes_access_tokens_alone(
    build: Build, settings: Settings, issuer: Issuer
) -> None:
    async with (
        serving(build, settings, issuer, token=None) as url,
        httpx.AsyncClient(timeout=PATIENCE_S) as http,
    ):
        for headers, status in (
            ({}, 401),
            ({"authorization": f"Bearer {TOKEN}"}, 401),
            ({"authorization": f"Bearer {issuer.sign()}"}, 200),
        ):
            assert (await http.post(url, json=POST, headers=HEADERS | headers)).status_code == status


async def test_a_session_is_of_the_client_that_opened_it_and_its_scopes(
    build: Build, settings: Settings, issuer: Issuer
) -> None:
    async with serving(build, settings, issuer) as url, httpx.AsyncClient(timeout=PATIENCE_S) as http:

        def bearer(**claims: Any) -> dict[str, str]:
            return {**HEADERS, "authorization": f"Bearer {issuer.sign(**claims)}"}

        opened = await http.post(url, json=POST, headers=bearer(scope="call approve"))
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        strangers = [bearer(sub="bob"), bearer(scope="call"), bearer(client_id="d"), bearer(team="blue")]
        strangers.append({**HEADERS, "authorization": f"Bearer {TOKEN}"})
        for headers in strangers:
            assert (await http.post(url, json=listing, headers=headers | session)).status_code == 404
        own = bearer(scope="approve call", exp=int(time.time()) + 600) | session
        assert (await http.post(url, json=listing, headers=own)).status_code == 200


@pytest.mark.both_eras
async def test_a_call_too_many_says_when_to_try_again(
    build: Build, settings: Settings, issuer: Issuer, era: str
) -> None:
    async with serving(build, settings.model_copy(update={"quota_calls": 2}), issuer) as url:
        async with signed_in(url, "ann", era) as ann:
            answers = [await called(ann, "search_capabilities", query="shout") for _ in range(3)]
        async with signed_in(url, "bob", era) as bob:
            answers.append(await called(bob, "search_capabilities", query="shout"))
    assert [each.is_error for each in answers] == [False, False, True, False]
    assert "2 calls were made in this minute" in text_of(answers[2])
    assert "Try again in" in text_of(answers[2])
