"""Keys of model providers that a person stored with `alita setup`: in the system keyring, else in a private file.

`keys.json` in the home names each key by the variable that it stands in for, with the server's address where that is
not the provider's own, and holds the keys that no keyring took. Nothing is read before a model is asked, and the
keyring is not even loaded where the file names none of its keys.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.file_locks import hold_lock
from alita_mcp.private_files import read_private_file, write_whole
from alita_mcp.settings import keys_in_use

KEYS_FILE = "keys.json"
"""Below the home."""
SERVICE = "alita-mcp"
"""Our name in the system keyring."""
MAX_KEY = 4_096
LOCK_WITHIN_S = 10.0


def check_key(text: str) -> str:
    """A key as a person typed or pasted it, without the blanks around it.

    Raises:
        UsageError: it is empty, too long, or holds what no key holds; the message does not show it.
    """
    key = text.strip()
    if not re.fullmatch(rf"[!-~]{{1,{MAX_KEY}}}", key):
        raise UsageError(
            f"A key is 1 to {MAX_KEY} ASCII characters on one line, without blanks; this is not.",
            hint="Copy it again, alone and without quotes, as the provider shows it.",
        )
    return key


def store_key(home: Path, name: str, key: str) -> str:
    """Stores a key: in the system keyring, where one takes it, else in the file; returns which, for people.

    Raises:
        UsageError: the file cannot be used; it is as before.
        LibraryError: another process holds its lock.
        OSError: the disk refuses.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with hold_lock(home / f"{KEYS_FILE}.lock", LOCK_WITHIN_S):
        entries = stored_keys(home)
        entries[name] = key
        with suppress(Exception):  # back ends of keyring raise whatever their libraries raise
            import keyring

            account = f"{name} of {home}"
            keyring.set_password(SERVICE, account, key)
            if keyring.get_password(SERVICE, account) == key:
                entries[name] = None
        text = json.dumps(entries, indent=2) + "\n"
        write_whole(home / KEYS_FILE, text.encode(), is_private=True)
    return f"{home / KEYS_FILE}, which only you can read" if entries[name] else "the system keyring"


def find_key(home: Path, name: str) -> str | None:
    """The stored key of that name; None where there is none. May wait for the system keyring.

    Raises:
        UsageError: the file cannot be used.
        ModelError: the system keyring does not give the key.
    """
    entries = stored_keys(home)
    if name not in entries:
        return None
    key, problem = entries[name], "it is not there any more"
    try:
        if key is None:
            import keyring

            key = keyring.get_password(SERVICE, f"{name} of {home}")
    except Exception as failure:  # noqa: BLE001 - its back ends raise whatever their libraries raise
        problem = type(failure).__name__
    if not key:
        raise ModelError(
            f"The system keyring does not give the key {name}: {problem}.",
            hint=f"Unlock the keyring, set {name.partition(' ')[0]}, or store the key again with `alita setup`.",
        )
    keys_in_use().add(key)
    return key


def stored_keys(home: Path) -> dict[str, str | None]:
    """The keys in the file by name; None for one that the system keyring has.

    Raises:
        UsageError: the file cannot be used.
    """
    path = home / KEYS_FILE
    text = read_private_file(path, holds_secrets=True)
    if text is None:
        return {}
    with suppress(ValueError, RecursionError):
        entries = json.loads(text)
        if isinstance(entries, dict) and all(isinstance(each, str | None) for each in entries.values()):
            return entries
    raise UsageError(
        f"Cannot use {path}: it is not as `alita setup` writes it.",
        hint='Write {"NAME": "key"} into it, or remove it and run `alita setup` again.',
    )
