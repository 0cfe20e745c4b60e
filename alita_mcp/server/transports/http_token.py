"""Bearer token of the HTTP server: that of ALITA_TOKEN, or of a private file that the first server of a home makes.

Other such files hold the key of the pages' sessions and that of the state which clients carry. Servers that share a
library take what its database holds; the files are for a start while it is away.
"""

from __future__ import annotations

import logging
import os
import secrets
import shlex
import tempfile
from contextlib import suppress
from pathlib import Path

from pydantic import SecretStr

from alita_mcp.errors import LibraryError, UsageError
from alita_mcp.library.storage import open_storage
from alita_mcp.private_files import read_private_file, write_whole
from alita_mcp.settings import Settings, check_token

TOKEN_FILE = "http_token"  # noqa: S105 - its name
PAGES_KEY_FILE = "pages_key"
STATE_KEY_FILE = "state_key"
"""All below the home."""
_log = logging.getLogger(__name__)


def ensure_token(settings: Settings) -> str:
    """The token that clients must send: that of ALITA_TOKEN, else that of the home, which gets one if it has none.

    Raises:
        UsageError: the file cannot be made or relied on; the hint is the command that mends it.
        LibraryError: there is no file, and the database of a shared library cannot be reached.
    """
    if settings.token is not None:
        return settings.token.get_secret_value()
    return ensure_key(settings, TOKEN_FILE)


def ensure_key(settings: Settings, name: str) -> str:
    """The key in a file of the home, made where there is none.

    Clients have the token: with it alone they would sign sessions of the pages of their own, so these have another key.

    Raises:
        UsageError, LibraryError: as `ensure_token`.
    """
    path = settings.home / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if settings.library_url:
            _copy_shared_secret(settings, path)
        elif not os.path.lexists(path):
            make_token_file(path)
    except OSError as refused:
        raise UsageError(
            f"Cannot make the token file {path}: {refused.strerror or refused}.",
            hint="Make the folder writable for you, or set ALITA_TOKEN to a random text of 16 characters or more.",
        ) from refused
    return read_token_file(path)


def _copy_shared_secret(settings: Settings, path: Path) -> None:
    try:
        with open_storage(settings) as storage:
            secret = storage.ensure_secret(path.name)
    except LibraryError as away:
        if not os.path.lexists(path):
            raise
        _log.warning("%s as it was last: %s", path, away)
        return
    if (read_private_file(path, holds_secrets=True) or "").strip() != secret:
        write_whole(path, f"{secret}\n".encode(), is_private=True)


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
    try:
        text = read_private_file(path, holds_secrets=True) or ""
        return check_token(SecretStr(text)).get_secret_value()
    except ValueError as unfit:
        raise UsageError(
            f"Cannot use {path}: {unfit}.",
            hint=f"Run: rm {shlex.quote(str(path))} (the next server makes a new one)",
        ) from None
