"""One HTTP request and its answer, through the proxy that reaches granted hosts only."""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import zlib
from http.client import HTTPException
from typing import Literal, TypedDict

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_OURS = {"host", "content-length", "connection", "transfer-encoding", "proxy-authorization", "upgrade", "te"}
_PRIVATE = {"authorization", "cookie"}
_REDIRECTS = (301, 302, 303, 307, 308)
_PROXY_STATUS = (403, 502, 504)
_FORBIDDEN = re.compile(r'grant "network"| is at [0-9a-f.:]+, ')
_UNREACHABLE = ("cannot be reached", "does not resolve")
_MOST_BYTES = 600_000


class Answer(TypedDict):
    status: int
    url: str
    headers: dict[str, str]
    kind: Literal["json", "text", "base64", "empty"]
    body: str
    truncated: bool


class _Stay(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to the caller, who knows which headers may travel."""

    def redirect_request(self, *_arguments: object, **_options: object) -> None:
        return None


def http_request(
    url: str,
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET",
    query: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
    json_body: str | None = None,
    text_body: str | None = None,
    timeout: float = 20.0,
    max_bytes: int = 200_000,
    redirects: int = 5,
) -> Answer:
    """Sends one HTTP request to a granted host and gives status, headers and body: a generic REST client.

    Every status is an answer, 404 and 500 too. Only hosts that a person named for this tool can be reached.

    Args:
        url: The address, with http or https.
        method: What to do there.
        query: Parameters that are added to the address.
        headers: Headers to send; content type and accept are set to fit when left out.
        json_body: A body as JSON text, sent as application/json.
        text_body: A body as plain text. Give one of the two bodies at most.
        timeout: Seconds to wait for the server, up to 25.
        max_bytes: How much of the body to keep, up to 600,000.
        redirects: How many redirects to follow, 0 to 10; a login header does not follow to another host.

    Returns:
        `status`, the final `url`, `headers` with lower-case names, and `body`: JSON text where `kind` is "json", else
        text, or base64 of bytes that are no text; `truncated` says whether it was longer than max_bytes.

    Raises:
        ValueError: The address, a header, the JSON body or a number does not fit.
        PermissionError: The host is not granted, or at a private address.
        TimeoutError: The server did not answer in time.
        ConnectionError: The server cannot be reached, or broke the connection.
    """
    if not 0 < timeout <= 25 or not 1 <= max_bytes <= _MOST_BYTES or not 0 <= redirects <= 10:
        raise ValueError("timeout goes up to 25, max_bytes up to 600,000, redirects up to 10")
    address = _with_query(_checked(url), query or {})
    sent, body = _headers_and_body(headers or {}, json_body, text_body)
    for _hop in range(redirects + 1):
        request = urllib.request.Request(address, data=body, headers=sent, method=method)
        with _answer_to(request, timeout) as response:
            if response.status in _PROXY_STATUS:
                _check_proxy(response.reason, address)
            target = response.headers.get("Location")
            if response.status not in _REDIRECTS or not target or not redirects:
                return _read(response, address, method, max_bytes)
        following = _checked(urllib.parse.urljoin(address, target))
        if response.status == 303 or (response.status in (301, 302) and method == "POST"):
            method = "HEAD" if method == "HEAD" else "GET"
            body = None
            sent = {name: value for name, value in sent.items() if name.lower() != "content-type"}
        if _place(following) != _place(address):
            sent = {name: value for name, value in sent.items() if name.lower() not in _PRIVATE}
        address = following
    raise ConnectionError(f"more than {redirects} redirects, the last to {address[:200]}")


def _checked(url: str) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as broken:
        raise ValueError(f"{url[:200]!r} is no address: {broken}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url[:200]!r} is no http or https address")
    if parts.username is not None or parts.password is not None:
        raise ValueError("an address with a user name is not sent; use the Authorization header")
    if port == 0 or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
        raise ValueError(f"{url[:200]!r} holds a character or a port that no address can have")
    host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
    path = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    asked = urllib.parse.quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    authority = host if port is None else f"{host}:{port}"
    return urllib.parse.urlunsplit((parts.scheme, authority, path, asked, ""))


def _place(url: str) -> tuple[str, str]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc


def _with_query(url: str, query: dict[str, str]) -> str:
    if not query:
        return url
    return url + ("&" if urllib.parse.urlsplit(url).query else "?") + urllib.parse.urlencode(query)


def _headers_and_body(
    headers: dict[str, str], json_body: str | None, text_body: str | None
) -> tuple[dict[str, str], bytes | None]:
    if json_body is not None and text_body is not None:
        raise ValueError("give json_body or text_body, not both")
    sent = {"User-Agent": "alita-http-request", "Accept": "application/json, text/*;q=0.9, */*;q=0.5"}
    body = None
    if json_body is not None:
        try:
            json.loads(json_body)
        except ValueError as broken:
            raise ValueError(f"json_body is not JSON: {broken}") from None
        body, sent["Content-Type"] = json_body.encode(), "application/json"
    if text_body is not None:
        body, sent["Content-Type"] = text_body.encode(), "text/plain; charset=utf-8"
    for name, value in headers.items():
        if _HEADER_NAME.fullmatch(name) is None or name.lower() in _OURS:
            raise ValueError(f"{name[:100]!r} is no header that can be set")
        if any(ord(letter) < 32 and letter != "\t" or ord(letter) > 255 or ord(letter) == 127 for letter in value):
            raise ValueError(f"the header {name!r} holds a character that no header can have")
        sent = {known: kept for known, kept in sent.items() if known.lower() != name.lower()}
        sent[name] = value
    return sent, body


def _answer_to(request: urllib.request.Request, timeout: float):
    try:
        return urllib.request.build_opener(_Stay).open(request, timeout=timeout)
    except urllib.error.HTTPError as answer:
        return answer
    except urllib.error.URLError as failure:
        raise _failure(failure.reason, request.full_url) from None
    except (OSError, HTTPException) as failure:
        raise _failure(failure, request.full_url) from None


def _check_proxy(reason: str, url: str) -> None:
    """Raises what the proxy says of a host; a server's own 403 or 502 is an answer like any other."""
    if _FORBIDDEN.search(reason) or "did not answer within" in reason or reason.endswith(_UNREACHABLE):
        raise _failure(reason, url)


def _failure(reason: object, url: str) -> Exception:
    host, said = urllib.parse.urlsplit(url).netloc, str(reason)
    if _FORBIDDEN.search(said):
        return PermissionError(f"{host} may not be reached: {said}")
    if isinstance(reason, TimeoutError) or "timed out" in said or "did not answer within" in said:
        return TimeoutError(f"{host} did not answer in time")
    return ConnectionError(f"{host} cannot be reached: {said}")


def _read(response, url: str, method: str, max_bytes: int) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    try:
        raw = b"" if method == "HEAD" else response.read(max_bytes + 1)
        body, cut = _unpacked(raw, headers.get("content-encoding", ""), max_bytes)
    except (OSError, HTTPException, zlib.error) as broken:
        raise _failure(broken, url) from None
    kind, text = _told(body, headers.get("content-type", ""), cut)
    return {
        "status": response.status, "url": url, "headers": headers, "kind": kind, "body": text, "truncated": cut,
    }


def _unpacked(raw: bytes, encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    if encoding.strip().lower() in ("gzip", "x-gzip", "deflate"):
        whole = zlib.decompressobj(wbits=47).decompress(raw, max_bytes + 1)
        return whole[:max_bytes], len(whole) > max_bytes or len(raw) > max_bytes
    return raw[:max_bytes], len(raw) > max_bytes


def _told(body: bytes, content_type: str, cut: bool) -> tuple[Literal["json", "text", "base64", "empty"], str]:
    if not body:
        return "empty", ""
    found = re.search(r"charset=\"?([\w.:-]+)", content_type, re.IGNORECASE)
    try:
        text = body.decode(found.group(1) if found else "utf-8", "ignore" if cut else "strict")
    except (LookupError, UnicodeDecodeError):
        return "base64", base64.b64encode(body).decode()
    if "\x00" in text:
        return "base64", base64.b64encode(body).decode()
    if not cut and "json" in content_type.lower():
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return "text", text
        return "json", text
    return "text", text
