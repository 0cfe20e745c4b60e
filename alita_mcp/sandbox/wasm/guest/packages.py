"""Importer of a tool's packages: read-only files on the host, imported from their bytecode.

They are files of the tree in memory, at the place where other sandboxes mount them. Each crosses when it is asked for.
"""

from __future__ import annotations

import json
import marshal
import os
import stat
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType
from typing import Any, NamedTuple

from alita_mcp.sandbox.wasm.guest.scratch.nodes import Node

_INDEX = "index"


class Packages(NamedTuple):
    """Packages below a root; in their tree a folder is a dict, a file its size in bytes."""

    root: str
    tree: dict[str, Any]
    natives: dict[str, str]
    """Modules that exist as native code only, each with the name of its wheel."""
    fetch: Callable[[str], str]

    def member(self, kind: str, path: str) -> bytes:
        """The bytes that the host has for a path: its content (`files`) or its bytecode (`code`)."""
        return self.fetch(f"{kind}/{os.path.normpath(path)[len(self.root) + 1 :]}").encode("latin-1")

    def folder(self, path: str) -> dict[str, Any]:
        """The folder at a path below the root; an empty one where there is none."""
        place: Any = self.tree
        for name in path[len(self.root) :].split("/"):
            if name:
                place = place.get(name) if isinstance(place, dict) else None
        return place if isinstance(place, dict) else {}


def install(root: str, fetch: Callable[[str], str], top: Node) -> None:
    """Puts the packages at the end of the search path, after the standard library, and their files below `/`."""
    packages = Packages(root, **json.loads(fetch(_INDEX)), fetch=fetch)
    sys.path_hooks.insert(0, lambda path: Finder(path, packages))
    sys.path.append(root)
    first, *others = root.split("/")[1:]
    held: Any = packages.tree
    for name in reversed(others):
        held = {name: held}
    top.entries[first] = Packed(packages, f"/{first}", held, top)


class Packed(Node):
    """File or folder of packages; what it holds is looked up when it is asked for."""

    __slots__ = ("_held", "_packages", "_path")

    def __init__(self, packages: Packages, path: str, held: Any, parent: Node) -> None:
        mode = stat.S_IFDIR | 0o555 if isinstance(held, dict) else stat.S_IFREG | 0o444
        super().__init__(mode, 0, parent, owned=False)
        self._packages, self._path, self._held = packages, path, held
        if isinstance(held, dict):
            del self.entries
        else:
            self.size = held
            del self.content

    def __getattr__(self, name: str) -> Any:
        if name == "entries":
            self.entries = {
                each: Packed(self._packages, f"{self._path}/{each}", held, self)
                for each, held in sorted(self._held.items())
            }
        elif name == "content":
            self.content = bytearray(self._packages.member("files", self._path))
        else:
            raise AttributeError(name)
        return getattr(self, name)

    def status(self) -> os.stat_result:
        """Its size and kind; it has no owner and no times."""
        return os.stat_result((self.mode, 0, 0, 1, 0, 0, self.size, 0, 0, 0))


class Loader(SourceFileLoader):
    """Loader of one module."""

    def __init__(self, fullname: str, path: str, packages: Packages) -> None:
        super().__init__(fullname, path)
        self._packages = packages

    def get_code(self, fullname: str) -> CodeType:
        """What was compiled when the packages were prepared, else its source compiled now."""
        if data := self._packages.member("code", self.path):
            code: CodeType = marshal.loads(data)
            return code
        return compile(self.get_data(self.path), self.path, "exec", dont_inherit=True, optimize=0)


class Finder:
    """Finder of modules in one folder of packages; a path entry finder."""

    def __init__(self, path: str, packages: Packages) -> None:
        self._path, self._packages = path, packages
        path = os.path.normpath(path)
        if path != packages.root and not path.startswith(f"{packages.root}/"):
            raise ImportError("not a folder of packages", path=path)
        self._here = packages.folder(path)

    def find_spec(self, fullname: str, _target: object = None) -> ModuleSpec | None:
        """The spec of a module here; native ones cannot be had, and say so."""
        name = fullname.rpartition(".")[2]
        if self._path == self._packages.root and name in sys.stdlib_module_names:
            return None
        found = self._here.get(name)
        if isinstance(found, dict) and "__init__.py" in found:
            return self._spec(fullname, f"{self._path}/{name}/__init__.py", [f"{self._path}/{name}"])
        if f"{name}.py" in self._here:
            return self._spec(fullname, f"{self._path}/{name}.py", None)
        if wheel := self._packages.natives.get(fullname):
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
        loader = Loader(fullname, path, self._packages)
        return spec_from_file_location(fullname, path, loader=loader, submodule_search_locations=places)
