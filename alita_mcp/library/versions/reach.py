"""What the code of a tool can reach where no sandbox confines it, as far as its text says."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence

from alita_mcp.syntax import module_tree

_FILES, _NETWORK, _PROCESSES, _CODE = "files", "the network", "processes", "running text as code"
_MODULES = {
    "os": f"{_FILES}, {_PROCESSES}, environment variables with their secrets",
    "asyncio": f"{_NETWORK}, {_PROCESSES}",
    "ctypes": "all memory of the process",
    **dict.fromkeys(
        ("dbm", "fileinput", "glob", "io", "linecache", "mmap", "pathlib", "shelve", "shutil", "sqlite3",
         "tarfile", "tempfile", "zipfile"),
        _FILES,
    ),
    **dict.fromkeys(
        ("ftplib", "http", "imaplib", "poplib", "smtplib", "socket", "socketserver", "ssl", "urllib", "xmlrpc"),
        _NETWORK,
    ),
    **dict.fromkeys(("concurrent", "multiprocessing", "pty", "signal", "subprocess"), _PROCESSES),
    **dict.fromkeys(("builtins", "code", "importlib", "marshal", "pickle", "runpy"), _CODE),
    **dict.fromkeys(("getpass", "netrc", "pwd"), "accounts and passwords"),
}  # fmt: skip
_BUILTINS = {"open": _FILES, **dict.fromkeys(("eval", "exec", "compile", "__import__"), _CODE)}
_HOST = re.compile(r"\b(?:https?|ftps?|wss?)://([A-Za-z0-9.-]+)")
_PATH = re.compile(r"(?:~|\.{1,2}|[A-Za-z]:)?[/\\][\w.~/\\ -]{1,100}", re.ASCII)
_SHOWN = 20
"""So many hosts and paths are named."""


def describe_reach(code: str, packages: Sequence[str]) -> list[str]:
    """In a line each: imports and what they lead to, packages, functions, hosts and paths that the code names."""
    nodes = list(ast.walk(module_tree(code)))
    imports = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imports |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    modules = {name.partition(".")[0] for name in imports} - {"__future__"}
    called = {node.id for node in nodes if isinstance(node, ast.Name)} & _BUILTINS.keys()
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = {
        "Imports": [f"`{name}`{_reach_of(name)}" for name in sorted(modules)],
        "Packages": [f"`{each}`" for each in packages],
        "Functions": [f"`{name}` ({_BUILTINS[name]})" for name in sorted(called)],
        "Hosts": sorted({f"`{host}`" for text in texts for host in _HOST.findall(text)})[:_SHOWN],
        "Paths": sorted({f"`{text}`" for text in texts if _PATH.fullmatch(text)})[:_SHOWN],
    }
    return [f"{what}: {', '.join(names) or 'none'}." for what, names in found.items()]


def _reach_of(module: str) -> str:
    if module in _MODULES:
        return f" ({_MODULES[module]})"
    return "" if module in sys.stdlib_module_names else " (of a package)"
