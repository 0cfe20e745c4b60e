"""Changes of clients' configuration files: planned whole, shown as a difference, then written with a backup."""

from __future__ import annotations

import copy
import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from alita_mcp.clients.table import CLIENTS, KEY, Client, Launch, Remote
from alita_mcp.errors import UsageError
from alita_mcp.private_files import read_small_file, write_whole

BACKUP = ".alita-backup"
HIDDEN = "***"
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH", "COOKIE", "'ENV", "HEADERS")
"""In the names that lead to a text."""


@dataclass(frozen=True)
class Change:
    """A client's file as it is, and what it is to become."""

    client: Client
    file: Path
    """As the client names it."""
    target: Path
    """Where it lies: where the link leads, if `file` is one."""
    document: Mapping[str, Any]
    """What it holds."""
    before: bytes | None
    """None where there is no file."""
    after: bytes | None
    """None: the file goes, for nothing but our entry was ever in it."""
    present: Any
    """Our entry in it; None where there is none."""
    entry: Any
    """Our entry, as the file will hold it."""
    is_private: bool = False
    """Whether the file is to be its owner's alone, because it holds a token."""

    @property
    def is_change(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after

    @property
    def is_ours_alone(self) -> bool:
        """Whether the file, as it is, holds what we write where there is none."""
        return self.present is not None and self.before == _whole(self.client, self.present)

    def difference(self) -> str:
        """The change of our entry, in the client's format, as a unified difference; keys and tokens are hidden."""
        names = dict[str, str]()
        entries = (_masked(each, (), names) for each in (self.present, self.entry))
        old, new = (
            [] if each is None else _whole(self.client, each).decode().splitlines() for each in entries
        )
        was, now = ("/dev/null" if side is None else str(self.file) for side in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, was, now, lineterm="", n=1))


def find_clients() -> list[tuple[Client, bool, str]]:
    """The clients on this machine, whether our entry is in their files, and why a file cannot be read."""
    found = []
    for client in CLIENTS.values():
        if client.is_here():
            try:
                found.append((client, _open(client, None).present is not None, ""))
            except UsageError as unreadable:
                found.append((client, False, str(unreadable)))
    return found


def plan_install(client: Client, server: Launch | Remote, file: Path | None = None) -> Change:
    """What a client's file becomes with our entry; of an entry that is there, what a person set stays.

    Raises:
        UsageError: the file cannot be read or changed; the message says why.
    """
    opened, form = _open(client, file), format_of(client)
    entry = _merge(client, server, opened.present)
    path, text = (client.servers_key, KEY), opened.before or b""
    after = _edited(opened, entry, lambda: _sync(form, text, path, opened.present, entry))
    holds_token = isinstance(server, Remote) and not client.reference
    return replace(opened, after=after, entry=entry, is_private=holds_token)


def plan_uninstall(client: Client, file: Path | None = None) -> Change:
    """What a client's file becomes without our entry; one that holds nothing else goes.

    Raises:
        UsageError: the file cannot be read or changed; the message says why.
    """
    opened = _open(client, file)
    if opened.present is None:
        return opened
    path, text, after = (client.servers_key, KEY), opened.before or b"", None
    if not opened.is_ours_alone:
        after = _edited(opened, None, lambda: format_of(client).drop(text, path))
    return replace(opened, after=after, entry=None)


def apply_change(change: Change) -> Path | None:
    """Writes a change whole or not at all; returns where a copy of the file as it was lies.

    Raises:
        UsageError: the file cannot be written, or it changed since the change was planned; it is as it was.
    """
    if not change.is_change:
        return None
    target = change.target
    try:
        problem = "changed meanwhile" if read_small_file(target) != change.before else ""
        if os.name == "posix" and target.exists():
            found = target.stat()
            if not found.st_mode & 0o222:
                problem = "is read-only"
            elif os.geteuid() not in (0, found.st_uid):
                problem = f"belongs to another user ({found.st_uid})"
        if problem:
            raise UsageError(
                f"{change.file} {problem}; nothing was written.", hint="Fix that, then try again."
            )
        if change.after is None:
            target.unlink()
            return None
        backup = None
        if change.before is not None and not change.is_ours_alone:
            backup = target.with_name(f"{target.name}{BACKUP}")
            write_whole(backup, change.before, like=target, is_private=change.is_private)
        write_whole(target, change.after, is_private=change.is_private)
    except OSError as refused:
        raise UsageError(
            f"{change.file} cannot be written: {refused.strerror or refused}.", hint="Nothing was changed."
        ) from refused
    return backup


