"""Changes of clients' configuration files: planned whole, shown as a difference, then written with a backup."""

from __future__ import annotations

import copy
import difflib
import itertools
import json
import os
import stat
import tempfile
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from alita_mcp.clients.table import CLIENTS, KEPT, KEY, ONLY_REMOTE, ONLY_STARTED, Client, Launch, Remote
from alita_mcp.errors import UsageError

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
        """The change as a unified difference, keys and tokens hidden; empty where nothing changes."""
        sides = [(side or b"").removeprefix(BOM) for side in (self.before, self.after)]
        old, new = (side.decode().splitlines() for side in sides)
        was, now = ("/dev/null" if side is None else str(self.file) for side in (self.before, self.after))
        # No lines around what changes: comments there may hold keys too.
        lines = list(difflib.unified_diff(old, new, was, now, lineterm="", n=0))
        text = "\n".join(lines[2:])
        documents = [format_of(self.client).read(side) for side in sides]
        secrets = {each for document in documents for each in _secrets(document, (), self.client.servers_key)}
        for secret in sorted(secrets, key=len, reverse=True):
            text = _hide(text, secret)
        return "\n".join([*lines[:2], text]) if text else ""


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
    with _explained(opened.file):
        if present is None:
            after = _add(client, opened.text, opened.document, entry)
        else:
            after = _sync(form, opened.text, (client.servers_key, KEY), present, entry)
        _require(client, after, opened.document, entry)
    holds_token = isinstance(server, Remote) and not client.reference
    return Change(
        name, client, opened.file, opened.target, opened.before, opened.bom + after, entry, holds_token
    )


def plan_uninstall(name: str, client: Client, file: Path | None = None) -> Change:
    """What a client's file becomes without our entry: what it was before, where nothing else has changed since.

    Raises:
        UsageError: the file cannot be read or changed; the message says why.
    """
    opened = _open(client, file)
    entry = _entry(opened.document, client)
    if opened.before is None or entry is None:
        return Change(name, client, opened.file, opened.target, opened.before, opened.before, {})

    def planned(after: bytes | None) -> Change:
        return Change(name, client, opened.file, opened.target, opened.before, after, entry)

    # 1. A backup that becomes this very file when our entry is added to it is what the file was.
    # 2. So is no file at all, if that is what we would have made.
    # 3. Otherwise the file has been changed since: our entry alone is cut out.
    for backup in [*_backups(opened.target), None]:
        with suppress(ValueError, OSError, RecursionError):  # not a copy that is of use
            old = b"" if backup is None else backup.read_bytes()
            text = old.removeprefix(opened.bom)
            was = format_of(client).read(text)
            if _entry(was, client) is None and _add(client, text, was, entry) == opened.text:
                return planned(None if backup is None else old)
    with _explained(opened.file):
        after = format_of(client).drop(opened.text, (client.servers_key, KEY))
        _require(client, after, opened.document, None)
    return planned(opened.bom + after)


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
        target.parent.mkdir(parents=True, exist_ok=True)
        if change.after is None:
            target.unlink()
            for old in _backups(target):  # copies of earlier entries of ours
                with suppress(ValueError):
                    document = format_of(change.client).read(old.read_bytes().removeprefix(BOM))
                    if not any(_others(document, change.client).values()):
                        old.unlink()
            return None
        backup = None
        if change.before is not None:
            backup = _keep_backup(target, change.before, is_private=change.is_private)
        write_whole(target, change.after, like=target, is_private=change.is_private)
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


def write_whole(target: Path, content: bytes, *, like: Path, is_private: bool) -> None:
    """Writes a file whole or not at all, with the mode and owner of `like`; a new one is its owner's alone."""
    found = like.stat() if like.exists() else None
    mode = stat.S_IMODE(found.st_mode) if found else 0o600
    owner = found or target.parent.stat()
    descriptor, aside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if os.name == "posix":
                if os.geteuid() == 0:
                    os.fchown(descriptor, owner.st_uid, owner.st_gid)
                os.fchmod(descriptor, mode & 0o600 if is_private else mode)
            os.fsync(descriptor)
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


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


