"""Client for JSON APIs of one host each, bounded in bytes and seconds; no key reaches a message or a result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import httpx
from pydantic import Field

from alita_mcp.errors import UsageError
from alita_mcp.models.litellm.backoff import retry_after_seconds
from alita_mcp.research.addresses import host_port, parse_url
from alita_mcp.research.http_client import TIMEOUT_S, read_body
from alita_mcp.texts import map_texts
from alita_mcp.values import Value

MAX_BYTES = 2_000_000
"""Of a reply, decompressed."""
MIN_SECRET = 8
"""Shorter secrets are not removed from replies: they would be found in ordinary words."""


class Endpoint(Value):
    """URL of an API, and the headers for it."""

    name: str
    """As messages name it."""
    base_url: str
    """Without a slash at its end, and without a user name or password."""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    secret: str = Field(default="", repr=False)
    """What `headers` hold that must not be shown; it is removed from replies, too."""
    advice: str = ""
    """What to do when the API refuses."""
    timeout_s: float = TIMEOUT_S
    """For one reply as a whole."""

    @property
    def host_port(self) -> str:
        """`host:port`, as ALITA_WEB_ALLOW writes it."""
        return host_port(httpx.URL(self.base_url))


def endpoint(
    name: str, url: str, *, setting: str, key: str = "", key_header: str = "authorization", advice: str = ""
) -> Endpoint:
    """The endpoint at a URL from the settings; a key becomes a header.

    Raises:
        UsageError: it is not an http(s) URL, or the key cannot be sent; the message names `setting`, not its value.
    """
    try:
        base_url = str(parse_url(url).copy_with(query=None)).rstrip("/")
    except UsageError:  # its text may hold a password
        hint = "Write it as https://host/path, without a user name."
        raise UsageError(f"{setting} is not a plain http(s) URL.", hint=hint) from None
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"The key of {name!r} has characters that no key has.", hint=f"Check {setting}.")
    headers = {key_header: f"Bearer {key}" if key_header == "authorization" else key} if key else {}
    return Endpoint(
        name=name, base_url=base_url, headers=headers, secret=key, advice=advice or f"Check {setting}."
    )


class JsonApi:
    """Client of one endpoint; redirects are not followed, so that a key reaches only its own host."""

    def __init__(self, client: httpx.AsyncClient, at: Endpoint) -> None:
        self.endpoint = at
        self._client = client

    async def get(
        self,
        path: str,
        parameters: Mapping[str, str] | None = None,
        *,
        accept: str = "application/json",
    ) -> Any:
        """The parsed reply at a path.

        Raises:
            UsageError: no reply in time, refused, too large, or not JSON; no message holds a key.
        """
        return await self._request("GET", path, accept, params=parameters)

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The parsed reply to a JSON body; raises as `get`."""
        return await self._request("POST", path, "application/json", json=body)

    async def _request(self, method: str, path: str, accept: str, **options: Any) -> Any:
        at = self.endpoint
        headers = {"accept": accept, **at.headers}
        try:
            with anyio.fail_after(at.timeout_s):
                request = self._client.stream(method, at.base_url + path, headers=headers, **options)
                async with request as response:
                    if not response.is_success:
                        raise _status_error(at, response)
                    body = await read_body(response, at.name, MAX_BYTES)
        except TimeoutError as late:
            raise UsageError(f"{at.name} did not answer within {at.timeout_s:g} s.") from late
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as failed:
            raise UsageError(f"{at.name} did not answer: {type(failed).__name__}.") from failed
        try:
            parsed = json.loads(body)
            if len(at.secret) >= MIN_SECRET:
                parsed = map_texts(parsed, lambda text: text.replace(at.secret, "[key]"))
        except (ValueError, RecursionError) as broken:
            kind = "HTML" if body[:200].lstrip().startswith(b"<") else "something"
            raise UsageError(f"{at.name} sent {kind} that is not JSON.", hint=at.advice) from broken
        if parsed is None:
            raise UsageError(f"{at.name} sent nothing.", hint=at.advice)
        return parsed


def _status_error(at: Endpoint, response: httpx.Response) -> UsageError:
    """The error for a status other than success."""
    # Three cases: a redirect, which could take the key to another host; a rate limit, which passes; anything else.
    status, headers = response.status_code, response.headers
    if response.is_redirect:
        return UsageError(f"{at.name} answered {status}, a redirect, which is not followed.", hint=at.advice)
    is_spent = "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"
    if status == 429 or (status == 403 and is_spent):
        pause = retry_after_seconds(headers)
        later = "later" if pause is None else f"in {min(pause, 86_400.0):,.0f} s"
        return UsageError(f"{at.name} answered {status}: too many requests.", hint=f"Try again {later}.")
    return UsageError(f"{at.name} answered {status}.", hint=at.advice if status < 500 else "")


def rows_of(name: str, reply: Any, *path: str) -> list[dict[str, Any]]:
    """The objects in the list at a path of a reply; none where a step of the path is missing.

    Raises:
        UsageError: the reply is of another shape.
    """
    for step in path:
        if not isinstance(reply, dict):
            raise UsageError(f"{name} sent JSON of another shape.")
        reply = reply.get(step)
        if reply is None:
            return []
    if not isinstance(reply, list):
        raise UsageError(f"{name} sent JSON of another shape.")
    return [row for row in reply if isinstance(row, dict)]
