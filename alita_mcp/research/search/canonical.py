"""Canonical form of URLs, for the detection of duplicates."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

_TRACKING = re.compile(
    r"utm_.*|(?:fb|g|d|y|tw)clid|[gw]braid|msclkid|igshid|mc_[ce]id|_hs(?:enc|mi)|srsltid", re.IGNORECASE
)


def canonical_url(url: str) -> str:
    """The URL without scheme, default port, fragment, tracking parameters and final slash; query sorted.

    Empty for what is no http(s) URL. It is a key to compare, not an address to read.
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    if not host or parts.scheme not in ("http", "https"):
        return ""
    place = host if port in (None, 80, 443) else f"{host}:{port}"
    path = quote(unquote(parts.path), safe="/:@!$&'()*+,;=~").rstrip("/")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    said = [pair for pair in pairs if not _TRACKING.fullmatch(pair[0])]
    return f"{place}{path}?{urlencode(sorted(said))}" if said else f"{place}{path}"
