"""Recognition of programs that ran several times, the same but for literals, with a hint how to keep one as a tool.

No model is asked. A hint names only runs that its reader may read.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict

from alita_mcp.runs.history.annotations import NoFunctionError
from alita_mcp.runs.history.function import function_of
from alita_mcp.runs.history.program import program_of
from alita_mcp.runs.history.run import RecordedRun
from alita_mcp.runs.history.store import RunStore

AFTER = 3
"""So many runs with different values make a hint."""
MAX_EXAMPLES = 10
"""A tool is proposed with so many runs, the newest with different values."""
MAX_HINTED = 2_000
"""So many programs and clients that got a hint are remembered."""


class RunHints:
    """Remembers runs, and hints once a program and client what could become a tool."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add_run(self, run: RecordedRun, owner: str) -> str:
        """Remembers a run; returns the hint for its answer, empty where there is none. It blocks."""
        program = program_of(run.code)
        key = program.key if program else ""
        self._runs.add(run, key, owner)
        if not key or not _counts(run) or (owner, key) in self._told or self._runs.was_made(key):
            return ""
        different = {_values_of(each): each for each in self._runs.same_program(key, owner) if _counts(each)}
        if len(different) < AFTER:
            return ""
        shown = list(different.values())[-MAX_EXAMPLES:]
        try:
            found = function_of(shown, "function")
        except NoFunctionError:
            return ""
        if not found.varied or not self._is_first(owner, key):
            return ""
        ids = json.dumps([each.id for each in shown])
        return (
            f"ran {len(different)} times with other values of {', '.join(found.varied)}: `synthesize_tool` with "
            f"from_run {ids} and a name makes it a tool `{found.signature}`"
        )

    def _is_first(self, owner: str, key: str) -> bool:
        """Whether this client got no hint about the program; from now on it did."""
        with self._lock:
            first = (owner, key) not in self._told
            self._told[owner, key] = None
            if len(self._told) > MAX_HINTED:
                self._told.popitem(last=False)
        return first


def _counts(run: RecordedRun) -> bool:
    """Whether a run shows what its program does: it ended well, and depends on no earlier step."""
    return run.ok and not run.session


def _values_of(run: RecordedRun) -> str:
    """What a run was given: its literals and arguments."""
    program = program_of(run.code)
    return json.dumps(
        [[slot.value for slot in program.slots] if program else [], run.arguments], sort_keys=True
    )
