"""Workspace of a task: a private folder with copies of a person's files, removed after the run.

What code writes is kept with the run as well, for the person to see.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from alita_mcp.errors import InvalidArguments, LibraryError, UsageError

MAX_FILES = 1_000
MAX_BYTES = 256 << 20
MAX_KEPT_BYTES = 32 << 20
"""Of the files that stay with a run."""
MAX_TEXT_BYTES = 32 << 20
"""Of a file that is passed on as text."""


class Workspace:
    """Copies of a task's files; changes to them do not reach the originals."""

    def __init__(self, folder: Path, keep: Callable[[str, bytes], None] | None = None) -> None:
        """`folder` exists, is empty and belongs to this run alone; `keep` stores a file with the run."""
        self.folder = folder
        self._keep = keep
        self._kept_bytes = 0
        self.names: tuple[str, ...] = ()
        self._given: frozenset[str] = frozenset()
        """The person's own files, which no code replaces."""
        self._bytes = 0

    def fill(self, paths: Sequence[Path], task: str = "") -> None:
        """Copies files and folders, under the names that the task gives them; links are not followed.

        Raises:
            UsageError: one is not there, is no file, has the name of another one, or they are too many or too large.
        """
        size, names = 0, list(self.names)
        for source, given in _find_files(paths):
            name = _name_in(task, source) or given
            size += source.stat().st_size
            if len(names) >= MAX_FILES or size > MAX_BYTES:
                raise UsageError(
                    f"The files exceed the limit of {MAX_FILES:,} files and {MAX_BYTES >> 20} MB.",
                    hint="Name only those that the task is about.",
                )
            target = self.folder / name
            if name in names:
                raise UsageError(
                    f"Two files are named {name!r}.", hint="Put them into one folder, and name the folder."
                )
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            names.append(name)
        self.names, self._given, self._bytes = tuple(names), frozenset(names), size

    def given_files(self) -> dict[str, Path]:
        """The person's own files: where each can be read, by its name."""
        return {name: self.folder / name for name in self.names if name in self._given}

    def add(self, name: str, data: bytes) -> bool:
        """Adds a file that code wrote; False where its name, its size or the disk does not allow it."""
        target = (self.folder / name).resolve()
        is_inside = target.is_relative_to(self.folder.resolve())
        if not is_inside or name in self._given or len(self.names) >= MAX_FILES:
            return False
        self._bytes += len(data)
        if self._bytes > MAX_BYTES:
            return False
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
            self._kept_bytes += len(data)
            if self._keep is not None and self._kept_bytes <= MAX_KEPT_BYTES:
                self._keep(name, data)
        except (OSError, LibraryError):
            # A folder has its name, a file that of its folder, the name is too long, or there is no room.
            return False
        self.names = tuple(dict.fromkeys((*self.names, name)))
        return True

    def add_picture(self, data: bytes, ending: str) -> str:
        """Adds a picture that code drew, under a name of its own; an empty name where that is not possible."""
        number = 1
        while (name := f"figure-{number}.{ending}") in self.names:
            number += 1
        return name if self.add(name, data) else ""

    def path(self, name: str) -> Path:
        """The path of a file of the task.

        Raises:
            InvalidArguments: it is none of them.
        """
        if name not in self.names:
            known = ", ".join(map(repr, self.names[:20])) or "none"
            raise InvalidArguments(f"There is no file {name[:200]!r}. Files of the task: {known}.")
        return self.folder / name

    def text(self, name: str) -> str:
        """A file as text.

        Raises:
            InvalidArguments: it is none of them, or no text.
        """
        place = self.path(name)
        if place.stat().st_size > MAX_TEXT_BYTES:
            raise InvalidArguments(
                f"{name!r} is larger than {MAX_TEXT_BYTES >> 20} MB.", hint="Read it in run_code instead."
            )
        try:
            return place.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidArguments(
                f"{name!r} is not UTF-8 text.",
                hint="read_file extracts its text; run_code can read its bytes.",
            ) from None


def _name_in(task: str, source: Path) -> str:
    """The longest end of a path that a task names, such as `data/a.csv`; empty where it names none."""
    parts = source.absolute().parts[1:]
    names = ("/".join(parts[start:]) for start in range(len(parts)))
    # Not the end of a longer name, nor of an absolute one, which code in the sandbox cannot open.
    return next(
        (name for name in names if re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(name)}(?![\w/-])", task)), ""
    )


def _find_files(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Files and those in folders, each with its name; links in folders are passed over."""
    for path in paths:
        place = path.expanduser()
        if place.is_dir() and not place.is_symlink():
            for each in sorted(place.rglob("*")):
                name = each.relative_to(place)
                steps = (each, *(place / parent for parent in name.parents))
                if each.is_file() and not any(step.is_symlink() for step in steps):
                    yield each, name.as_posix()
        elif place.is_file():
            yield place, place.name
        else:
            raise UsageError(f"{str(path)!r} is not a file or folder.", hint="Check the path.")
