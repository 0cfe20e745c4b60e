"""`alita_tool.workspace`: a `pathlib.Path` whose files are fetched when they are opened, in whatever way.

`open`, `Path.open`, `os.open`, `sqlite3.connect` and whatever builds on them announce themselves as audit events, with
a path, its text or a path relative to the working directory alike; libraries that open files in C ask the path object
for its text (`os.fspath`) first. Only a C library that is given the text finds a file that is not there yet, and is
refused by its mode.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, ClassVar

from alita_mcp.sandbox.runner.tool.mirror import Mirror

if TYPE_CHECKING:
    from pathlib import PosixPath

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Fetching:
    """What a path of the workspace does in another way than pathlib's."""

    __slots__ = ()
    mirror: ClassVar[Mirror]

    def __fspath__(self) -> str:
        text = str(self)
        self.mirror.touch(text)
        return text

    def open(self, mode: str = "r", *arguments: Any, **options: Any) -> IO[Any]:
        """Opens the file; one that is overwritten is not fetched before."""
        return open(str(self), mode, *arguments, **options)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Size and times as the host tells them, without fetching the file."""
        return os.stat(self._text(), follow_symlinks=follow_symlinks)

    def lstat(self) -> os.stat_result:
        """As `stat`; there are no links."""
        return os.lstat(self._text())

    def exists(self, **_options: Any) -> bool:
        """Whether there is something, without fetching it."""
        return os.path.exists(self._text())

    def is_file(self, **_options: Any) -> bool:
        """Whether it is a file, without fetching it."""
        return os.path.isfile(self._text())

    def is_dir(self, **_options: Any) -> bool:
        """Whether it is a folder."""
        return os.path.isdir(self._text())

    def is_symlink(self) -> bool:
        """Whether it is a link; only the tool itself can have made one."""
        return os.path.islink(self._text())

    def unlink(self, missing_ok: bool = False) -> None:
        """Removes the file; on the host once the call has succeeded."""
        try:
            os.unlink(self._text())
        except FileNotFoundError:
            if not missing_ok:
                raise

    def _text(self) -> str:
        """The path, once the names around it are here."""
        text = str(self)
        self.mirror.look(text)
        return text


def workspace_path(mirror: Mirror) -> PosixPath:
    """The path of the mirror's root; all paths made from it fetch what they name."""
    from pathlib import PosixPath  # slow to import, and most tools have no workspace

    class WorkspacePath(Fetching, PosixPath):  # type: ignore[misc]  # `open` takes what Path.open takes
        """A path at which something may lie that is not here yet."""

    WorkspacePath.mirror = mirror
    return WorkspacePath(mirror.root)


def watch_files(mirror: Mirror) -> None:
    """Tells the mirror of each file that Python opens or changes from now on; this cannot be undone."""
    watch = Watch(mirror)
    watchers: dict[str, Callable[..., None]] = {
        "open": watch.opened, "os.listdir": watch.looked_at, "os.scandir": watch.looked_at,
        "os.chdir": watch.looked_at, "sqlite3.connect": watch.looked_at, "os.mkdir": watch.changed,
        "os.chmod": watch.changed, "os.truncate": watch.changed, "os.utime": watch.changed,
        "os.remove": watch.removed, "os.rmdir": watch.removed, "shutil.rmtree": watch.removed,
        "os.rename": watch.moved, "os.link": watch.linked, "os.symlink": watch.linked,
    }  # fmt: skip

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        watcher = watchers.get(event)
        if watcher is not None:
            watcher(*arguments)

    sys.addaudithook(hear)


class Watch:
    """What each audit event means for the mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def opened(self, path: Any, _mode: Any, flags: int) -> None:
        """`open` and `os.open`."""
        if text := _text_of(path):
            if flags & _WRITING:
                self._mirror.change(text, replaced=bool(flags & os.O_TRUNC))
            else:
                self._mirror.touch(text)

    def looked_at(self, path: Any, *_more: Any) -> None:
        """Something is read or listed."""
        if text := _text_of(path):
            self._mirror.touch(text)

    def changed(self, path: Any, *_more: Any) -> None:
        """Something is made or changed."""
        if text := _text_of(path):
            self._mirror.change(text)

    def removed(self, path: Any, *_more: Any) -> None:
        """Something is removed, with all below it."""
        if text := _text_of(path):
            self._mirror.change(text, removed=True)

    def moved(self, source: Any, target: Any, *_more: Any) -> None:
        """Something gets another path: under its new one it is new, so all of it must be here."""
        if text := _text_of(source):
            self._mirror.change(text, removed=True, deep=True)
        self.changed(target)

    def linked(self, source: Any, target: Any, *_more: Any) -> None:
        """A second name for something."""
        self.looked_at(source)
        self.changed(target)


def _text_of(path: Any) -> str:
    """A path as text; empty for descriptors and other things that name no file."""
    if isinstance(path, Fetching):
        return str(path)
    if isinstance(path, bytes):
        return os.fsdecode(path)
    return path if isinstance(path, str) else ""
