"""Importer of a tool's packages: read-only files on the host, imported from their bytecode.

They look like a folder at the place where other sandboxes mount it. Each file crosses when it is asked for.
"""

from __future__ import annotations

import builtins
import errno
import functools
import io
import json
import marshal
import os
import stat
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType
from typing import Any

Fetch = Callable[[str], str]
_INDEX = "index"


def install(root: str, fetch: Fetch) -> None:
    """Puts the packages at the end of the search path, after the standard library."""
    words = json.loads(fetch(_INDEX))
    tree = Tree(root, words["tree"], fetch)
    sys.path_hooks.insert(0, lambda path: Finder(path, tree, words["natives"]))
    sys.path.append(root)
    _show_files(tree)


class Tree:
    """Tree of files by path; a folder is a dict, a file its size in bytes."""

    def __init__(self, root: str, tree: dict[str, Any], fetch: Fetch) -> None:
        self.root = root
        self._tree = tree
        self._fetch = fetch

    def has(self, path: Any) -> bool:
        """Whether a path lies at the root or below it."""
        try:
            text = os.fspath(path)
        except TypeError:  # a descriptor
            return False
        if not isinstance(text, str) or not text.startswith(self.root):
            return False
        text = os.path.normpath(text)
        return text == self.root or text.startswith(f"{self.root}/")

    def at(self, path: Any) -> Any:
        """The folder or the size of the file at a path below the root.

        Raises:
            OSError: there is none.
        """
        place: Any = self._tree
        for name in self._relative(path).split("/"):
            if not name:
                continue
            if not isinstance(place, dict):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
            if name not in place:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            place = place[name]
        return place

    def data(self, path: Any) -> bytes:
        """The bytes of a file."""
        if isinstance(self.at(path), dict):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        data = self._fetch(f"files/{self._relative(path)}")
        return data.encode("latin-1")

    def code(self, path: str) -> CodeType | None:
        """The code of a module by the path of its source; None: it was not compiled before."""
        data = self._fetch(f"code/{self._relative(path)}")
        return marshal.loads(data.encode("latin-1")) if data else None

    def _relative(self, path: Any) -> str:
        whole: str = os.path.normpath(os.fspath(path))
        return whole[len(self.root) + 1 :]


class Loader(SourceFileLoader):
    """Loader of one module."""

    def __init__(self, fullname: str, path: str, tree: Tree) -> None:
        super().__init__(fullname, path)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        """What was compiled when the packages were prepared, else its source compiled now."""
        code = self._tree.code(self.path)
        return code or compile(self.get_data(self.path), self.path, "exec", dont_inherit=True, optimize=0)

    def get_data(self, path: str) -> bytes:
        """The bytes of a file beside the module."""
        return self._tree.data(path)


class Finder:
    """Finds modules in one folder of the tree; a path entry finder."""

    def __init__(self, path: str, tree: Tree, natives: dict[str, str]) -> None:
        if not tree.has(path):
            raise ImportError("not a folder of packages", path=path)
        self._path = path
        self._tree = tree
        self._natives = natives
        try:
            self._here = tree.at(path)
        except OSError:
            self._here = {}

    def find_spec(self, fullname: str, _target: object = None) -> ModuleSpec | None:
        """The spec of a module here; native ones cannot be had, and say so."""
        name = fullname.rpartition(".")[2]
        if self._path == self._tree.root and name in sys.stdlib_module_names:
            return None
        found = self._here.get(name)
        if isinstance(found, dict) and "__init__.py" in found:
            return self._spec(fullname, f"{self._path}/{name}/__init__.py", [f"{self._path}/{name}"])
        if f"{name}.py" in self._here:
            return self._spec(fullname, f"{self._path}/{name}.py", None)
        if fullname in self._natives:
            wheel = self._natives[fullname]
            message = (
                f"{fullname} is native code of {wheel}, which the embedded sandbox cannot run: "
                "install Docker or bubblewrap, or write the tool without it"
            )
            raise ImportError(message, name=fullname, path=wheel)
        if isinstance(found, dict):
            spec = ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [f"{self._path}/{name}"]
            return spec
        return None

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """The modules here, for `pkgutil`."""
        for name, found in sorted(self._here.items()):
            if isinstance(found, dict):
                if "__init__.py" in found:
                    yield prefix + name, True
            elif name.endswith(".py") and name != "__init__.py":
                yield prefix + name[:-3], False

    def _spec(self, fullname: str, path: str, places: list[str] | None) -> ModuleSpec | None:
        loader = Loader(fullname, path, self._tree)
        return spec_from_file_location(fullname, path, loader=loader, submodule_search_locations=places)