def _backups(target: Path) -> list[Path]:
    """The copies beside a file, newest first."""
    beside = target.parent.iterdir() if target.parent.is_dir() else ()
    files = [path for path in beside if path.name.startswith(f"{target.name}{BACKUP}") and path.is_file()]
    return sorted(files, key=lambda path: path.stat().st_mtime_ns, reverse=True)


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
    if not is_unset and not isinstance(servers, list if client.is_list else dict):
        what = "a list" if client.is_list else "an object"
        raise UsageError(f"{client.servers_key!r} in {file} is not {what}; nothing was written.", hint=hint)
    return _Opened(file, target, before, bom, text, document)


def _entry(document: Mapping[str, Any], client: Client) -> Any:
    """Our entry in a document; None where there is none."""
    servers = document.get(client.servers_key)
    if isinstance(servers, list):
        return next((each for each in servers if isinstance(each, dict) and each.get("name") == KEY), None)
    return servers.get(KEY) if isinstance(servers, dict) else None


def _others(document: Mapping[str, Any], client: Client) -> dict[str, Any]:
    """The document without our entry."""
    servers, ours = document.get(client.servers_key) or {}, _entry(document, client)
    rest: Any = [each for each in servers if each is not ours]
    if isinstance(servers, dict):
        rest = {key: value for key, value in servers.items() if key != KEY}
    return {**document, client.servers_key: rest or None}


def _add(client: Client, text: bytes, document: Mapping[str, Any], entry: Mapping[str, Any]) -> bytes:
    """The text with our entry added to it."""
    if client.is_list and not document.get(client.servers_key):
        return bytes(format_of(client).put(text, (client.servers_key,), [entry]))
    return bytes(format_of(client).put(text, (client.servers_key, KEY), entry))


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


def _require(client: Client, text: bytes, document: Mapping[str, Any], entry: Any) -> None:
    """Raises ValueError unless the text holds this entry of ours, and else what the document holds."""
    found = format_of(client).read(text)
    if _entry(found, client) != entry or _others(found, client) != _others(document, client):
        raise ValueError("it would say something else")


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Turns an edit that does not fit the file into an error that says what to do."""
    try:
        yield
    except ValueError as unfit:
        raise UsageError(
            f"{file} cannot be edited without changing more of it than our entry ({unfit}); nothing was written.",
            hint="Edit it by hand: `alita install CLIENT --dry-run --file NEW_FILE` shows the entry.",
        ) from unfit


def _hide(text: str, secret: str) -> str:
    """The text without a secret; a short one, which may be a common word, is hidden as a whole value alone."""
    for spelling in {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
        if len(secret) >= 8:
            text = text.replace(spelling, HIDDEN)
        for start, end in (('"', '"'), ("'", "'"), (": ", "\n"), ("- ", "\n")):
            text = f"{text}\n".replace(f"{start}{spelling}{end}", f"{start}{HIDDEN}{end}")[:-1]
    return text


def _secrets(value: Any, path: tuple[str, ...], servers_key: str) -> Iterator[str]:
    """Every text in a document that may be a credential: by its name, or anywhere in the entry of another server."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _secrets(each, (*path, str(name)), servers_key)
    elif isinstance(value, list):
        for each in value:
            name = str(each.get("name")) if isinstance(each, dict) else ""
            yield from _secrets(each, (*path, name), servers_key)
    elif isinstance(value, str) and value and path:
        is_others = path[0] == servers_key and KEY not in path
        is_setting = path[-1].startswith("ALITA_") and "TOKEN" not in path[-1]
        if is_others or (not is_setting and any(word in str(path).upper() for word in SECRET_WORDS)):
            yield value
