"""Journal of calls and searches: noted in memory when a call ends, written in batches a moment later.

A crash loses at most the last moments of use; nothing that decides what may run goes this way.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.use import CALLS_KEPT, FOUND_NOTHING, RAN_CODE, CallRow, Use
from alita_mcp.library.clock import now
from alita_mcp.library.private_text import looks_private
from alita_mcp.library.search.answer import SearchAnswer
from alita_mcp.owners import UNIDENTIFIED, ClientIdentity

MAX_QUERY = 200
"""So much of a search is kept."""


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

    @property
    def has_unwritten(self) -> bool:
        """Whether something is noted and not written."""
        return bool(self._rows)

    def record(
        self, name: str, version: int, *, ok: bool, status: str, seconds: float, sandbox: str, **more: Any
    ) -> None:
        """Counts and journals one call; on the disk a moment later, at the latest when the library closes."""
        detail = {"status": status, "seconds": round(seconds, 6), "sandbox": sandbox, **more}
        moment = now()
        with self._lock:
            self._rows.append(CallRow(moment, "called", name, version, detail))
            self._uses[name] = self._uses.get(name, Use()).plus(Use(1, int(not ok), moment))

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
        """Journals a search that found nothing that fits; the others, and what looks private, leave nothing."""
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
                rows, uses = list(self._rows), self._uses
                self._rows.clear()
                self._uses = {}
            if not rows:
                return False
            try:
                self._catalogue.record_calls(rows, uses)
            except BaseException:
                with self._lock:
                    self._rows = deque([*rows, *self._rows], maxlen=CALLS_KEPT)
                    for name, use in uses.items():
                        self._uses[name] = use.plus(self._uses.get(name, Use()))
                raise
            return True
