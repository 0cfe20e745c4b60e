"""What the embedded interpreter lacks compared with CPython: code or one of its errors in, the missing feature out.

The interpreter reports a feature that it does not have in the same way as a tool's own mistake. Telling them apart
decides between "this tool is wrong" and "this tool needs another sandbox".
"""

from __future__ import annotations

import builtins
import importlib
import re
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from alita_mcp.sandbox.abilities import Missing

MODULES = frozenset({
    "asyncio", "base64", "binascii", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal",
    "functools", "hashlib", "itertools", "json", "math", "os", "pathlib", "posixpath", "random", "re", "string", "sys",
    "time", "tomllib", "typing", "unicodedata",
})  # fmt: skip
"""Standard modules that the interpreter has, at least in part; safe to import here to see what CPython's offer."""

_IN_ITS_PLACE = "write what you need of it in plain Python"
LACKS = (
    Missing(
        feature="other modules", names=tuple(sorted(sys.stdlib_module_names - MODULES)), instead=_IN_ITS_PLACE
    ),
    Missing(
        feature="class inheritance, your own exception classes and metaclasses",
        syntax=("ClassDef.bases", "ClassDef.keywords"),
        instead="use plain classes, dataclasses and functions, and raise ValueError",
    ),
    Missing(
        feature="generators (yield)", syntax=("Yield", "YieldFrom"), instead="build a list and return it"
    ),
    Missing(feature="del", syntax=("Delete",), instead="use dict.pop(), list.pop(), or leave it out"),
    Missing(
        feature="async for, async with and async comprehensions",
        syntax=("AsyncFor", "AsyncWith", "comprehension.is_async"),
        instead="await each value in a plain loop",
    ),
    Missing(feature="except*", syntax=("TryStar",), instead="use except"),
    Missing(feature="packages", asks="packages", instead="use the modules named above"),
    Missing(
        feature="grants (network, workspace, a model, other tools, secrets): grants need Docker or bubblewrap",
        asks="grants",
        instead="take what the tool works on as an argument",
    ),
)
"""What can be seen in the code before it runs; a part of a module that is missing shows when it is used."""

_NO_GRAMMAR = "The monty syntax parser does not yet support "
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
_NO_ATTRIBUTE = re.compile(r"(?:(module|type object) '([\w.]+)'|'([\w.]+)' object) has no attribute '(\w+)'")
_NO_BUILTIN = re.compile(r"name '(\w+)' is not defined")
_NOT_YET = re.compile(r"not yet support|not supported by Monty|Internal error in monty", re.IGNORECASE)


class Frame(Protocol):
    """The part of the interpreter's traceback frames that is read here."""

    @property
    def line(self) -> int: ...  # noqa: D102
    @property
    def column(self) -> int: ...  # noqa: D102
    @property
    def function_name(self) -> str | None: ...  # noqa: D102
    @property
    def source_line(self) -> str | None: ...  # noqa: D102


_MISPLACED = re.compile("outside (loop|function|async function)|not properly in loop|must be last")
"""What CPython refuses too, though its parser does not."""


def missing_feature(error: BaseException, frames: Sequence[Frame]) -> str | None:
    """Names what CPython has and the interpreter lacks, when that is why the code failed; else None."""
    text = str(error)
    innermost = frames[-1] if frames else None
    if isinstance(error, SyntaxError):
        if _MISPLACED.search(text):
            return None
        return f"this syntax ({_first_line(error)})"
    if text.startswith(_NO_GRAMMAR) and innermost is not None and innermost.function_name is None:
        return text.removeprefix(_NO_GRAMMAR)
    if innermost is not None and _is_own_raise(innermost):
        return None
    return _missing_name(error, text) or (_first_line(error) if _NOT_YET.search(text) else None)


def _missing_name(error: BaseException, text: str) -> str | None:
    match error:
        case ModuleNotFoundError():
            return _missing_module(text)
        case ImportError():
            return _missing_import(text)
        case AttributeError():
            return _missing_attribute(text)
        case NameError():
            found = _NO_BUILTIN.fullmatch(text)
            return f"the built-in {found[1]!r}" if found and hasattr(builtins, found[1]) else None
    return None


def _missing_module(text: str) -> str | None:
    found = _NO_MODULE.fullmatch(text)
    is_standard = found is not None and found[1].partition(".")[0] in sys.stdlib_module_names
    return f"the module {found[1]!r}" if found and is_standard else None


def _missing_import(text: str) -> str | None:
    found = _NO_NAME.match(text)
    if not found or found[2] not in MODULES:
        return None
    return f"{found[2]}.{found[1]}" if hasattr(importlib.import_module(found[2]), found[1]) else None


def _missing_attribute(text: str) -> str | None:
    found = _NO_ATTRIBUTE.match(text)
    if not found:
        return None
    owner = found[2] or found[3]
    known = _module(owner) if found[1] == "module" else _type(owner)
    return (
        f"{owner}.{found[4]} as it is used here" if known is not None and hasattr(known, found[4]) else None
    )


def _module(name: str) -> Any:
    return importlib.import_module(name) if name in MODULES else None


def _type(name: str) -> Any:
    """CPython's type of a name as the interpreter writes it: `str`, `re.Match`, `collections.deque`, `Counter`."""
    module, _, plain = name.rpartition(".")
    for place in (_module(module),) if module else (builtins, _module("collections")):
        if isinstance(found := getattr(place, plain, None), type):
            return found
    return None


def _is_own_raise(frame: Frame) -> bool:
    line = frame.source_line or ""
    before = line[: max(frame.column - 1, 0)].rstrip()
    return before.endswith("raise") or line[max(frame.column - 1, 0) :].startswith("raise")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]
