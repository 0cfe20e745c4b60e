"""Bearer token of the HTTP server: that of ALITA_TOKEN, or of a private file that the first server of a home makes.

Another such file holds the key of the pages' sessions.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from pydantic import SecretStr

from alita_mcp.errors import UsageError
from alita_mcp.settings import Settings, check_token

TOKEN_FILE = "http_token"  # noqa: S105 - its name
PAGES_KEY_FILE = "pages_key"
"""Both below the home."""


def ensure_token(settings: Settings) -> str:
    """The token that clients must send: that of ALITA_TOKEN, else that of the home, which gets one if it has none.

    Raises:
        UsageError: the file cannot be made or relied on; the hint is the command that mends it.
    """
    if settings.token is not None:
        return settings.token.get_secret_value()
    return _ensure_file(
        settings.home / TOKEN_FILE, "Set ALITA_TOKEN to a random text of 16 characters or more."
    )


def ensure_pages_key(settings: Settings) -> str:
    """The key that signs the sessions of the pages. Clients have the token: with it alone they would sign their own.

    Raises:
        UsageError: as `ensure_token`.
    """
    return _ensure_file(settings.home / PAGES_KEY_FILE, "Make the folder writable for you.")


def _ensure_file(path: Path, hint: str) -> str:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.path.lexists(path):
            make_token_file(path)
    except OSError as refused:
        raise UsageError(
            f"Cannot make the token file {path}: {refused.strerror or refused}.",
            hint=hint,
        ) from refused
    return read_token_file(path)


def make_token_file(path: Path) -> None:
    """Makes the file with a new token, whole or not at all; of several processes, the first one's stays."""
    descriptor, aside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(descriptor)
        with suppress(FileExistsError):
            os.link(aside, path)
    finally:
        Path(aside).unlink()


def read_token_file(path: Path) -> str:
    """The token in a file.

    Raises:
        UsageError: it is missing, a link, accessible to others, or holds no token; no message holds what it contains.
    """
    place = shlex.quote(str(path))

    def refusal(problem: str, command: str = f"rm {place} (the next server makes a new one)") -> UsageError:
        return UsageError(f"Cannot use the token file {path}: {problem}.", hint=f"Run: {command}")

    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise refusal("it is a link" if stat.S_ISLNK(found.st_mode) else "it is not a regular file")
        if os.name == "posix" and found.st_mode & 0o077:
            mode = stat.S_IMODE(found.st_mode)
            raise refusal(f"others can access it (mode {mode:o})", f"chmod 600 {place}")
        return check_token(SecretStr(path.read_text(encoding="utf-8", errors="replace"))).get_secret_value()
    except OSError as unreadable:
        raise refusal(unreadable.strerror or str(unreadable)) from None
    except ValueError as unfit:
        raise refusal(str(unfit)) from None
