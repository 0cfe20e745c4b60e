"""Report of a tool's exception: its type, its text, the tool's own lines and the limit that it ran into."""

from __future__ import annotations

import builtins
import errno
import linecache
import os
import sys
from types import ModuleType
from typing import Any

FILE = "tool.py"
MAX_TRACE = 10
MAX_KINDS = 64
MAX_KIND = 300
_MAX_NAMES = 4
_SHARED_MEMORY = "/dev/shm"
_MODULES = sys.modules
_BUILTINS = {
    id(kind): kind.__name__
    for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, BaseException)
}
_mro, _name, _qualname, _module = (
    type.__dict__[word].__get__ for word in ("__mro__", "__name__", "__qualname__", "__module__")
)
"""Read past the metaclass, which is the tool's and may answer anything."""
_content = vars(ModuleType)["__dict__"].__get__


def head(status: str, problem: BaseException, limits: dict[str, int] | None = None) -> dict[str, Any]:
    """Head of the report of a failed call, as the supervisor gets it."""
    try:
        text = str(problem)[:2000].encode("utf-8", "backslashreplace").decode()
    except BaseException:
        text = "<the exception's text could not be read>"
    limit = _limit_of(problem, limits) if limits else ""
    return {
        "status": status,
        "error_type": _plain(_name(type(problem)))[:200],
        "error_kinds": kinds_of(type(problem)) if status == "error" else [],
        "message": f"{text}: hit the limit of {limit}" if limit else text,
        "trace": _trace_of(problem),
    }


def kinds_of(error: type) -> list[str]:
    """Names of an exception's class and of all that it derives from, with their modules; nearest first.

    A class has each name that its own module and the tool give it (`re.error` is `re.PatternError`). Only a builtin is
    called one; a class that is not found where it says that it is has its bare name.
    """
    names: list[str] = []
    for kind in _mro(error)[:MAX_KINDS]:
        if kind is not object:
            names += _names_of(kind)
    return [name[:MAX_KIND] for name in names[:MAX_KINDS]]


def _names_of(kind: type) -> list[str]:
    names, module = _names_in("tool", kind), _own_module(kind)
    if id(kind) in _BUILTINS:
        return [f"builtins.{_BUILTINS[id(kind)]}", *names]
    if module not in {"tool", "builtins"}:
        names = [*_names_in(module, kind), *names]
    inner = _plain(_qualname(kind))
    if module == "tool" and "<" not in inner:
        return names or [f"tool.{inner}"]
    return names or [_plain(_name(kind)).rpartition(".")[2]]


def _own_module(kind: type) -> str:
    try:
        return _plain(_module(kind))
    except (AttributeError, TypeError):  # it has none, or one that is no text
        return ""


def _names_in(module: str, kind: type) -> list[str]:
    try:
        bound = list(_content(_MODULES[module]).items())
        return [f"{module}.{_plain(name)}" for name, value in bound if value is kind][:_MAX_NAMES]
    except BaseException:  # there is no such module, it is none, or its names are no texts
        return []


def _plain(text: str) -> str:
    """A text as just that, whatever class of text the tool made of it."""
    return str.__getitem__(text, slice(MAX_KIND))


def _limit_of(problem: BaseException, limits: dict[str, int]) -> str:
    """The limit that was hit, with its value, where the kernel's word alone would not say."""
    if isinstance(problem, OSError):
        number = problem.errno
        if number == errno.EMFILE:
            return f"{limits['open_files']} open files (open_files)"
        if number == errno.EFBIG:
            return f"{limits['scratch_bytes']} bytes in one file (scratch_bytes)"
        if number == errno.ENOSPC:
            scratch = os.statvfs("/tmp")
            if scratch.f_files and not scratch.f_favail:
                return f"{limits['scratch_files']} files and folders in the scratch directory (scratch_files)"
            shared = os.statvfs(_SHARED_MEMORY) if os.path.exists(_SHARED_MEMORY) else scratch
            if scratch.f_bavail and not shared.f_bavail:
                return f"{shared.f_blocks * shared.f_frsize} bytes of shared memory"
            return f"{limits['scratch_bytes']} bytes in the scratch directory (scratch_bytes)"
    elif isinstance(problem, RuntimeError) and str(problem) == "can't start new thread":
        return f"{limits['processes']} processes and threads (processes)"
    return ""


def _trace_of(problem: BaseException) -> list[str]:
    """The tool's own frames, one line each: the outermost three and the innermost ones."""
    lines = []
    step = problem.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == FILE:
            text = linecache.getline(FILE, step.tb_lineno).strip()
            lines.append(f"{FILE}:{step.tb_lineno} in {code.co_name}: {text}"[:300])
        step = step.tb_next
    if isinstance(problem, SyntaxError) and problem.filename == FILE:
        lines.append(f"{FILE}:{problem.lineno}: {(problem.text or '').strip()}"[:300])
    if len(lines) > MAX_TRACE:
        lines[3 : len(lines) - MAX_TRACE + 4] = [f"… {len(lines) - MAX_TRACE + 1} more"]
    return [line.encode("utf-8", "backslashreplace").decode() for line in lines]
