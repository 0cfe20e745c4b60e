"""Patterns of granted hosts: `api.example.org`, `*.example.org`, `api.example.org:8443`."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from alita_mcp.errors import UsageError
from alita_mcp.values import Value

USUAL_PORTS = frozenset({80, 443})
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class HostPattern(Value):
    """Pattern for one granted host, or for all names below one."""

    host: str
    """Without the `*.`."""
    below: bool = False
    """Stands for every name below `host`, and not for `host` itself."""
    port: int | None = None
    """None: 80 and 443."""

    def covers(self, host: str, port: int) -> bool:
        """Whether the pattern grants a connection to a host, written in lower case without a trailing dot."""
        named = host.endswith(f".{self.host}") if self.below else host == self.host
        return (
            named and is_host_name(host) and (port in USUAL_PORTS if self.port is None else port == self.port)
        )


def read_pattern(text: str) -> HostPattern:
    """Parses the pattern of a grant.

    Raises:
        UsageError: no host name, an address in whatever notation, or a wildcard over names of different owners.
    """
    host, colon, port = text.lower().partition(":")
    below = host.startswith("*.")
    name = host.removeprefix("*.").removesuffix(".")
    if (
        not is_host_name(name)
        or (colon and not re.fullmatch(r"[1-9][0-9]{0,4}", port))
        or int(port or 0) > 65535
    ):
        raise UsageError(f"{text[:100]!r} is not a host that can be granted.", hint=_HINT)
    if below and _is_everybodys(name):
        raise UsageError(f"{text[:100]!r} covers names of different owners.", hint=_HINT)
    return HostPattern(host=name, below=below, port=int(port) if colon else None)


_HINT = "Write a name, as in api.example.org, *.example.org or api.example.org:8443."


def is_host_name(host: str) -> bool:
    """Whether the text is a DNS name in lower case; some resolvers take one that ends in a number for an address."""
    labels = host.split(".")
    return len(host) <= 253 and all(map(_LABEL.fullmatch, labels)) and not _NUMBER.fullmatch(labels[-1])


def _is_everybodys(name: str) -> bool:
    """Whether names below this one have different owners: it is a public suffix, or stands above one."""
    # the list that the library ships, with its private section, label by label from the right; nothing is fetched
    from tld.utils import MozillaTLDSourceParser, get_tld_names

    labels = name.split(".")
    node: Any = get_tld_names()[MozillaTLDSourceParser.local_path].root
    for written in reversed(labels):
        label = written
        if written.startswith("xn--"):  # the list has it decoded
            with suppress(UnicodeError):
                label = written[4:].encode().decode("punycode")
        if label == node.exception:
            return False
        below = node.children or {}
        node = below.get(label) or below.get("*")
        if node is None:
            return len(labels) == 1
    return True
