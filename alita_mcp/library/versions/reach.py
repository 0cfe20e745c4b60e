"""What the code of a tool can reach where no sandbox confines it, as far as its text says."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence

from alita_mcp.syntax import module_tree

_REACHED = {
    "files": "dbm fileinput glob io linecache mmap open os pathlib shelve shutil sqlite3 tarfile tempfile zipfile",
    "the network": "asyncio ftplib http imaplib poplib smtplib socket socketserver ssl urllib xmlrpc",
    "processes": "asyncio concurrent ctypes multiprocessing os pty signal subprocess",
    "passwords and the environment": "getpass netrc os pwd",
    "code that text becomes": "__import__ builtins code compile ctypes eval exec importlib marshal pickle runpy",
}
"""What modules and built-in functions lead to."""
_FUNCTIONS = {"__import__", "compile", "eval", "exec", "open"}
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
    functions = {node.id for node in nodes if isinstance(node, ast.Name)} & _FUNCTIONS
    texts = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    found = {
        "Imports": map(_with_reach, sorted(modules)),
        "Packages": [f"`{each}`" for each in packages],
        "Functions": map(_with_reach, sorted(functions)),
        "Hosts": sorted({f"`{host}`" for text in texts for host in _HOST.findall(text)})[:_SHOWN],
        "Paths": sorted({f"`{text}`" for text in texts if _PATH.fullmatch(text)})[:_SHOWN],
    }
    return [f"{what}: {', '.join(names) or 'none'}." for what, names in found.items()]


def _with_reach(name: str) -> str:
    reached = [what for what, names in _REACHED.items() if name in names.split()]
    if name not in sys.stdlib_module_names | _FUNCTIONS:
        reached = ["whatever its package does"]
    return f"`{name}` ({', '.join(reached)})" if reached else f"`{name}`"
