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
from alita_mcp.values import Value

AFTER = 3
"""So many runs with different values make a hint."""
MAX_EXAMPLES = 10
"""A tool is proposed with so many runs, the newest with different values."""
MAX_HINTED = 2_000
"""So many programs and owners that got a hint are remembered."""


class RecurringProgram(Value):
    """Program that ran several times, the same but for literals and arguments."""

    key: str
    owner: str
    times: int
    """How many runs with different values are remembered."""
    last: str
    """When it ran last: ISO 8601, UTC."""
    code: str
    """Of the last run."""
    runs: tuple[str, ...]
    """Ids of the runs that a tool would be made of."""
    varied: tuple[str, ...]
    """Names of the parameters that were not the same in all runs."""
    signature: str
    """Of the function that they amount to."""


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
        # Each owner gets one hint about a program.
        if not key or not run.ok or run.session or (owner, key) in self._hinted:
            return ""
        found = self._find_recurring(key, owner)
        with self._lock:
            if found is None or (owner, key) in self._hinted:
                return ""
            self._hinted[owner, key] = None
            if len(self._hinted) > MAX_HINTED:
                self._hinted.popitem(last=False)
        return (
            f"this program ran {found.times} times with different values of {', '.join(found.varied)}. To keep it "
            f"as a tool `{found.signature}`, call `synthesize_tool` with a name and from_run {json.dumps(found.runs)}"
        )

    def list_recurring(self) -> list[RecurringProgram]:
        """All programs that came back, of all owners, the one that ran last first. It blocks."""
        found = (self._find_recurring(key, owner) for key, owner in self._runs.programs())
        return [each for each in found if each is not None]

    def _find_recurring(self, key: str, owner: str) -> RecurringProgram | None:
        """An owner's program, where its runs make a function."""
        # Runs count that ended well and depend on no earlier step.
        alike = [each for each in self._runs.same_program(key, owner) if each.ok and not each.session]
        different = {_inputs_of(each): each for each in alike}
        if len(different) < AFTER:
            return None
        shown = list(different.values())[-MAX_EXAMPLES:]
        try:
            function = function_of(shown, "function")
        except NoFunctionError:
            return None
        if not function.varied:
            return None
        return RecurringProgram(
            key=key,
            owner=owner,
            times=len(different),
            last=shown[-1].at,
            code=shown[-1].code,
            runs=tuple(each.id for each in shown),
            varied=function.varied,
            signature=function.signature,
        )


def _inputs_of(run: RecordedRun) -> str:
    """What a run was given: its literals and arguments."""
    program = program_of(run.code)
    return json.dumps(
        [[slot.value for slot in program.slots] if program else [], run.arguments], sort_keys=True
    )
