"""Importer of the standard library from compressed bytecode in memory."""

from __future__ import annotations

import importlib.abc
import importlib.util
import marshal
import os
import zlib
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

_LEFT_OUT = {
    "__pycache__", "ctypes", "curses", "ensurepip", "idlelib", "lib-dynload", "pydoc_data", "site-packages",
    "test", "tkinter", "turtle.py", "turtledemo", "venv",
}  # fmt: skip


class Archive(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finder and loader of the modules below a folder, read when it is made."""

    def __init__(self, root: str) -> None:
        self._code: dict[str, bytes] = {}
        self._packages: set[str] = set()
        self._fill(root, "")

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module in it."""
        if fullname not in self._code:
            return None
        return importlib.util.spec_from_loader(fullname, self, is_package=fullname in self._packages)

    def get_code(self, fullname: str) -> CodeType:
        """The module's code."""
        code: CodeType = marshal.loads(zlib.decompress(self._code[fullname]))
        return code

    def get_source(self, fullname: str) -> None:
        """None: it was left where the component was built."""

    def _fill(self, folder: str, prefix: str) -> None:
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name in _LEFT_OUT:
                continue
            if entry.is_dir():
                self._fill(entry.path, f"{prefix}{entry.name}.")
            elif entry.name.endswith(".py"):
                name = prefix + entry.name[:-3]
                if entry.name == "__init__.py":
                    name = prefix[:-1]
                    self._packages.add(name)
                with open(entry.path, "rb") as file:
                    code = compile(file.read(), f"<{name}>", "exec", dont_inherit=True, optimize=0)
                self._code[name] = zlib.compress(marshal.dumps(code), 9)