class Entry:
    """Directory entry, as `os.scandir` gives it."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        self.path = os.path.join(folder, name)

    def __fspath__(self) -> str:
        """Its path."""
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.stat().st_mode)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return not self.is_dir()

    def is_symlink(self) -> bool:
        """False: there are none."""
        return False

    def is_junction(self) -> bool:
        """False: there are none."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Its size and kind."""
        return os.stat(self.path)


class Listing(list[Entry]):
    """Listing, as `os.scandir` gives it."""

    def __enter__(self) -> Iterator[Entry]:
        """The entries."""
        return iter(self)

    def __exit__(self, *_problem: object) -> None:
        """Nothing is to be closed."""

    def close(self) -> None:
        """Nothing is to be closed."""


def _show_files(tree: Tree) -> None:
    """Lets the functions of the library that read files see those of the packages."""

    def status(path: Any) -> os.stat_result:
        found = tree.at(path)
        folder = isinstance(found, dict)
        mode = stat.S_IFDIR | 0o555 if folder else stat.S_IFREG | 0o444
        return os.stat_result((mode, 0, 0, 1, 0, 0, 0 if folder else found, 0, 0, 0))

    def listed(path: Any) -> list[str]:
        found = tree.at(path)
        if not isinstance(found, dict):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
        return sorted(found)

    def scanned(path: Any) -> Listing:
        return Listing(Entry(os.fspath(path), name) for name in listed(path))

    def opened(path: Any, mode: str = "r", *words: Any, **named: Any) -> Any:
        if set(mode) & set("wax+"):
            raise PermissionError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        file = io.BytesIO(tree.data(path))
        if "b" in mode:
            return file
        return _text(file, *words, **named)

    builtins.open = io.open = _where(tree, opened, io.open)
    os.stat = _where(tree, lambda path, **_words: status(path), os.stat)
    os.lstat = _where(tree, lambda path, **_words: status(path), os.lstat)
    os.access = _where(
        tree, lambda path, mode, **_words: not mode & os.W_OK and bool(status(path)), os.access
    )
    os.listdir = _where(tree, listed, os.listdir)
    os.scandir = _where(tree, scanned, os.scandir)


def _text(
    file: io.BytesIO, buffering: int = -1, encoding: str | None = None, errors: str | None = None,
    newline: str | None = None, *_words: Any, **_named: Any,
) -> io.TextIOWrapper:  # fmt: skip
    """A file as text; further words as for `open`."""
    del buffering  # all of it is in memory
    return io.TextIOWrapper(file, io.text_encoding(encoding), errors, newline)


def _where(tree: Tree, inside: Callable[..., Any], outside: Callable[..., Any]) -> Any:
    """A function that asks `inside` about what lies in the tree, and `outside` about all else."""

    @functools.wraps(outside)
    def either(path: Any = ".", *words: Any, **named: Any) -> Any:
        return (inside if tree.has(path) else outside)(path, *words, **named)

    for able in (os.supports_dir_fd, os.supports_effective_ids, os.supports_fd, os.supports_follow_symlinks):
        if outside in able:
            able.add(either)
    return either
