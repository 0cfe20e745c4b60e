"""Client for JSON APIs of one host each, bounded in bytes and seconds, with keys kept out of replies."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import anyio
import httpx
from pydantic import Field

from alita_mcp import __version__
from alita_mcp.errors import UsageError
from alita_mcp.models.litellm.backoff import asked_pause
from alita_mcp.research.addresses import PublicOnly, place_of
from alita_mcp.research.bodies import ENCODINGS, read_body
from alita_mcp.values import Value

AGENT = f"alita-mcp-server/{__version__}"
MAX_BYTES = 2_000_000
TIMEOUT_S = 10.0


class Endpoint(Value):
    """URL of an API, and the headers for it."""

    name: str
    """As messages name it."""
    base_url: str
    """Without a slash at its end, and without a user's name or password."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    secret: str = Field(default="", repr=False)
    """What `headers` hold that must not be shown; taken out of replies, too."""
    advice: str = ""
    """What to do when the API refuses."""
    max_bytes: int = MAX_BYTES
    """Of a reply, unpacked."""
    timeout_s: float = TIMEOUT_S
    """For one reply as a whole."""

    @property
    def place(self) -> str:
        """`host:port`, in the spelling of ALITA_WEB_ALLOW's pairs."""
        return place_of(httpx.URL(self.base_url))


def endpoint(
    name: str, url: str, *, setting: str, key: str = "", header: str = "", prefix: str = "", advice: str = ""
) -> Endpoint:
    """The endpoint at a URL that a person wrote; its user and password become a header.

    `advice` says what to do when the API refuses; empty: to check the setting.

    Raises:
        UsageError: it is no http(s) URL, or the key cannot be sent; the message names `setting` and not its value.
    """
    try:
        parts = urlsplit(url.strip())
        known = parts.scheme in ("http", "https") and httpx.URL(url.strip()).host and parts.port != 0
    except (ValueError, httpx.InvalidURL):
        parts, known = urlsplit(""), False
    if not known:
        raise UsageError(f"{setting} is not an http(s) URL.", hint="Write it as https://host/path.")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"The key of {name!r} has characters that no key has.", hint="Set it again.")
    headers = {header: prefix + key} if key else {}
    if not key and parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers = {"authorization": f"Basic {base64.b64encode(user.encode()).decode()}"}
        key = parts.password or ""
    path = quote(unquote(parts.path), safe="/+~@:").rstrip("/")
    base_url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"
    advice = advice or f"Check {setting}."
    return Endpoint(name=name, base_url=base_url, headers=headers, secret=key, advice=advice)


class JsonApi:
    """Client of one endpoint; redirects are not followed, so that a key reaches only its own host."""

    def __init__(self, client: httpx.AsyncClient, at: Endpoint) -> None:
        self._client = client
        self._at = at
        self.name = at.name
        """The API's name in messages."""
        self.base_url = at.base_url
        """The API's URL without credentials."""

    async def get(
        self, path: str, parameters: Mapping[str, str] | None = None, *, accept: str = "application/json"
    ) -> Any:
        """The parsed reply at a path.

        Raises:
            UsageError: not answered in time, refused, too large, or no JSON; no message holds a key.
        """
        return await self._ask("GET", path, params=parameters, headers={"accept": accept})

    async def find(self, path: str, *, accept: str = "application/json") -> Any:
        """The parsed reply at a path; None for a name that does not exist; raises as `get`."""
        return await self._ask("GET", path, headers={"accept": accept}, absent=(404, 410))

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The parsed reply to a JSON body; raises as `get`."""
        return await self._ask("POST", path, json=body, headers={"accept": "application/json"})

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        absent: tuple[int, ...] = (),
        **options: Any,
    ) -> Any:
        url, sent = self._at.base_url + path, {"accept-encoding": ENCODINGS, **headers, **self._at.headers}
        try:
            with anyio.fail_after(self._at.timeout_s):
                async with self._client.stream(
                    method, url, headers=sent, follow_redirects=False, **options
                ) as response:
                    if response.status_code in absent:
                        return None
                    self._require_success(response)
                    body = await read_body(response, self.name, self._at.max_bytes)
        except TimeoutError as late:
            raise UsageError(f"{self.name} did not answer within {self._at.timeout_s:g} s.") from late
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as failed:
            raise UsageError(f"{self.name} did not answer: {type(failed).__name__}.") from failed
        try:
            parsed = remove_secret(json.loads(body), self._at.secret)
        except (ValueError, RecursionError) as broken:
            kind = "HTML" if body[:200].lstrip().startswith(b"<") else "something"
            why = f"{self.name} answered with {kind} that is not JSON."
            raise UsageError(why, hint=self._at.advice) from broken
        return {} if parsed is None and absent else parsed

    def _require_success(self, response: httpx.Response) -> None:
        status, headers = response.status_code, response.headers
        if response.is_success:
            return
        if response.is_redirect:
            why = f"{self.name} answered {status}, a redirect, which is not followed."
            raise UsageError(why, hint=self._at.advice)
        is_spent = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
        if status == 429 or (status == 403 and is_spent):
            pause, reset = asked_pause(headers), headers.get("x-ratelimit-reset", "")
            if pause is None and reset.isdecimal() and len(reset) < 12:
                pause = max(0.0, int(reset) - time.time())
            later = "later" if pause is None else f"in {min(pause, 86_400.0):,.0f} s"
            raise UsageError(f"{self.name} answered {status}: too many requests.", hint=f"Try again {later}.")
        raise UsageError(f"{self.name} answered {status}.", hint=self._at.advice if status < 500 else "")


def remove_secret(parsed: Any, secret: str) -> Any:
    """A parsed reply with the secret removed from its texts; short secrets are ignored."""
    if len(secret) < 8:
        return parsed
    text, inside = json.dumps(parsed, ensure_ascii=False), json.dumps(secret, ensure_ascii=False)[1:-1]
    return json.loads(text.replace(inside, "[key]")) if inside in text else parsed


def rows_of(name: str, reply: Any, *path: str) -> list[dict[str, Any]]:
    """The objects in the list at a path of a reply; none where the last step of the path is missing.

    Raises:
        UsageError: the reply is of another shape.
    """
    for step in path:
        if not isinstance(reply, dict):
            raise UsageError(f"{name} answered with JSON of another shape.")
        reply = reply.get(step)
        if reply is None:
            return []
    if not isinstance(reply, list):
        raise UsageError(f"{name} answered with JSON of another shape.")
    return [row for row in reply if isinstance(row, dict)]


@asynccontextmanager
async def open_client(endpoints: Iterable[Endpoint] = ()) -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client for the public web and for the places of `endpoints`, without cookies."""
    async with httpx.AsyncClient(
        transport=PublicOnly(each.place for each in endpoints),
        headers={"user-agent": AGENT},
        timeout=TIMEOUT_S,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        trust_env=False,
    ) as client:
        yield client
