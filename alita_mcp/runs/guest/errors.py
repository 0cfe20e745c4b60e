"""Description of a script's exception: its class, its message and the script's own lines of the traceback."""

from __future__ import annotations

import linecache
import traceback
from typing import Any

MAX_LINES = 30
MAX_TEXT = 4_000


def describe_error(problem: BaseException, code: str, file: str) -> dict[str, Any]:
    """Class, message and traceback of an exception, without frames of files other than the script."""
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    whole = traceback.TracebackException.from_exception(problem)
    _drop_foreign_frames(whole, file, set())
    lines = "".join(whole.format()).splitlines()
    if len(lines) > MAX_LINES:
        left_out = f"  … {len(lines) - MAX_LINES} lines left out …"
        lines = [*lines[: MAX_LINES // 3], left_out, *lines[-(MAX_LINES - MAX_LINES // 3) :]]
    try:
        message = _encodable(str(problem))
    except Exception as worse:
        message = f"its text raises {type(worse).__name__}"
    return {
        "type": type(problem).__name__[:200],
        "message": message[:MAX_TEXT],
        "trace": _encodable("\n".join(lines))[-2 * MAX_TEXT :],
    }


def _drop_foreign_frames(described: traceback.TracebackException | None, file: str, seen: set[int]) -> None:
    """Takes the frames of other files out of an exception and of those that led to it."""
    while described is not None and id(described) not in seen:
        seen.add(id(described))
        own = [frame for frame in described.stack if frame.filename == file]
        described.stack = traceback.StackSummary.from_list(own)
        for each in described.exceptions or []:
            _drop_foreign_frames(each, file, seen)
        _drop_foreign_frames(described.__cause__, file, seen)
        described = described.__context__


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