def format_of(client: Client) -> ModuleType:
    """The module that reads and edits the client's format: `read`, `put` and `drop`."""
    return import_module(f"alita_mcp.clients.{client.format.replace('json', 'jsonc')}")


def _whole(client: Client, entry: Any) -> bytes:
    """A file with nothing but our entry."""
    return bytes(format_of(client).put(b"", (client.servers_key, KEY), entry))


def _open(client: Client, file: Path | None) -> Change:
    """A client's file as it is; UsageError where it cannot be read, or its servers are not what they should be."""
    file = (file or client.usual_file()).expanduser().absolute()
    hint = "Fix the file, or name another one with --file. Nothing was written."
    target = Path(os.path.realpath(file))
    before = read_small_file(target)
    try:
        document: dict[str, Any] = format_of(client).read(before or b"")
        copy.deepcopy(document)
    except (ValueError, RecursionError) as broken:
        problem = "it is nested too deeply" if isinstance(broken, RecursionError) else broken
        raise UsageError(f"{file} is not valid {client.format.upper()}: {problem}.", hint=hint) from broken
    servers = document.get(client.servers_key, {})
    if not (isinstance(servers, dict) or (servers is None and client.format == "yaml")):
        raise UsageError(f"{client.servers_key!r} in {file} is not an object.", hint=hint)
    present = (servers or {}).get(KEY)
    return Change(client, file, target, document, before, before, present, present)


def _merge(client: Client, server: Launch | Remote, present: Any) -> dict[str, Any]:
    """Our entry, or one that is there with what must change in it.

    1. What names the server is set; of objects in it (variables, headers) our own members alone.
    2. Numbers and switches, which a person may have chosen, such as a time-out, are set only where they are missing.
    3. What belongs to the other way to reach a server goes: many clients refuse an entry with both.
    """
    wanted = client.entry_for(server)
    if not isinstance(present, dict):
        return wanted
    other = Launch("", (), {"": ""}) if isinstance(server, Remote) else Remote("", "")
    foreign = client.entry_for(other).keys() - wanted.keys() if client.remote_entry else ()

    def merged(present: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
        result = dict(present)
        for name, value in wanted.items():
            if isinstance(value, dict) and isinstance(result.get(name), dict):
                result[name] = merged(result[name], value)
            elif name not in result or not isinstance(value, int):
                result[name] = value
        return result

    return merged({name: present[name] for name in present if name not in foreign}, wanted)


def _sync(form: ModuleType, text: bytes, path: tuple[str, ...], present: Any, wanted: Any) -> bytes:
    """The text with the value at a path made what it should be, by as few edits as there are differences."""
    if not (isinstance(present, dict) and isinstance(wanted, dict)):
        return text if present == wanted else bytes(form.put(text, path, wanted))
    for name, value in wanted.items():
        text = _sync(form, text, (*path, name), present.get(name), value)
    for name in present.keys() - wanted.keys():
        text = form.drop(text, (*path, name))
    return text


def _edited(opened: Change, entry: Any, edit: Callable[[], bytes]) -> bytes:
    """The file after an edit; UsageError unless it then holds this entry of ours, and else what it held."""
    key = opened.client.servers_key

    def others(document: Mapping[str, Any]) -> dict[str, Any]:
        servers = document.get(key) or {}
        return {**document, key: {name: servers[name] for name in servers if name != KEY}}

    try:
        text = edit()
        found = format_of(opened.client).read(text)
        if (found.get(key) or {}).get(KEY) == entry and others(found) == others(opened.document):
            return text
        problem = "it would say something else"
    except ValueError as unfit:
        problem = str(unfit)
    raise UsageError(
        f"{opened.file} cannot be edited without changing more of it than our entry ({problem}); nothing was written.",
        hint="Edit it by hand: `alita install CLIENT --dry-run --file NEW_FILE` shows the entry.",
    )


def _masked(value: Any, path: tuple[str, ...], names: dict[str, str]) -> Any:
    """A value with a name in place of each text in it that may be a credential, by what leads to it."""
    if isinstance(value, dict):
        return {name: _masked(each, (*path, str(name)), names) for name, each in value.items()}
    if isinstance(value, list):
        return [_masked(each, path, names) for each in value]
    is_setting = path[-1:] != () and path[-1].startswith("ALITA_") and "TOKEN" not in path[-1]
    is_secret = any(word in str(path).upper() for word in SECRET_WORDS)
    if not isinstance(value, str) or is_setting or not is_secret:
        return value
    return names.setdefault(value, f"{HIDDEN}{len(names) or ''}")
