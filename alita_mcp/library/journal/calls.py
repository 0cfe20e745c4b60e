"""Journal of calls and searches: noted in memory when a call ends, written in batches a moment later.

A crash loses at most the last moments of use; nothing that decides what may run goes this way.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Any, NamedTuple

from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.use import CALLS_KEPT, FOUND_NOTHING, RAN_CODE, CallRow, SearchCount, Use
from alita_mcp.library.clock import now
from alita_mcp.library.private_text import looks_private
from alita_mcp.library.search.answer import SearchAnswer
from alita_mcp.owners import UNIDENTIFIED, ClientIdentity

MAX_QUERY = 200
"""So much of a search is kept."""
LEADS_WITHIN_S = 600.0
"""How long after a search a call of a tool that it showed counts as its outcome."""
MAX_ASKERS = 256
MAX_ASKED = 8
"""Searches of one client that may still lead to a call."""


class _Asked(NamedTuple):
    """A search, and the tools that it showed."""

    at: float
    day: str
    names: frozenset[str]


def words_of_query(query: str) -> str:
    """What may be kept and shown of a query: one line of bounded length; empty where it looks private."""
    shown = "".join(each if each.isprintable() else " " for each in query[:MAX_QUERY])
    words = " ".join(shown.split())
    return "" if looks_private(words) else words


class CallJournal:
    """Buffer of calls on their way to the catalogue, filled on the event loop and written in a worker thread."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._rows: deque[CallRow] = deque(maxlen=CALLS_KEPT)
        self._uses: dict[str, Use] = {}
        self._searches: dict[str, SearchCount] = {}
        self._asked: OrderedDict[ClientIdentity, deque[_Asked]] = OrderedDict()

    @property
    def has_unwritten(self) -> bool:
        """Whether something is noted and not written."""
        return bool(self._rows or self._searches)

    def record(
        self,
        name: str,
        version: int,
        *,
        ok: bool,
        status: str,
        seconds: float,
        sandbox: str,
        code_bytes: int = 0,
        identity: ClientIdentity = UNIDENTIFIED,
        **more: Any,
    ) -> None:
        """Counts and journals one call; on the disk a moment later, at the latest when the library closes.

        `code_bytes` are those of the code that the client need not write again; `identity` tells whose search led here.
        """
        detail = {"status": status, "seconds": round(seconds, 6), "sandbox": sandbox, **more}
        moment = now()
        with self._lock:
            self._rows.append(CallRow(moment, "called", name, version, detail))
            self._uses[name] = self._uses.get(name, Use()) + Use(1, int(not ok), moment, code_bytes)
            self._end_searches(identity, name)

    def _end_searches(self, identity: ClientIdentity, name: str) -> None:
        """Counts the searches of a client that led to a call of this tool."""
        asked = self._asked.get(identity)
        if asked is None:
            return
        oldest = time.monotonic() - LEADS_WITHIN_S
        for each in [each for each in asked if name in each.names or each.at < oldest]:
            asked.remove(each)
            if each.at >= oldest:
                self._count_search(each.day, SearchCount(called=1))

    def _count_search(self, day: str, count: SearchCount) -> None:
        self._searches[day] = self._searches.get(day, SearchCount()) + count

    def record_sandbox_failure(self, name: str, version: int, **detail: Any) -> None:
        """Journals a call that the sandbox failed; the tool is not to blame, so its use does not count."""
        with self._lock:
            self._rows.append(CallRow(now(), "sandbox failed", name, version, detail))

    def record_code(
        self, run: str, *, at: str, status: str, seconds: float, sandbox: str, **more: Any
    ) -> None:
        """Journals one run of code by its id, none of its values: they may be private."""
        detail = {"status": status, "seconds": round(seconds, 6), "sandbox": sandbox, "run": run}
        detail |= {name: value for name, value in more.items() if value}
        with self._lock:
            self._rows.append(CallRow(at, RAN_CODE, None, None, detail))

    def record_search(
        self, query: str, found: SearchAnswer, identity: ClientIdentity = UNIDENTIFIED, *, activity: str = ""
    ) -> None:
        """Counts a client's search, and journals one that found nothing that fits, unless it looks private."""
        if identity != UNIDENTIFIED:  # a person at the command line, whose next command is another process
            moment = now()[:10]
            with self._lock:
                self._count_search(moment, SearchCount(searches=1, matched=int(found.fit != "none")))
                asked = self._asked.setdefault(identity, deque(maxlen=MAX_ASKED))
                asked.append(_Asked(time.monotonic(), moment, frozenset(hit.name for hit in found.results)))
                self._asked.move_to_end(identity)
                if len(self._asked) > MAX_ASKERS:
                    self._asked.popitem(last=False)
        words = words_of_query(query)
        if found.fit != "none" or not words:
            return
        best = found.results[0] if found.results and found.results[0].score else None
        detail = {"query": words, "nearest": best.name if best else "", "score": best.score if best else 0.0}
        detail |= identity.journal_detail | ({"activity": activity} if activity else {})
        with self._lock:
            self._rows.append(CallRow(now(), FOUND_NOTHING, None, None, detail))

    def write_calls(self) -> bool:
        """Writes what is noted, in one transaction; what cannot be written now is kept for the next time.

        Returns:
            Whether there was anything.

        Raises:
            LibraryError: the catalogue cannot be written.
        """
        with self._writing:
            with self._lock:
                rows, uses, searches = list(self._rows), self._uses, self._searches
                self._rows.clear()
                self._uses, self._searches = {}, {}
            if not rows and not searches:
                return False
            try:
                self._catalogue.record_calls(rows, uses, searches.items())
            except BaseException:
                with self._lock:
                    self._rows = deque([*rows, *self._rows], maxlen=CALLS_KEPT)
                    for name, use in uses.items():
                        self._uses[name] = use + self._uses.get(name, Use())
                    for day, count in searches.items():
                        self._count_search(day, count)
                raise
            return True
