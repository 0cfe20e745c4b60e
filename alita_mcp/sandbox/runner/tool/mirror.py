"""A copy of the workspace inside a sandbox: fetched file by file, handed back when the call succeeds.

All names are there from the first look on; a file's content comes when it is opened. Until then it has mode 000, so
that nothing takes the empty copy for the file.
"""

from __future__ import annotations

import binascii
import errno
import io
import os
from _thread import RLock, get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

ROOT = "/tmp/workspace"
CHUNK = 480 << 10
"""Bytes of a file in one question or answer; base64 makes a third more of them."""
MAX_FILE = 16 << 20
READ_ONLY = "alita_tool.workspace needs the grant 'workspace': 'write'; this tool may only read it"
Ask = Callable[[str, dict[str, Any]], Any]
Operation = dict[str, Any]


class Entry(NamedTuple):
    """A name as the host told it."""

    kind: str
    """`file`, `folder`, or `unlisted`: a folder whose names are not here yet."""
    stamp: str
    """Changes whenever the file on the host does."""


class Mirror:
    """The local copy; `touch` is told of each path before it is opened, listed or changed."""

    def __init__(self, ask: Ask, *, writable: bool, root: str = ROOT) -> None:
        self.root = root
        self.writable = writable
        self._ask = ask
        self._known: dict[str, Entry] = {}
        self._fetched: set[str] = set()
        self._laid: dict[str, tuple[int, ...]] = {}
        """How each file looked when it was laid or fetched."""
        self._removed: set[str] = set()
        self._begun = False
        self._lock = RLock()
        self._at_work = 0
        """The thread that fetches or hands back now."""

    def touch(self, path: str, *, replaced: bool = False, deep: bool = False) -> None:
        """Makes sure that what lies at a path is here; `replaced`: its old content is not wanted; `deep`: all below."""
        relative = self.relative(path)
        if relative is None:
            return
        with self._working() as mine:
            if not mine:
                return
            self.begin()
            self._reveal(relative)
            below = [name for name in self._known if deep and name.startswith(f"{relative}/")]
            for name in (relative, *below):
                if self._is_unread(name):
                    self._fetch(name, replaced=replaced)

    def look(self, path: str) -> None:
        """Makes sure that the names around a path are here, and fetches no content."""
        relative = self.relative(path)
        if relative is not None:
            with self._working() as mine:
                if mine:
                    self.begin()
                    self._reveal(relative.rpartition("/")[0])

    def change(self, path: str, *, removed: bool = False, replaced: bool = False, deep: bool = False) -> None:
        """As `touch`, and that it may be changed; `removed`: it is meant to go, and with `deep` to another place."""
        relative = self.relative(path)
        if relative is None or self._at_work == get_ident():
            return
        if not self.writable:
            raise PermissionError(READ_ONLY)
        if removed and not deep:
            self.look(path)
        else:
            self.touch(path, replaced=replaced, deep=deep)
        if removed and relative:
            self._removed.add(relative)

    def relative(self, path: str) -> str | None:
        """A path below the root, with slashes; empty for the root; None elsewhere."""
        absolute = os.path.abspath(path)
        if absolute == self.root:
            return ""
        return absolute[len(self.root) + 1 :] if absolute.startswith(f"{self.root}/") else None

    def begin(self) -> None:
        """Lays out the names that the host has."""
        if not self._begun:
            listing = self._ask("workspace.list", {"path": ""})
            os.makedirs(self.root, 0o700, exist_ok=True)
            self._begun = True
            self._lay("", listing)

    def finish(self) -> None:
        """Hands back what was changed; all of it or nothing."""
        if self._begun and self.writable:
            with self._working():
                self._send(self._changes())

    @contextmanager
    def _working(self) -> Iterator[bool]:
        """False for what this object itself opens while it fetches."""
        with self._lock:
            if self._at_work:
                yield False
                return
            self._at_work = get_ident()
            try:
                yield True
            finally:
                self._at_work = 0

    def _is_unread(self, name: str) -> bool:
        """Whether the file of the host is still to come, and the tool put nothing else there."""
        if self._known.get(name, _NOTHING).kind != "file" or name in self._fetched:
            return False
        try:
            return _look(self._local(name))[0] == self._laid[name][0]
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _local(self, relative: str) -> str:
        return f"{self.root}/{relative}" if relative else self.root

    def _reveal(self, relative: str) -> None:
        """Lists the folders on the way to a path, and itself, that are not listed yet."""
        parts = relative.split("/")
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if self._known.get(folder, _NOTHING).kind == "unlisted":
                self._lay(folder, self._ask("workspace.list", {"path": folder}))

    def _lay(self, folder: str, listing: list[list[Any]]) -> None:
        mode = 0o700 if self.writable else 0o500
        if folder:
            self._known[folder] = Entry("folder", "")
        os.chmod(self._local(folder), 0o700)
        folders = [folder]
        for name, kind, size, time_ns, stamp in listing:
            if name in self._known:
                continue
            local = self._local(name)
            self._known[name] = Entry(kind, stamp)
            if kind == "file":
                self._lay_file(name, local, size, time_ns)
            else:
                os.mkdir(local, 0o700)
                folders += [name] if kind == "folder" else []
                if kind == "unlisted":
                    os.chmod(local, 0)
        for name in reversed(folders):
            os.chmod(self._local(name), mode)

    def _lay_file(self, name: str, local: str, size: int, time_ns: int) -> None:
        file = os.open(local, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o000)
        if size <= min(MAX_FILE, _largest_file()):
            os.ftruncate(file, size)  # a larger one has the size 0 here, and the host refuses to open it
        os.close(file)
        os.utime(local, ns=(time_ns, time_ns))
        self._laid[name] = _look(local)[:3]

    def _fetch(self, name: str, *, replaced: bool) -> None:
        local = self._local(name)
        os.chmod(local, 0o200)
        try:
            with open(local, "wb") as file:
                time_ns = None if replaced else self._copy(name, file)
        except BaseException:
            os.chmod(local, 0)
            self._laid[name] = _look(local)[:3]  # what is left of it is no change of the tool's
            raise
        if time_ns is not None:
            os.utime(local, ns=(time_ns, time_ns))
        os.chmod(local, 0o600 if self.writable else 0o400)
        self._laid[name] = () if replaced else _look(local)
        self._fetched.add(name)

    def _copy(self, name: str, file: io.BufferedWriter) -> int:
        stamp = ""
        while True:
            words = {"path": name, "offset": file.tell(), "length": CHUNK}
            piece = self._ask("workspace.read", words)
            if stamp not in {"", piece["stamp"]}:
                raise OSError(errno.ESTALE, "the file changed while it was read", name)
            stamp = piece["stamp"]
            data = binascii.a2b_base64(piece["data"])
            file.write(data)
            if not data or file.tell() >= piece["size"]:
                self._known[name] = Entry("file", stamp)
                return int(piece["time_ns"])

    def _changes(self) -> Iterator[Operation]:
        here = dict(self._walk(""))
        gone = [name for name, entry in self._known.items() if here.get(name) != _plain_kind(entry)]
        for name in sorted(gone, key=lambda name: (name.count("/"), name), reverse=True):
            if not self._is_removed(name) and name not in here:
                raise OSError(
                    errno.ENOENT, "gone from the workspace, but not by unlink(), rmdir() or rename()", name
                )
            yield {"do": "remove", "path": name, "stamp": self._known[name].stamp}
        for name, kind in sorted(here.items(), key=lambda item: item[0].count("/")):
            known = self._known.get(name) if name not in gone else None
            if kind == "folder" and known is None:
                yield {"do": "folder", "path": name}
            elif kind == "file" and (known is None or self._is_changed(name)):
                yield from self._pieces(name, known.stamp if known else "")

    def _walk(self, folder: str) -> Iterator[tuple[str, str]]:
        with os.scandir(self._local(folder)) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield name, "folder"
                if self._known.get(name, _NOTHING).kind != "unlisted":
                    yield from self._walk(name)
            elif entry.is_file(follow_symlinks=False):
                yield name, "file"
            else:
                raise ValueError(f"{name!r} is neither a file nor a folder; the workspace keeps nothing else")

    def _is_removed(self, name: str) -> bool:
        parts = name.split("/")
        return any("/".join(parts[:depth]) in self._removed for depth in range(1, len(parts) + 1))

    def _is_changed(self, name: str) -> bool:
        look = _look(self._local(name))
        return self._laid[name] != (look if name in self._fetched else look[:3])

    def _pieces(self, name: str, stamp: str) -> Iterator[Operation]:
        local = self._local(name)
        size = os.stat(local, follow_symlinks=False).st_size
        if size > MAX_FILE:
            raise OSError(
                errno.EFBIG, f"{size} bytes are more than the {MAX_FILE} that a file may have", name
            )
        os.chmod(local, 0o600)
        with open(local, "rb") as file:
            while True:
                data = file.read(CHUNK)
                more = file.tell() < size
                text = binascii.b2a_base64(data, newline=False).decode()
                yield {"do": "write", "path": name, "stamp": stamp, "data": text, "more": more}
                if not more:
                    return

    def _send(self, operations: Iterator[Operation]) -> None:
        batch: list[Operation] = []
        size = 0
        for operation in operations:
            cost = len(operation.get("data", "")) + 6 * len(operation["path"]) + 200
            if size + cost > 2 * CHUNK:
                self._ask("workspace.change", {"operations": batch, "last": False})
                batch, size = [], 0
            batch.append(operation)
            size += cost
        if batch:
            self._ask("workspace.change", {"operations": batch, "last": True})


_NOTHING = Entry("", "")


def _largest_file() -> int:
    """How many bytes a file may have here."""
    try:
        import resource
    except ModuleNotFoundError:  # the embedded sandbox: its files are bounded together
        return MAX_FILE
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return MAX_FILE if limit == resource.RLIM_INFINITY else limit


def _plain_kind(entry: Entry) -> str:
    return "folder" if entry.kind == "unlisted" else entry.kind


def _look(local: str) -> tuple[int, ...]:
    """What changes with a file: its first three numbers with its content, the last one with its mode too."""
    found = os.stat(local, follow_symlinks=False)
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
