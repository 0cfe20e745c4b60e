"""Bearer token of the HTTP server: that of ALITA_TOKEN, or of a private file that the first server of a home makes.

Other such files hold the key of the pages' sessions and that of the state which clients carry; servers that share a
library have these in its database.
"""

from __future__ import annotations

import os
import secrets
import shlex
from pathlib import Path

from pydantic import SecretStr

from alita_mcp.errors import UsageError
from alita_mcp.library.storage import open_storage
from alita_mcp.private_files import read_private_file, write_whole
from alita_mcp.settings import Settings, check_token

TOKEN_FILE = "http_token"  # noqa: S105 - its name
PAGES_KEY_FILE = "pages_key"
STATE_KEY_FILE = "state_key"
"""All below the home."""


def ensure_token(settings: Settings) -> str:
    """The token that clients must send: that of ALITA_TOKEN, else that of the home, which gets one if it has none.

    Raises:
        UsageError: the file cannot be made or relied on; the hint is the command that mends it.
    """
    return settings.token.get_secret_value() if settings.token else _ensure_file(settings.home / TOKEN_FILE)


def ensure_key(settings: Settings, name: str) -> str:
    """The key of a name, made where there is none: in a file of the home, or in the database of a shared library.

    Clients have the token: with it they would sign sessions of the pages of their own, so these have another key.

    Raises:
        UsageError: as `ensure_token`.
        LibraryError: the database of a shared library cannot be reached.
    """
    with open_storage(settings) as storage:
        return storage.ensure_secret(name) or _ensure_file(settings.home / name)


def _ensure_file(path: Path) -> str:
    try:
        if not os.path.lexists(path):
            write_whole(path, f"{secrets.token_urlsafe(32)}\n".encode(), is_private=True, is_new=True)
    except OSError as refused:
        raise UsageError(
            f"Cannot make the token file {path}: {refused.strerror or refused}.",
            hint="Make the folder writable for you, or set ALITA_TOKEN to a random text of 16 characters or more.",
        ) from refused
    return read_token_file(path)


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
