"""Keys of model providers that a person stored with `alita setup`: in the system keyring, else in a private file.

`keys.json` in the home names each key by the variable that it stands in for, with the server's address where that is
not the provider's own, and holds the keys that no keyring took. Nothing is read before a model is asked, and the
keyring is not even loaded where the file names none of its keys.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from alita_mcp.errors import ModelError, UsageError
from alita_mcp.file_locks import hold_lock
from alita_mcp.private_files import read_private_file, replace_private_file
from alita_mcp.settings import keys_in_use

KEYS_FILE = "keys.json"
"""Below the home."""
SERVICE = "alita-mcp"
"""Our name in the system keyring."""
MAX_KEY = 4_096
LOCK_WITHIN_S = 10.0

Place = Literal["keyring", "file"]


def check_key(text: str) -> str:
    """A key as a person typed or pasted it, without the blanks around it.

    Raises:
        UsageError: it is empty, too long, or holds what no key holds; the message does not show it.
    """
    key = text.strip()
    if re.fullmatch(rf"[!-~]{{1,{MAX_KEY}}}", key):
        return key
    wrong = (
        "more than one line"
        if len(key.splitlines()) > 1
        else "a blank, a control character or one that is not ASCII"
    )
    problem = f"holds {wrong}" if key and len(key) <= MAX_KEY else "is empty, or longer than any key"
    raise UsageError(
        f"The key {problem}.", hint="Copy it again, alone and without quotes, as the provider shows it."
    )


def stored_keys(home: Path) -> dict[str, Place]:
    """Where each key is stored; no key is read.

    Raises:
        UsageError: the file cannot be used.
    """
    return {name: "keyring" if entry is None else "file" for name, entry in _read_file(home).items()}


def store_key(home: Path, name: str, key: str) -> Place:
    """Stores a key: in the system keyring, where one takes it, else in the file.

    Raises:
        UsageError: the file cannot be used; it is as before.
        LibraryError: another process holds its lock.
        OSError: the disk refuses.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    with hold_lock(home / f"{KEYS_FILE}.lock", LOCK_WITHIN_S):
        entries = _read_file(home)
        entries[name] = None if _offer_to_keyring(_account(home, name), key) else key
        replace_private_file(home / KEYS_FILE, json.dumps(entries, indent=2) + "\n")
    return "file" if entries[name] else "keyring"


def find_key(home: Path, name: str) -> str | None:
    """The stored key of that name; None where there is none. May wait for the system keyring.

    Raises:
        UsageError: the file cannot be used.
        ModelError: the system keyring does not give the key.
    """
    entries = _read_file(home)
    if name not in entries:
        return None
    key = entries[name] or _ask_keyring(_account(home, name), name)
    keys_in_use().add(key)
    return key


def _read_file(home: Path) -> dict[str, str | None]:
    """The keys by name; None for one that the system keyring has."""
    path = home / KEYS_FILE
    text = read_private_file(path, holds_secrets=True)
    if text is None:
        return {}
    line = 1
    try:
        entries = json.loads(text)
        if isinstance(entries, dict) and all(isinstance(each, str | None) for each in entries.values()):
            return entries
    except json.JSONDecodeError as broken:
        line = broken.lineno
    except (ValueError, RecursionError):
        pass
    raise UsageError(
        f"Cannot use {path}: line {line} is not as `alita setup` writes it.",
        hint='Write {"NAME": "key"} into it, or remove it and run `alita setup` again.',
    ) from None  # the cause would show what it read


def _account(home: Path, name: str) -> str:
    return f"{name} of {home}"


def _offer_to_keyring(account: str, key: str) -> bool:
    """Whether the system keyring took a key; one that does not give it back did not."""
    try:
        import keyring

        keyring.set_password(SERVICE, account, key)
        return keyring.get_password(SERVICE, account) == key
    except Exception:  # noqa: BLE001 - its back ends raise whatever their libraries raise
        return False


def _ask_keyring(account: str, name: str) -> str:
    hint = f"Unlock the keyring, set {name.partition(' ')[0]}, or store the key again with `alita setup`."
    try:
        import keyring

        key = keyring.get_password(SERVICE, account)
    except Exception as failure:  # noqa: BLE001 - its back ends raise whatever their libraries raise
        raise ModelError(
            f"The system keyring does not give the key {name}: {type(failure).__name__}.", hint=hint
        ) from None
    if not key:
        raise ModelError(f"The system keyring has no key {name} any more.", hint=hint)
    return key
