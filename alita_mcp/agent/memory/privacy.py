"""Filter of what must not be remembered: a memory that holds a secret is left out whole, since a hole would change it.

Secrets go by their values (the secrets file, keys of the environment) in every usual encoding, by their shape, and by
the name that stands before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from alita_mcp.library.private_text import NAMED_SECRET, holds_key
from alita_mcp.sandbox.broker.redaction import SHORTEST, redact
from alita_mcp.settings import environment_keys

_NAME = (
    r"(?i)(?:api[_ -]?key|secret|passw(?:or)?d|passphrase|credential|auth[_-]?key|access[_-]?key|private[_-]?key|"
    r"token|\bpin)\w{0,20}[\"']?\]?"
)
_PATTERNS = (
    re.compile(r"(?<=://)[^/\s@:\"']{1,200}:[^/\s@\"']{1,200}(?=@)"),
    re.compile(r"(?i)(?:(?<=bearer )|(?<=basic ))[^\s\"',;]{8,}"),
    re.compile(rf"{_NAME}\s{{0,3}}[:=]\s{{0,3}}[rbuf]{{0,2}}([\"'])[^\"'\n]{{3,500}}\1"),
    re.compile(rf"{_NAME}\s{{1,3}}(?:is|was)\s{{1,3}}[\"']?(?=\S*[\d_#$!%^&*])[^\s\"',;]{{4,500}}"),
    re.compile(r"(?i)[?&](?:\w{0,20}key|sig\w{0,10}|auth\w{0,10}|session\w{0,10})=[^&\s\"']{6,2000}"),
    re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{32,}"),
)
_IN_PROSE = re.compile(rf"{_NAME}\s{{0,3}}[:=]\s{{0,3}}[\"']?[^\s\"',;&)\]}}]{{3,500}}")
"""In a program `tokens = line.split()` holds no secret."""


class Privacy:
    """Finds secrets in texts and JSON."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """`secrets` are values that must not be kept, besides the keys of the environment."""
        self._secrets = {each for each in secrets if len(each) >= SHORTEST} | environment_keys()

    def is_private(self, value: Any, *, code: str = "") -> bool:
        """Whether a JSON value or a program holds a secret."""
        prose = "\n".join(_texts(value))
        text = f"{prose}\n{code}"
        if _IN_PROSE.search(prose) or holds_key(text) or any(pattern.search(text) for pattern in _PATTERNS):
            return True
        return bool(self._secrets) and redact(text, self._secrets) != text


def _texts(value: Any, name: str = "") -> Iterator[str]:
    """All texts of a value; those under names like `password` with the name before them."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield str(key)
            yield from _texts(part, str(key))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part, name)
    elif value is not None and not isinstance(value, bool):
        is_named = NAMED_SECRET.search(name) and isinstance(value, str)
        yield f"{name}: {value}" if is_named else str(value)
