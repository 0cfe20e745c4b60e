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
_HINT = 'Write {"name": "value"}; `chmod 600` keeps others from reading it.'


class SecretsFile:
    """Secrets of one file, read each time that one is asked for."""

    def __init__(self, path: Path | None) -> None:
        """Reads the file once.

        Raises:
            UsageError: it is missing, another's, or readable by others, or does not fit; no message holds a value.
        """
        self._path = path
        if path is not None:
            read_secrets_file(path)

    def value(self, name: str) -> str | None:
        """The secret of that name; None when there is none, or its file is not fit to be read any more."""
        return self._read().get(name)

    def values(self) -> tuple[str, ...]:
        """All secrets; none when the file is not fit to be read any more."""
        return tuple(self._read().values())

    def _read(self) -> dict[str, str]:
        try:
            return read_secrets_file(self._path) if self._path is not None else {}
        except UsageError:
            return {}


def read_secrets_file(path: Path) -> dict[str, str]:
    """Reads secrets by name.

    Raises:
        UsageError: the file is missing, another's, or readable by others, or does not fit; no message holds a value.
    """
    try:
        with path.open("rb") as file:
            _refuse_shared(path, os.fstat(file.fileno()))
            content = file.read(MAX_BYTES + 1)
    except OSError as missing:
        raise _refusal(path, missing.strerror or "it cannot be read") from None
    if len(content) > MAX_BYTES:
        raise _refusal(path, f"it is larger than {MAX_BYTES >> 20} MB")
    try:
        document = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _refusal(path, "it is not JSON") from None  # the parser's words would show what it read
    if not isinstance(document, dict):
        raise _refusal(path, "it holds no object of secrets by name")
    for name, value in document.items():
        if not SECRET_NAME.fullmatch(name):
            raise _refusal(path, f"{name[:80]!r} is no secret's name")
        if not isinstance(value, str) or not value:
            raise _refusal(path, f"the secret {name!r} is no text, or empty")
        check_secret(name, value)
    return dict(document)


def _refuse_shared(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _refusal(path, "it is no plain file")
    if os.name == "posix" and found.st_mode & 0o077:
        command = f"Run: chmod 600 {shlex.quote(str(path))}"
        raise _refusal(path, f"others can use it (mode {stat.S_IMODE(found.st_mode):o})", command)
    wrong = exposure(path, found)
    if wrong is not None:
        raise _refusal(path, wrong.what, f"Run: {wrong.command}")


def _refusal(path: Path, what: str, hint: str = _HINT) -> UsageError:
    return UsageError(f"The secrets file {path} cannot be used: {what}.", hint=hint)
