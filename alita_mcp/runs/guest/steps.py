"""Loop of a session: asks the host for one step after the other and runs each in the same module.

Standard library only. What a step prints is kept here, since the runner outside sees one call that goes on for long.
"""

from __future__ import annotations

import io
import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

NEXT_STEP = "session.next"
KEPT = 64 << 10
"""So much of stdout and of stderr is kept of a step; sixteen times as much ends the step."""
FLOOD = 16 * KEPT
PIECE = 400_000
"""Characters of an outcome in one question, which may have 1 MB; a quote takes two of them there."""
Step = Callable[[types.ModuleType, str, dict[str, Any]], dict[str, Any]]


class OutputFlood(BaseException):
    """Error of a step that prints without an end."""


class CapturedStream(io.BufferedIOBase):
    """Captured output of a step on one stream; its beginning is kept."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._file = _open_file_in_place_of(descriptor)
        self._data = bytearray()
        self._written = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def fileno(self) -> int:
        """Where processes that a step starts write to."""
        return self._descriptor

    def write(self, data: Any) -> int:
        """Keeps the beginning."""
        self._written += len(data)
        if self._written > FLOOD:
            raise OutputFlood(f"wrote more than {FLOOD} bytes to one stream (16 x output_bytes)")
        if self._file is not None:
            return os.write(self._file, data)
        self._data += data[: max(0, KEPT - len(self._data))]
        return len(data)

    def take_text(self) -> str:
        """Takes out what was written since the last call."""
        data, written = bytes(self._data), self._written
        self._data, self._written = bytearray(), 0
        if self._file is not None:
            data, written = os.pread(self._file, KEPT, 0), os.fstat(self._file).st_size
            os.ftruncate(self._file, 0)
            os.lseek(self._file, 0, os.SEEK_SET)
        text = data.decode("utf-8", "replace")
        return f"{text}… ({written - len(data):,} more bytes)" if written > len(data) else text


def serve_steps(module: types.ModuleType, step: Step, describe_error: Callable[[BaseException], Any]) -> None:
    """Runs steps until the host ends the process."""
    ask = vars(sys.modules["alita_tool"])["_ask"]
    out, err = CapturedStream(1), CapturedStream(2)
    for name, kept in (("stdout", out), ("stderr", err)):
        raw: Any = kept
        stream = io.TextIOWrapper(raw, "utf-8", getattr(sys, name).errors, write_through=True)
        setattr(sys, name, stream)
    report = ""
    while True:
        last = max(0, len(report) - 1) // PIECE * PIECE
        for start in range(0, last, PIECE):
            ask(NEXT_STEP, {"piece": report[start : start + PIECE], "more": True})
        order = ask(NEXT_STEP, {"piece": report[last:], "more": False})
        try:
            value = step(module, order["code"], order["arguments"])
        except MemoryError as problem:
            value = {"error": describe_error(problem)}
        report = json.dumps({"value": value, "stdout": out.take_text(), "stderr": err.take_text()})


def _open_file_in_place_of(descriptor: int) -> int | None:
    """Redirects a descriptor to a file, for processes that a step starts; None where it cannot start any."""
    if not hasattr(os, "dup2") or not hasattr(os, "fork"):
        return None
    name = f".stream{descriptor}"
    file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(name)
    os.dup2(file, descriptor)
    return file
