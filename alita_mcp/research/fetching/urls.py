"""Validation of URLs and of redirect targets."""

from __future__ import annotations

import httpx

from alita_mcp.errors import UsageError

LONGEST = 4_000


def shown(url: object) -> str:
    """A URL for messages: cut, and without its query, which may hold a key."""
    return repr(str(url).partition("?")[0][:200])


def web_url(text: str) -> httpx.URL:
    """The parsed URL without its fragment.

    Raises:
        UsageError: it is not http(s), has no host, holds a name or password, or is no URL at all.
    """
    try:
        url = httpx.URL(text.strip())
        if len(text) <= LONGEST and url.scheme in ("http", "https") and url.host and not url.userinfo:
            return url.copy_with(fragment=None)
    except (httpx.InvalidURL, ValueError, UnicodeError) as broken:
        raise UsageError(f"{shown(text)} is not a plain http(s) address.") from broken
    raise UsageError(f"{shown(text)} is not a plain http(s) address.")


def redirected(url: httpx.URL, location: str) -> httpx.URL:
    """The target of a redirect from `url`; one from https to http is requested over https.

    Raises:
        UsageError: it leads to no plain http(s) address, or from https to http at another port than the usual one.
    """
    try:
        target = web_url(str(url.join(location)))
    except (httpx.InvalidURL, ValueError, UnicodeError) as broken:
        raise UsageError(f"{shown(location)} is not a plain http(s) address.") from broken
    if (url.scheme, target.scheme) != ("https", "http"):
        return target
    if target.port is not None:
        raise UsageError(f"{shown(url)} redirects from https to http, at {shown(target)}.")
    return target.copy_with(scheme="https")
