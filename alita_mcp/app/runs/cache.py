"""Cache of results of code that gives the same each time, in memory, for as long as this process lives.

Only for code that is known to give the same each time: it computes, and names nothing that could vary.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections import OrderedDict
from functools import lru_cache, partial

from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.interpreter.code_run import CodeRequest, CodeRun

MAX_BYTES = 16 << 20
MAX_RUNS = 1_000


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STEADY_MODULES = _words(
    "abc array base64 binascii bisect cmath collections colorsys copy csv dataclasses datetime decimal difflib enum "
    "fractions functools graphlib hashlib heapq html io ipaddress itertools json keyword math numbers operator pprint "
    "re statistics string struct textwrap types typing unicodedata urllib.parse xml.etree.ElementTree zlib "
    "__future__"
)
"""Modules that give the same for the same; but for the names below."""
VARYING_NAMES = _words(
    "now today utcnow fromtimestamp astimezone timestamp ctime id hash open eval exec compile globals locals vars dir "
    "getattr breakpoint help memoryview samples kde_random pbkdf2_hmac file_digest open_code FileIO sys os random "
    "time"
)
"""What reads a clock, random numbers, addresses or files, or could reach such a thing; as a name or an attribute."""
_OWN_DUNDERS = frozenset({"__init__", "__name__", "__doc__", "__annotations__", "__post_init__", "__new__"})
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]|\bid=[0-9]")
LARGE_CODE = 4_000
"""Characters; to read more takes a thread."""


class CodeCache:
    """The results used last, bounded in number and bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._runs: OrderedDict[bytes, tuple[CodeRun, int]] = OrderedDict()

    def find(self, key: bytes) -> CodeRun | None:
        """Run of the same request in the same kind of sandbox, if kept, with 0 seconds."""
        if key not in self._runs:
            return None
        self._runs.move_to_end(key)
        return self._runs[key][0].model_copy(update={"seconds": 0.0})

    async def keep(self, key: bytes, request: CodeRequest, run: CodeRun) -> None:
        """Keeps a run that went well, of code that gives the same each time."""
        large = len(request.code) > LARGE_CODE or is_large(run.result)
        if self._max_bytes and not await off_loop(partial(_varies, request, run), large=large):
            size = await off_loop(partial(_size, request, run), large=large)
            if size <= self._max_bytes // 4:
                self._keep(key, run, size)

    def _keep(self, key: bytes, run: CodeRun, size: int) -> None:
        self._bytes += size - self._runs.pop(key, (run, 0))[1]
        self._runs[key] = run, size
        while self._bytes > self._max_bytes or len(self._runs) > MAX_RUNS:
            self._bytes -= self._runs.popitem(last=False)[1][1]


def request_key(request: CodeRequest, sandbox: str) -> bytes:
    """Digest of a request, in its order, and the kind of sandbox."""
    told = json.dumps([request.model_dump(mode="json"), sandbox])
    return hashlib.sha256(told.encode()).digest()


def _varies(request: CodeRequest, run: CodeRun) -> bool:
    """Whether a run says nothing of the next one of the same code."""
    if not run.ok or run.tools or run.files or request.session or not request.grants.is_pure:
        return True
    said = (run.stdout, run.stderr, str(run.result))
    return any(_ADDRESS.search(text) for text in said) or not is_steady(request.code)


def _size(request: CodeRequest, run: CodeRun) -> int:
    return len(run.model_dump_json()) + len(request.code)


@lru_cache(256)
def is_steady(code: str) -> bool:
    """Whether code surely gives the same each time it runs with the same arguments; no is no claim."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(_is_steady(node) for node in nodes)


def _is_steady(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return all(alias.name in STEADY_MODULES for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.module in STEADY_MODULES and all(_is_plain(alias.name) for alias in node.names)
    if isinstance(node, ast.Attribute):
        return _is_plain(node.attr)
    return not isinstance(node, ast.Name) or _is_plain(node.id)


def _is_plain(name: str) -> bool:
    return name not in VARYING_NAMES and (not name.startswith("__") or name in _OWN_DUNDERS)
