"""Hints how to keep a program as a tool, where it ran several times, the same but for literals.

No model is asked. A hint names only runs that its reader may read.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict

from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.annotations import NoFunctionError
from alita_mcp.runs.history.function import function_of
from alita_mcp.runs.history.program import program_of
from alita_mcp.runs.history.store import RunStore

AFTER = 3
"""So many runs with different values make a hint."""
MAX_EXAMPLES = 10
"""A tool is proposed with so many runs, the newest with different values."""
MAX_HINTED = 2_000
"""So many programs and owners that got a hint are remembered."""


class RunHints:
    """Remembers runs, and hints once for each program and owner at what could become a tool."""

    def __init__(self, runs: RunStore) -> None:
        self._runs = runs
        self._lock = threading.Lock()
        self._hinted: OrderedDict[tuple[str, str], None] = OrderedDict()

    def add_run(self, run: RecordedRun, owner: str) -> str:
        """Remembers a run of an owner; returns the hint for its answer, empty where there is none. It blocks."""
        program = program_of(run.code)
        key = program.key if program else ""
        self._runs.add_run(run, key, owner)
        # Runs count that ended well and depend on no earlier step; each owner gets one hint about a program.
        if not key or not run.ok or run.session or (owner, key) in self._hinted:
            return ""
        alike = [each for each in self._runs.same_program(key, owner) if each.ok and not each.session]
        different = {_inputs_of(each): each for each in alike}
        if len(different) < AFTER:
            return ""
        shown = list(different.values())[-MAX_EXAMPLES:]
        try:
            found = function_of(shown, "function")
        except NoFunctionError:
            return ""
        with self._lock:
            if not found.varied or (owner, key) in self._hinted:
                return ""
            self._hinted[owner, key] = None
            if len(self._hinted) > MAX_HINTED:
                self._hinted.popitem(last=False)
        ids = json.dumps([each.id for each in shown])
        return (
            f"this program ran {len(different)} times with different values of {', '.join(found.varied)}. To keep it "
            f"as a tool `{found.signature}`, call `synthesize_tool` with a name and from_run {ids}"
        )


def _inputs_of(run: RecordedRun) -> str:
    """What a run was given: its literals and arguments."""
    program = program_of(run.code)
    return json.dumps(
        [[slot.value for slot in program.slots] if program else [], run.arguments], sort_keys=True
    )
