"""Package index from the settings: its URL, the hosts that may be reached, the authorities to trust."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from alita_mcp.errors import UsageError
from alita_mcp.settings import Settings
from alita_mcp.values import Value

_PORTS = {"http": 80, "https": 443}


class PackageIndex(Value):
    """Package index as the builder needs it."""

    url: str
    hosts: frozenset[str]
    """`name:port` of all that may be reached; files must lie with the index, but for the default."""


def package_index(settings: Settings) -> PackageIndex:
    """The index that the settings name, or the one that pip uses by itself.

    Raises:
        UsageError: the URL is none of HTTP or HTTPS.
    """
    if not settings.package_index:
        # the default of pip and uv, and where its files lie
        hosts = frozenset({"pypi.org:443", "files.pythonhosted.org:443"})
        return PackageIndex(url="https://pypi.org/simple", hosts=hosts)
    parts = urlsplit(settings.package_index)
    try:
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        port = 0
    if not parts.hostname or not port:
        raise UsageError("ALITA_PACKAGE_INDEX is not the http(s) URL of a package index.")
    return PackageIndex(url=settings.package_index, hosts=frozenset({f"{parts.hostname}:{port}"}))


def authorities_to_trust() -> bytes:
    """PEM of the authorities that OpenSSL trusts: those of SSL_CERT_FILE, else the system's; empty: there are none."""
    paths = ssl.get_default_verify_paths()
    if paths.cafile:
        return Path(paths.cafile).read_bytes()
    folder = Path(paths.capath) if paths.capath else None
    files = sorted(folder.glob("*.[0-9]")) if folder else []
    return b"\n".join(file.read_bytes() for file in files)
