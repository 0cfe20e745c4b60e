"""Changes of clients' configuration files: planned whole, shown as a difference, then written with a backup."""

from __future__ import annotations

import copy
import difflib
import itertools
import os
import stat
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from alita_mcp.clients.table import CLIENTS, KEPT, KEY, ONLY_REMOTE, ONLY_STARTED, Client, Launch, Remote
from alita_mcp.errors import UsageError
from alita_mcp.private_files import write_whole

MAX_BYTES = 1_000_000
"""Largest configuration file that is read."""
BACKUP = ".alita-backup"
BOM = b"\xef\xbb\xbf"
HIDDEN = "***"
SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH", "COOKIE", "'ENV", "HEADERS")
"""In the names that lead to a text."""


@dataclass(frozen=True)
class FoundClient:
    """A client on this machine."""

    name: str
    title: str
    file: Path
    is_project_file: bool
    """Whether the file is that of the project in the current folder."""
    is_wired: bool
    """Whether our entry is in the file."""
    problem: str = ""
    """Why its file cannot be read."""


@dataclass(frozen=True)
class Change:
    """What a file is to become."""

    name: str
    client: Client
    file: Path
    """As the client names it."""
    target: Path
    """Where it lies: where the link leads, if `file` is one."""
    before: bytes | None
    """None where there is no file."""
    after: bytes | None
    """None: the file goes, for nothing but our entry was ever in it."""
    entry: Mapping[str, Any]
    """Our entry, as the file will hold it."""
    is_private: bool = False
    """Whether the file is to be its owner's alone, because it holds a token."""

    @property
    def is_change(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after

    def difference(self) -> str:
        """The change of our entry, in the client's format, as a unified difference; keys and tokens are hidden."""
        form, names = format_of(self.client), dict[str, str]()
        texts = []
        for side in (self.before, self.after):
            entry = _entry(form.read((side or b"").removeprefix(BOM)), self.client)
            shown = {self.client.servers_key: {KEY: _masked(entry, (), names)}} if entry is not None else {}
            text = b"".join(form.put(b"", (key,), value) for key, value in shown.items())
            texts.append(text.decode().splitlines())
        was, now = ("/dev/null" if side is None else str(self.file) for side in (self.before, self.after))
        return "\n".join(difflib.unified_diff(texts[0], texts[1], was, now, lineterm="", n=1))


def find_clients() -> list[FoundClient]:
    """The clients on this machine, and whether our entry is in their files."""
    found = []
    for name, client in CLIENTS.items():
        if client.is_here():
            is_wired, problem = False, ""
            try:
                is_wired = _entry(_open(client, None).document, client) is not None
            except UsageError as unreadable:
                problem = str(unreadable)
            found.append(
                FoundClient(
                    name, client.title, client.usual_file(), client.is_project_file, is_wired, problem
                )
            )
    return found


def wired_clients() -> list[FoundClient]:
    """The clients on this machine that start or reach this server."""
    return [client for client in find_clients() if client.is_wired]


def plan_install(name: str, client: Client, server: Launch | Remote, file: Path | None = None) -> Change:
    """What a client's file becomes with our entry; of an entry that is there, what a person set stays.

    Raises:
        UsageError: the file cannot be read or changed; the message says why.
    """
    wanted = client.entry_for(server)
    opened = _open(client, file)
    form, present = format_of(client), _entry(opened.document, client)
    entry = wanted if present is None else _merge(server, present, wanted)
    path = (client.servers_key, KEY)
    present = _MISSING if present is None else present
    after = _edited(client, opened, entry, lambda: _sync(form, opened.text, path, present, entry))
    holds_token = isinstance(server, Remote) and not client.reference
    return Change(name, client, opened.file, opened.target, opened.before, after, entry, holds_token)


def plan_uninstall(name: str, client: Client, file: Path | None = None) -> Change:
    """What a client's file becomes without our entry; one that holds nothing else goes.

    Raises:
        UsageError: the file cannot be read or changed; the message says why.
    """
    opened = _open(client, file)
    entry = _entry(opened.document, client)
    if opened.before is None or entry is None:
        return Change(name, client, opened.file, opened.target, opened.before, opened.before, {})
    form, path, after = format_of(client), (client.servers_key, KEY), None
    if not _is_ours_alone(client, opened.text, entry):
        after = _edited(client, opened, None, lambda: form.drop(opened.text, path))
    return Change(name, client, opened.file, opened.target, opened.before, after, entry)


def apply_change(change: Change) -> Path | None:
    """Writes a change whole or not at all; returns where a copy of the file as it was lies.

    Raises:
        UsageError: the file cannot be written, or it changed since the change was planned; it is as it was.
    """
    if not change.is_change:
        return None
    target = change.target
    try:
        problem = "changed meanwhile" if read_file(target, change.file) != change.before else ""
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
        before = (change.before or b"").removeprefix(BOM)
        present = _entry(format_of(change.client).read(before), change.client)
        if change.before is not None and not _is_ours_alone(change.client, before, present):
            backup = _keep_backup(target, change.before, is_private=change.is_private)
        write_whole(target, change.after, is_private=change.is_private)
    except OSError as refused:
        raise UsageError(
            f"{change.file} cannot be written: {refused.strerror or refused}.", hint="Nothing was changed."
        ) from refused
    return backup


def read_file(target: Path, file: Path) -> bytes | None:
    """What a configuration file holds; None where there is none.

    Raises:
        UsageError: it is no regular file, too large, not UTF-8, or cannot be read.
    """
    named = str(file) if file == target else f"{file} (a link to {target})"
    try:
        found = target.stat()
        if stat.S_ISREG(found.st_mode) and found.st_size <= MAX_BYTES:
            content = target.read_bytes()
            content.decode()
            return content
        problem = f"has {found.st_size:,} bytes, and the limit is {MAX_BYTES:,}"
        if not stat.S_ISREG(found.st_mode):
            problem = "is a folder" if stat.S_ISDIR(found.st_mode) else "is not a regular file"
    except FileNotFoundError:
        return None
    except OSError as refused:
        problem = f"cannot be read: {refused.strerror or refused}"
    except UnicodeDecodeError as strange:
        problem = f"is not UTF-8 (byte {strange.start + 1})"
    raise UsageError(
        f"{named} {problem}; nothing was written.", hint="Fix that, or name another file with --file."
    )


def _keep_backup(target: Path, content: bytes, *, is_private: bool) -> Path:
    """A copy of a file as it is, beside it; an older copy stays, and one that says the same is taken."""
    for number in itertools.count(1):
        backup = target.with_name(f"{target.name}{BACKUP}{f'-{number}' if number > 1 else ''}")
        if not os.path.lexists(backup):
            write_whole(backup, content, like=target, is_private=is_private)
            return backup
        if backup.is_file() and not backup.is_symlink() and backup.read_bytes() == content:
            return backup
    raise AssertionError


def format_of(client: Client) -> ModuleType:
    """The module that reads and edits the client's format: `read`, `put` and `drop`."""
    if client.format == "toml":
        from alita_mcp.clients import toml

        return toml
    if client.format == "yaml":
        from alita_mcp.clients import yaml

        return yaml
    from alita_mcp.clients import jsonc

    return jsonc


class _Opened(NamedTuple):
    """A client's file as it is."""

    file: Path
    target: Path
    before: bytes | None
    bom: bytes
    text: bytes
    document: dict[str, Any]


def _open(client: Client, file: Path | None) -> _Opened:
    """A client's file and what it says; its servers, if any, are what they should be.

    Raises:
        UsageError: they are not, or the file cannot be read.
    """
    file = (file or client.usual_file()).expanduser().absolute()
    try:
        target = Path(os.path.realpath(file, strict=True))
    except FileNotFoundError:
        target = Path(os.path.realpath(file))
    except OSError as circle:
        raise UsageError(f"{file} cannot be followed: {circle.strerror}; nothing was written.") from circle
    before = read_file(target, file)
    bom = BOM if (before or b"").startswith(BOM) else b""
    text = (before or b"").removeprefix(bom)
    hint = "Fix the file, then try again."
    try:
        document: dict[str, Any] = format_of(client).read(text)
        copy.deepcopy(document)
    except (ValueError, RecursionError) as broken:
        problem = "it is nested too deeply" if isinstance(broken, RecursionError) else broken
        raise UsageError(
            f"{file} is not valid {client.format.upper()}: {problem}. Nothing was written.", hint=hint
        ) from broken
    servers = document.get(client.servers_key)
    is_unset = client.servers_key not in document or (servers is None and client.format == "yaml")
    if not is_unset and not isinstance(servers, dict):
        raise UsageError(
            f"{client.servers_key!r} in {file} is not an object; nothing was written.", hint=hint
        )
    return _Opened(file, target, before, bom, text, document)


def _entry(document: Mapping[str, Any], client: Client) -> Any:
    """Our entry in a document; None where there is none."""
    servers = document.get(client.servers_key)
    return servers.get(KEY) if isinstance(servers, dict) else None


def _others(document: Mapping[str, Any], client: Client) -> dict[str, Any]:
    """The document without our entry."""
    servers = document.get(client.servers_key) or {}
    return {**document, client.servers_key: {key: servers[key] for key in servers if key != KEY}}


def _is_ours_alone(client: Client, text: bytes, entry: Any) -> bool:
    """Whether a text is what we write where there is no file."""
    return entry is not None and text == format_of(client).put(b"", (client.servers_key, KEY), entry)


def _merge(server: Launch | Remote, present: Any, wanted: dict[str, Any]) -> dict[str, Any]:
    """Our entry with what must change in it.

    1. What names the server is set; of objects in it (variables, headers) our own members alone.
    2. What a person may have chosen, such as a time-out, is set only where it is missing.
    3. What belongs to the other way to reach a server goes: many clients refuse an entry with both.
    """
    if not isinstance(present, dict):
        return wanted
    foreign = (ONLY_REMOTE if isinstance(server, Launch) else ONLY_STARTED) - wanted.keys()

    def merged(present: dict[str, Any], wanted: dict[str, Any], kept: Container[str]) -> dict[str, Any]:
        result = dict(present)
        for name, value in wanted.items():
            if isinstance(value, dict) and isinstance(result.get(name), dict):
                result[name] = merged(result[name], value, ())
            elif name not in result or name not in kept:
                result[name] = value
        return result

    return merged({name: present[name] for name in present if name not in foreign}, wanted, KEPT)


def _sync(form: ModuleType, text: bytes, path: tuple[str, ...], present: Any, wanted: Any) -> bytes:
    """The text with the value at a path made what it should be, by as few edits as there are differences."""
    if not (isinstance(present, dict) and isinstance(wanted, dict)):
        return text if present == wanted else bytes(form.put(text, path, wanted))
    for name, value in wanted.items():
        text = _sync(form, text, (*path, name), present.get(name, _MISSING), value)
    for name in present.keys() - wanted.keys():
        text = form.drop(text, (*path, name))
    return text


_MISSING = object()


def _edited(client: Client, opened: _Opened, entry: Any, edit: Callable[[], bytes]) -> bytes:
    """The file after an edit.

    Raises:
        UsageError: it cannot be edited so that it holds this entry of ours, and else what it held.
    """
    try:
        text = edit()
        found = format_of(client).read(text)
        if _entry(found, client) == entry and _others(found, client) == _others(opened.document, client):
            return opened.bom + text
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
    if (
        not isinstance(value, str)
        or is_setting
        or not any(word in str(path).upper() for word in SECRET_WORDS)
    ):
        return value
    return names.setdefault(value, f"{HIDDEN}{len(names) or ''}")
