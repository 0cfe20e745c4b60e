"""What a supervisor keeps of untrusted code: its output and its report. Standard library only: it runs inside."""

from __future__ import annotations

import json
from typing import Any

_STATUSES = {"ok", "error", "bad_result", "load_failed", "memory"}
"""What code may say of itself; the rest is its supervisor's to find."""


class Output:
    """Captured output: the first bytes of stdout (1) and stderr (2) are kept, all are counted."""

    def __init__(self, kept_bytes: int, most_bytes: int) -> None:
        self.kept = {1: bytearray(), 2: bytearray()}
        self.written = {1: 0, 2: 0}
        """Bytes on each stream, those included that are not kept."""
        self._kept_bytes = kept_bytes
        self._most_bytes = most_bytes

    @property
    def is_flood(self) -> bool:
        """Whether more was written than may be."""
        return sum(self.written.values()) > self._most_bytes

    def add(self, stream: int, data: bytes) -> None:
        """Takes a piece."""
        kept = self.kept[stream]
        kept += data[: max(0, self._kept_bytes - len(kept))]
        self.written[stream] += len(data)


def read_report(data: bytes) -> dict[str, Any]:
    """Parses a report, cut to size.

    Raises:
        ValueError: it is none.
    """
    try:
        said = json.loads(data)
        if said["status"] not in _STATUSES:
            raise ValueError(said["status"])
        report: dict[str, Any] = {
            name: str(said.get(name, ""))[:4000] for name in ("status", "error_type", "message")
        }
        report["trace"] = [str(line)[:400] for line in said.get("trace", [])[:10]]
        report["error_kinds"] = [str(name)[:300] for name in said.get("error_kinds", [])[:64]]
    except (TypeError, KeyError, AttributeError, RecursionError) as garbage:
        raise ValueError("it is no report") from garbage
    return report
