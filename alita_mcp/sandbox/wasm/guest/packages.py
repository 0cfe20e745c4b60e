"""Packages of a tool: read-only files on the host, in the tree in memory where other sandboxes mount them.

Each crosses when it is asked for. Python's own importer finds the modules among them, and their bytecode.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any

from alita_mcp.sandbox.wasm.guest.scratch.tree import Node

_NATIVE = "native code"
"""The `path` of the error for a module that is missing for this reason."""
Fetch = Callable[[str], str]
"""Gives the bytes of a file on the host, each as one character."""


class PackagedNode(Node):
    """File or folder of packages; what it holds is looked up when it is asked for."""

    __slots__ = ("_fetch", "_held", "_path")

    def __init__(self, fetch: Fetch, path: str, held: Any, parent: Node) -> None:
        """`held` is a dict for a folder, the size for a file."""
        mode = stat.S_IFDIR | 0o555 if isinstance(held, dict) else stat.S_IFREG | 0o444
        super().__init__(mode, parent, owned=False)
        self._fetch, self._path, self._held = fetch, path, held
        if isinstance(held, dict):
            del self.entries
        else:
            del self.content

    def __getattr__(self, name: str) -> Any:
        if name == "entries":
            self.entries = {
                each: PackagedNode(self._fetch, f"{self._path}/{each}", held, self)
                for each, held in sorted(self._held.items())
            }
        elif name == "content":
            self.content = bytearray(self._fetch(f"files{self._path}").encode("latin-1"))
        else:
            raise AttributeError(name)
        return getattr(self, name)

    @property
    def size(self) -> int:
        """Bytes."""
        return self._held if isinstance(self._held, int) else 0

    def status(self) -> os.stat_result:
        """Its size and kind; it has no owner and no times."""
        return os.stat_result((self.mode, 0, 0, 1, 0, 0, self.size, 0, 0, 0))


class NativeModules:
    """Finder of the modules that exist as native code only, which refuses them by name."""

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> None:
        """None for any other module."""
        if fullname in self._names:
            message = (
                f"{fullname} is native code, which the embedded sandbox cannot run: "
                "install Docker or bubblewrap, or write the tool without it"
            )
            raise ImportError(message, name=fullname, path=_NATIVE)


def native_cause(problem: BaseException) -> BaseException:
    """The missing native module behind an error, which packages hide behind advice of their own; else the error."""
    cause: BaseException | None = problem
    while cause is not None and not (isinstance(cause, ImportError) and cause.path == _NATIVE):
        cause = cause.__cause__ or cause.__context__
    return cause or problem


def install(root: str, fetch: Fetch, top: Node) -> None:
    """Puts the packages at the end of the search path, and their files below the folder `top`, which is `/`."""
    index = json.loads(fetch("index"))
    folder = top
    *above, name = root.split("/")[1:]
    for each in above:
        folder.entries[each] = Node(stat.S_IFDIR | 0o555, folder, owned=False)
        folder = folder.entries[each]
    folder.entries[name] = PackagedNode(fetch, "", index["tree"], folder)
    sys.path.append(root)
    sys.meta_path.insert(sys.meta_path.index(PathFinder), NativeModules(index["natives"]))
