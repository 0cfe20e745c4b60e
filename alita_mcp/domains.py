"""Domains of tools: what clients are told that the library holds, in words of ours alone.

The list is short and changes rarely, so that a model's cache of the first messages holds. Standard library only: the
greeting of a client reads it, before anything is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

DOMAINS = {
    "arithmetic": "arithmetic fraction equation polynomial logarithm",
    "charts": "chart plot histogram",
    "colors": "color colour palette",
    "CSV": "csv spreadsheet",
    "dates": "date day month calendar weekday timezone",
    "email": "email mailbox",
    "encodings": "encode decode base64 hexadecimal unicode",
    "files": "file folder directory",
    "finance": "interest loan mortgage invoice tax currency cash",
    "geography": "latitude longitude geographic country",
    "hashes": "hash checksum md5 sha256",
    "HTML": "html markdown",
    "HTTP": "http url website rest",
    "images": "image picture photo pixel svg",
    "JSON": "json yaml toml",
    "networks": "ip subnet dns cidr",
    "numbers": "prime divisor digit roman",
    "PDF": "pdf",
    "SQL": "sqlite database",
    "statistics": "mean median average variance quantile",
    "text": "text word sentence string phrase",
    "units": "units temperature kilometre kilogram celsius",
    "XML": "xml rss",
}
"""Domains in the order in which they are named, and the words by which a tool's name or description belongs to one."""
FILE = "domains.txt"
"""In the home: the domains of its library, a line each, as they were when a client last asked for its tools."""
MAX_BYTES = 1_000
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def sentence(domains: Sequence[str]) -> str:
    """What clients are told; empty where the library holds nothing that has a name."""
    return f" It holds tools for {', '.join(domains)}." if domains else ""


def read_domains(home: Path) -> list[str]:
    """The domains that a home's file names; none where there is no such file, whatever else is wrong with it."""
    try:
        # without waiting for a writer where a pipe took its place
        with open(home / FILE, "rb", opener=lambda name, flags: os.open(name, flags | _NO_WAIT)) as stream:
            named = stream.read(MAX_BYTES).decode("ascii", "replace").split("\n")
    except OSError:
        return []
    return [domain for domain in DOMAINS if domain in named]
