"""Secrets file of a person: JSON, readable by its owner only; values are read by name and never logged."""

from __future__ import annotations

import json
import os
import shlex
import stat
from pathlib import Path

from alita_mcp.errors import UsageError
from alita_mcp.library.grants.exposure import exposure
from alita_mcp.library.grants.grants_file import SECRET_NAME
from alita_mcp.sandbox.broker.redaction import check_secret

MAX_BYTES = 1 << 20


class SecretsFile:
    """Secrets of one file, read each time that one is asked for."""

    def __init__(self, path: Path | None) -> None:
        """Reads the file once; raises as `read_secrets_file`."""
        self._path = path
        if path is not None:
            read_secrets_file(path)

    def values(self) -> dict[str, str]:
        """All secrets by name; none when the file is not fit to be read any more."""
        try:
            return read_secrets_file(self._path) if self._path is not None else {}
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
        with path.open("rb") as file:
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
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise refusal("it is not JSON") from None  # the parser's words would show what it read
    if not isinstance(document, dict):
        raise refusal("it is not a JSON object")
    for name, value in document.items():
        if not SECRET_NAME.fullmatch(name):
            raise refusal(f"invalid name {name[:80]!r}")
        if not isinstance(value, str) or not value:
            raise refusal(f"the value of {name!r} is not text, or empty")
        check_secret(name, value)
    return dict(document)
