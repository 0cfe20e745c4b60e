"""Host patterns of network grants: which are well formed, and which cover which others."""

from __future__ import annotations

from alita_mcp.errors import UsageError
from alita_mcp.sandbox.network.host_patterns import USUAL_PORTS, read_pattern

ANY = "*"
"""In a manifest: hosts that a person names. It is never granted; only names are ever in force."""

MAX_HOSTS = 30


def canonical_host(text: str) -> str:
    """A granted host in the one form in which it is kept.

    Raises:
        UsageError: it is no host that can be granted.
    """
    pattern = read_pattern(text)
    port = "" if pattern.port is None else f":{pattern.port}"
    return f"{'*.' if pattern.below else ''}{pattern.host}{port}"


def host_problem(text: str) -> str:
    """Problem of a host as it stands in a grant; empty when there is none."""
    if text == ANY:
        return "'*' would be every host: name the hosts"
    try:
        read_pattern(text)
    except UsageError as wrong:
        return f"{wrong.message.rstrip('.')} ({wrong.hint.rstrip('.')})"
    return ""


def covers(granted: str, asked: str) -> bool:
    """Whether a granted host or wildcard stands for all that an asked one does; `*.x` does not stand for `x`."""
    try:
        known, wanted = read_pattern(granted), read_pattern(asked)
    except UsageError:
        return False  # what is no host stands for nothing, and nothing stands for it
    if known.port != wanted.port and (known.port is not None or wanted.port not in USUAL_PORTS):
        return False
    if known.below:
        return wanted.host.endswith(f".{known.host}") or (wanted.below and wanted.host == known.host)
    return known.host == wanted.host and not wanted.below
