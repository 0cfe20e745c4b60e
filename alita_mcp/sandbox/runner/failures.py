"""What an exception of the tool's becomes: its type, its text, the tool's own lines, and the limit that it ran into."""

from __future__ import annotations

import errno
import linecache
import os
from typing import Any

FILE = "tool.py"
MAX_TRACE = 10
_FORKERS = {"_execute_child", "_fork_exec", "_launch", "start"}
_SHARED_MEMORY = "/dev/shm"


def head(status: str, problem: BaseException, limits: dict[str, int] | None = None) -> dict[str, Any]:
    """The outcome as the supervisor hears it."""
    text = _text_of(problem)
    limit = _limit_of(problem, limits) if limits else ""
    return {
        "status": status,
        "error_type": type(problem).__name__[:200],
        "message": f"{text}: hit the limit of {limit}" if limit else text,
        "trace": _trace_of(problem),
    }


def _limit_of(problem: BaseException, limits: dict[str, int]) -> str:
    """The limit that was hit, with its value, where the kernel's word alone would not say."""
    if isinstance(problem, OSError):
        number = problem.errno
        if number == errno.EMFILE:
            return f"{limits['open_files']} open files (open_files)"
        if number == errno.EFBIG:
            return f"{limits['scratch_bytes']} bytes in one file (scratch_bytes)"
        if number == errno.ENOSPC:
            return _full(limits)
        if number != errno.EAGAIN or not _forked(problem):
            return ""
    elif not (isinstance(problem, RuntimeError) and str(problem) == "can't start new thread"):
        return ""
    return f"{limits['processes']} processes and threads (processes)"


def _full(limits: dict[str, int]) -> str:
    scratch = os.statvfs("/tmp")
    if scratch.f_files and not scratch.f_favail:
        return f"{limits['scratch_files']} files and folders in the scratch directory (scratch_files)"
    shared = os.statvfs(_SHARED_MEMORY)
    if scratch.f_bavail and not shared.f_bavail:
        return f"{shared.f_blocks * shared.f_frsize} bytes of shared memory"
    return f"{limits['scratch_bytes']} bytes in the scratch directory (scratch_bytes)"


def _forked(problem: BaseException) -> bool:
    step = problem.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None:
        return False
    frame = step.tb_frame
    line = linecache.getline(frame.f_code.co_filename, step.tb_lineno)
    return frame.f_code.co_name in _FORKERS or "fork" in line


def _text_of(problem: BaseException) -> str:
    try:
        return str(problem)[:2000].encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return "<the exception's text could not be read>"


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
