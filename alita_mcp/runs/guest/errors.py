"""Report of a script's exception: its class, its text and the script's own lines of the traceback."""

from __future__ import annotations

import linecache
import traceback
from typing import Any

MAX_LINES = 30
MAX_TEXT = 4_000


def told(problem: BaseException, code: str, file: str) -> dict[str, Any]:
    """Class, message and traceback of an exception, without frames of files other than the script."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    whole = traceback.TracebackException.from_exception(problem)
    seen: set[int] = set()
    _keep_own(whole, file, seen)
    lines = "".join(whole.format()).splitlines()
    if len(lines) > MAX_LINES:
        left_out = f"  … {len(lines) - MAX_LINES} lines left out …"
        lines = [*lines[: MAX_LINES // 3], left_out, *lines[-(MAX_LINES - MAX_LINES // 3) :]]
    return {
        "type": type(problem).__name__[:200],
        "message": _text(problem)[:MAX_TEXT],
        "trace": _encodable("\n".join(lines))[-2 * MAX_TEXT :],
    }


def _keep_own(told_of: traceback.TracebackException | None, file: str, seen: set[int]) -> None:
    """Takes the frames of other files out of an exception and of those that led to it."""
    while told_of is not None and id(told_of) not in seen:
        seen.add(id(told_of))
        told_of.stack = traceback.StackSummary.from_list(
            [frame for frame in told_of.stack if frame.filename == file]
        )
        for each in told_of.exceptions or []:
            _keep_own(each, file, seen)
        _keep_own(told_of.__cause__, file, seen)
        told_of = told_of.__context__


def _text(problem: BaseException) -> str:
    try:
        return _encodable(str(problem))
    except Exception as worse:
        return f"its text raises {type(worse).__name__}"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
