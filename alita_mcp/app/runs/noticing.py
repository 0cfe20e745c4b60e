"""Recognition of recurring programs among runs of code, with a hint how to keep one as a tool.

No model is asked, and no result waits for the disk. What comes back is counted over all processes of a home; a line
names only runs that the call can read: the client's own in this process, and those whose values are kept.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache

import anyio
import anyio.to_thread

from alita_mcp.app.learning import ClientIdentity
from alita_mcp.app.runs.recurring import MAX_EXAMPLES, proposal, read_form, with_other_values
from alita_mcp.errors import UsageError
from alita_mcp.library.runs.code_runs import CodeRuns
from alita_mcp.library.runs.marks import KeptRun
from alita_mcp.mining.comparison.likeness import alike
from alita_mcp.mining.comparison.normal_form import normal_form
from alita_mcp.mining.values import NormalForm, NotGeneral
from alita_mcp.runs.recorded_run import RecordedRun

MAX_CLIENTS = 256
"""So many clients' lines are remembered; the one that was silent longest is forgotten first."""
MAX_TOLD = 500
"""So many programs a client."""
MAX_CODE = 10_000
"""Characters; longer programs are remembered and not compared: a tool has one purpose."""
MAX_READ = 256
"""Of so many programs it is remembered what they are compared by."""
THREADS = 2


class Noticing:
    """Remembers runs, and hints once a program and session what could become a tool."""

    def __init__(self, runs: CodeRuns, suggest_after: int) -> None:
        self._runs = runs
        self._suggest_after = suggest_after
        self._threads = anyio.CapacityLimiter(THREADS)
        self._lock = threading.Lock()
        self._told: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    async def noticed(self, run: RecordedRun, identity: ClientIdentity) -> str:
        """Remembers a run; the line for its answer, empty where there is nothing to say."""
        line = await anyio.to_thread.run_sync(self._look, run, identity.key, limiter=self._threads)
        self._runs.write_soon()
        return line

    def _look(self, run: RecordedRun, owner: str) -> str:
        form = form_of(run.code)
        if form is None:
            self._runs.note(run, {}, "", owner)
            return ""
        shape = form.model_dump()
        if not run.ok or self._was_told(owner, form.digest):
            self._runs.note(run, shape, form.digest, owner)
            return ""
        candidates = self._runs.like(shape)
        self._runs.note(run, shape, form.digest, owner)
        like = {form.digest}
        for digest, other in candidates.items():
            known = read_form(other) if digest not in like else None
            if known is not None and alike(form, known):
                like.add(digest)
        different = with_other_values(self._runs.runs_of(like))
        if len(different) < self._suggest_after or like & self._runs.made().keys():
            return ""
        return self._line(different, owner) if self._first_time(owner, like) else ""

    def _was_told(self, owner: str, digest: str) -> bool:
        with self._lock:
            return digest in self._told.get(owner, ())

    def _first_time(self, owner: str, like: set[str]) -> bool:
        """Whether nothing was said of these programs in this session; from now on something was."""
        with self._lock:
            told = self._told.setdefault(owner, OrderedDict())
            self._told.move_to_end(owner)
            first = told.keys().isdisjoint(like)
            told |= dict.fromkeys(like)
            while len(told) > MAX_TOLD:
                told.popitem(last=False)
            while len(self._told) > MAX_CLIENTS:
                self._told.popitem(last=False)
        return first

    def _line(self, different: Sequence[KeptRun], owner: str) -> str:
        whole = self._runs.reachable([kept.id for kept in different], owner)[:MAX_EXAMPLES]
        if not whole:
            return ""
        shown, found = proposal(whole, {kept.id: kept.digest for kept in different})
        if isinstance(found, NotGeneral):
            return ""
        ids = json.dumps([run.id for run in shown])
        times = f"ran {len(different)} times with other values"
        return f"{times}: `synthesize_tool` with from_run {ids}, as `{found.signature}`"


@lru_cache(MAX_READ)
def form_of(code: str) -> NormalForm | None:
    """What programs are compared by; None where one does not parse, or is too long while somebody waits."""
    try:
        return normal_form(code) if len(code) <= MAX_CODE else None
    except UsageError:
        return None
