"""Hints how to keep a program as a tool, where it ran several times, the same but for literals.

No model is asked. A hint names only runs that its reader may read.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict, deque

from alita_mcp.library.clock import now
from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.history.annotations import NoFunctionError
from alita_mcp.runs.history.function import function_of
from alita_mcp.runs.history.program import program_of
from alita_mcp.runs.history.store import RunStore
from alita_mcp.values import Value

AFTER = 3
"""So many runs with different values make a hint."""
EXAMPLES = 2
"""So many of them ran in the sandbox: a single result proves nothing."""
MAX_EXAMPLES = 10
"""A tool is proposed with so many runs, the newest with different values."""
MAX_RECURRING = 20
MAX_HINTED = 2_000
"""So many programs and owners that got a hint are remembered."""


class RecurringProgram(Value):
    """Program that ran several times, the same but for literals and arguments."""

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
        self._hinted: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        """Owners, programs, and where these ran: `ok` in the sandbox, `seen` elsewhere."""
        self._recurring: deque[RecurringProgram] = deque(maxlen=MAX_RECURRING)

    def add_run(self, run: RecordedRun, owner: str) -> str:
        """Remembers a run of an owner; returns the hint for its answer, empty where there is none. It blocks."""
        program = program_of(run.code)
        key = program.key if program else ""
        self._runs.add_run(run, key, owner)
        # Each owner gets one hint about a program.
        if not key or not run.ok or run.session or (owner, key, run.status) in self._hinted:
            return ""
        found = self._find_recurring(key, owner)
        if found is None or not self._is_first(owner, key, run.status):
            return ""
        self._recurring.appendleft(found)
        return (
            f"this program ran {found.times} times with different values of {', '.join(found.varied)}. To keep it "
            f"as a tool `{found.signature}`, call `synthesize_tool` with a name and from_run {json.dumps(found.runs)}"
        )

    def add_seen(self, code: str, owner: str) -> str:
        """Remembers a program that ran elsewhere, of which no result is known; returns as `add_run`. It blocks."""
        program = program_of(code)
        if program is None:
            return ""
        run = RecordedRun(id=secrets.token_hex(16), at=now(), status="seen", code=code)
        self._runs.add_run(run, program.key, owner)
        times = len(self._different(program.key, owner))
        if times < AFTER or not self._is_first(owner, program.key, run.status):
            return ""
        return (
            f"this program ran {times} times with different values. To keep it as a tool, send it to `run_code` "
            "with two of them, and with what it reads from files in `arguments`: the answer says how"
        )

    def list_recurring(self) -> list[RecurringProgram]:
        """The programs that came back, of all owners, as they were when they got their hint; the last one first."""
        return list(self._recurring)

    def _find_recurring(self, key: str, owner: str) -> RecurringProgram | None:
        """An owner's program, where its runs make a function."""
        different = self._different(key, owner)
        if len(different) < AFTER or sum(each.ok for each in different) < EXAMPLES:
            return None
        shown = different[-MAX_EXAMPLES:]
        try:
            function = function_of(shown, "function")
        except NoFunctionError:
            return None
        if not function.varied:
            return None
        return RecurringProgram(
            owner=owner,
            times=len(different),
            last=shown[-1].at,
            code=shown[-1].code,
            runs=tuple(each.id for each in shown),
            varied=function.varied,
            signature=function.signature,
        )

    def _different(self, key: str, owner: str) -> list[RecordedRun]:
        """The newest runs of a program with different values, those first of which nothing but the code is known."""
        # Runs count that ended well and depend on no earlier step.
        alike = [each for each in self._runs.same_program(key, owner) if not each.session]
        different: dict[str, RecordedRun] = {}
        for run in (*(each for each in alike if each.status == "seen"), *(each for each in alike if each.ok)):
            inputs = _inputs_of(run)
            different.pop(inputs, None)
            different[inputs] = run
        return list(different.values())

    def _is_first(self, owner: str, key: str, where: str) -> bool:
        """Whether this was hinted never before; it is from now on."""
        with self._lock:
            if (owner, key, where) in self._hinted:
                return False
            self._hinted[owner, key, where] = None
            if len(self._hinted) > MAX_HINTED:
                self._hinted.popitem(last=False)
        return True


def _inputs_of(run: RecordedRun) -> str:
    """What a run was given: its literals and arguments."""
    program = program_of(run.code)
    return json.dumps(
        [[slot.value for slot in program.slots] if program else [], run.arguments], sort_keys=True
    )
