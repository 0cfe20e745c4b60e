from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

_TRACKING = ("utm_", "fbclid", "gclid")

def clean_url(url: str) -> str:
    """The address without tracking, its query sorted.

    Args:
        url: An absolute address.

    Raises:
        ValueError: It has no scheme or host.
    """
    parts = urlsplit(url.strip())
    if not parts.scheme or not parts.hostname:
        raise ValueError("the address is not absolute")
    host = parts.hostname + (f":{parts.port}" if parts.port else "")
    query = sorted(pair for pair in parse_qsl(parts.query, keep_blank_values=True) if not pair[0].startswith(_TRACKING))
    return urlunsplit((parts.scheme, host, quote(unquote(parts.path)) or "/", urlencode(query), ""))


DESCRIPTION = "Normalises an address on the web and drops tracking parameters."
EXAMPLES = [{'arguments': {'url': 'HTTPS://Example.COM:8080/a%20b/ü?z=1&utm_source=x&a=%C3%A9&b=#top'},
  'expected': 'https://example.com:8080/a%20b/%C3%BC?a=%C3%A9&b=&z=1'},
 {'arguments': {'url': ' http://x.org '}, 'expected': 'http://x.org/'},
 {'arguments': {'url': '/relative'}, 'raises': 'ValueError'},
 {'arguments': {'url': 'mailto:a@b.c'}, 'raises': 'ValueError'}]
