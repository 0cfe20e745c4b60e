"""Description of a script's exception: its class, its message and the script's own lines of the traceback."""

from __future__ import annotations

import traceback
from typing import Any

MAX_LINES = 30
MAX_TEXT = 4_000


def describe_error(problem: BaseException, script: str) -> dict[str, Any]:
    """Class, message and traceback of an exception, without frames of files whose name does not begin as a script's."""
    whole = traceback.TracebackException.from_exception(problem)
    _drop_foreign_frames(whole, script, set())
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


def _drop_foreign_frames(described: traceback.TracebackException | None, script: str, seen: set[int]) -> None:
    """Takes the frames of other files out of an exception and of those that led to it."""
    while described is not None and id(described) not in seen:
        seen.add(id(described))
        own = [frame for frame in described.stack if frame.filename.startswith(script)]
        described.stack = traceback.StackSummary.from_list(own)
        for each in described.exceptions or []:
            _drop_foreign_frames(each, script, seen)
        _drop_foreign_frames(described.__cause__, script, seen)
        described = described.__context__


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
