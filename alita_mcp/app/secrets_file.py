"""Secrets file of a person: JSON, readable by its owner only; values are read by name and never logged."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections import Counter
from itertools import islice
from pathlib import Path

from alita_mcp.errors import UsageError
from alita_mcp.library.disk import without_waiting
from alita_mcp.library.grants.exposure import exposure
from alita_mcp.sandbox.broker.redaction import check_secret
from alita_mcp.values import SECRET_NAME

MAX_BYTES = 1 << 20


class SecretsFile:
    """Secrets of one file, read each time that one is asked for."""

    def __init__(self, path: Path | None) -> None:
        """Reads the file once; raises as `read_secrets_file`."""
        self._path = path
        if path is not None:
            read_secrets_file(path)

    def read(self) -> dict[str, str]:
        """All secrets by name; raises as `read_secrets_file`."""
        return read_secrets_file(self._path) if self._path is not None else {}

    def values(self) -> dict[str, str]:
        """All secrets by name; none when the file is not fit to be read any more."""
        try:
            return self.read()
        except UsageError:
            return {}


def read_secrets_file(path: Path) -> dict[str, str]:
    """Reads secrets by name.

    Raises:
        UsageError: the file is missing, somebody else's, accessible to others, or malformed; no message holds a value.
    """

    def refusal(problem: str, hint: str = 'Write {"name": "value"} into it.') -> UsageError:
        return UsageError(f"Cannot use the secrets file {path}: {problem}.", hint=hint)

    try:
        with open(path, "rb", opener=without_waiting) as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise refusal("it is not a regular file")
            if os.name == "posix" and found.st_mode & 0o077:
                mode = stat.S_IMODE(found.st_mode)
                raise refusal(
                    f"others can access it (mode {mode:o})", f"Run: chmod 600 {shlex.quote(str(path))}"
                )
            if (exposed := exposure(path, found)) is not None:
                raise refusal(exposed.what, f"Run: {exposed.command}")
            content = file.read(MAX_BYTES + 1)
    except OSError as missing:
        raise refusal(missing.strerror or "it cannot be read") from None
    if len(content) > MAX_BYTES:
        raise refusal(f"it is larger than {MAX_BYTES >> 20} MB")
    hint = 'Write {"name": "value"} into it; lines such as NAME=value are not read.'
    try:
        text = content.decode("utf-8-sig")
        pairs = json.loads(text, object_pairs_hook=tuple)
    except UnicodeDecodeError:
        raise refusal("it is not UTF-8 text", "Save it as UTF-8.") from None
    except json.JSONDecodeError as wrong:  # its whole message and its cause would show what it read
        raise refusal(f"line {wrong.lineno} is not JSON", hint) from None
    except (ValueError, RecursionError):
        raise refusal("it is not JSON", hint) from None
    if not isinstance(pairs, tuple):
        raise refusal("it is not a JSON object", hint)
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            written = re.finditer(rf"{re.escape(json.dumps(name))}\s*:", text)
            lines = ", ".join(str(text.count("\n", 0, each.start()) + 1) for each in islice(written, 10))
            raise refusal(f"it names {name[:80]!r} {count} times (lines {lines})", "Keep one of them.")
    for name, value in pairs:
        if not re.fullmatch(SECRET_NAME, name):
            raise refusal(f"invalid name {name[:80]!r}")
        if not isinstance(value, str) or not value:
            raise refusal(f"the value of {name!r} is not text, or empty")
        check_secret(name, value)
    return dict(pairs)
