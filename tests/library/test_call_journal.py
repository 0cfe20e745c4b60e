"""What calls leave behind: written a moment later, together, seen by others, and never lost while the disk refuses."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue import catalogue as catalogue_module
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.use import CALLS_KEPT, CallRow
from alita_mcp.library.journal.calls import CallJournal
from alita_mcp.library.library import Library
from tests.library.factory import accepted, opened


def record(library: Library, *, ok: bool = True, name: str = "slugify", **more: object) -> None:
    status = "ok" if ok else "timeout"
    library.calls.record(name, 1, ok=ok, status=status, seconds=0.5, sandbox="wasm", **more)


async def test_calls_are_counted_and_journalled(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        before = library.tools.changes().standing
        record(library)
        record(library, ok=False)
        record(library, cached=True)
        record(library, name="unknown")
        await library.settle()
        entry = library.entry("slugify")
        assert (entry.calls, entry.failures) == (3, 1)
        assert entry.last_used is not None
        assert library.tools.changes().standing == before
        unknown, cached, timeout, fine = library.journal(4)
        assert (fine.event, fine.name, fine.version) == ("called", "slugify", 1)
        assert timeout.detail == {"status": "timeout", "seconds": 0.5, "sandbox": "wasm"}
        assert cached.detail["cached"] is True
        assert unknown.name == "unknown"
        assert fine.time <= timeout.time <= cached.time


async def test_a_sandbox_that_fails_is_journalled_and_no_use_of_the_tool(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        library.calls.record_sandbox_failure(
            "slugify", 1, error="SandboxBusy", message="full", sandbox="wasm"
        )
        await library.settle()
        assert (library.entry("slugify").calls, library.entry("slugify").failures) == (0, 0)
        row = library.journal(1)[0]
        assert (row.event, row.detail["error"]) == ("sandbox failed", "SandboxBusy")


async def test_the_journal_shows_a_call_at_once_and_other_processes_see_it_soon(home: Path) -> None:
    async with opened(home) as library, opened(home) as other:
        await library.publish(accepted(), expected_version=0)
        record(library)
        assert library.journal(1)[0].event == "called"
        record(library)
        with anyio.fail_after(60):
            while [row.event for row in other.journal(2)] != ["called", "called"]:  # noqa: ASYNC110
                await anyio.sleep(0.02)
            while [entry.calls for entry in other.tools.entries()] != [2]:  # noqa: ASYNC110
                await anyio.sleep(0.02)


async def test_closing_writes_the_last_calls(home: Path) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        record(library)
    async with opened(home) as library:
        assert library.entry("slugify").calls == 1


def test_calls_that_cannot_be_written_are_kept_for_the_next_time(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "library.sqlite3")
    journal = CallJournal(catalogue)
    assert not journal.write_calls()
    catalogue.close()
    for status in ("first", "second"):
        journal.record("slugify", 1, ok=True, status=status, seconds=0.0, sandbox="wasm")
        with pytest.raises(LibraryError):
            journal.write_calls()
        assert journal.has_unwritten
    reopened = Catalogue(tmp_path / "library.sqlite3")
    try:
        journal._catalogue = reopened
        assert journal.write_calls()
        assert [row.detail["status"] for row in reopened.journal(5)] == ["second", "first"]
        assert not journal.has_unwritten
    finally:
        reopened.close()


@pytest.mark.slow
def test_only_the_newest_calls_stay_in_the_journal_and_every_other_event_does(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "library.sqlite3")
    journal = CallJournal(catalogue)
    try:
        catalogue.record("created", None, None, {})
        for _ in range(3):
            for _ in range(CALLS_KEPT // 2):
                journal.record("slugify", 1, ok=True, status="ok", seconds=0.0, sandbox="wasm")
                journal.record_sandbox_failure("slugify", 1)
            journal.write_calls()
        rows = catalogue.journal(100_000)
        assert CALLS_KEPT <= len(rows) < CALLS_KEPT + 600
        assert rows[-1].event == "created"
    finally:
        catalogue.close()


def test_what_waits_is_bounded_and_the_count_is_not(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "library.sqlite3")
    journal = CallJournal(catalogue)
    try:
        for _ in range(CALLS_KEPT + 10):
            journal.record("slugify", 1, ok=False, status="error", seconds=0.0, sandbox="wasm")
        assert len(journal._rows) == CALLS_KEPT
        assert journal._uses["slugify"].failures == CALLS_KEPT + 10
    finally:
        catalogue.close()


def test_lines_of_a_stranger_that_calls_much_displace_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_module, "CALLS_KEPT", 20)
    monkeypatch.setattr(catalogue_module, "TRIM_EVERY", 5)
    with closing(Catalogue(tmp_path / "library.sqlite3")) as catalogue:
        for number in range(60):
            owner = {} if number < 8 else {"owner": "token:a"}
            catalogue.record_calls([CallRow("now", "called", "slugify", 1, {"number": number, **owner})], {})
        kept = [row.detail for row in catalogue.journal(100, "called")]
    assert [each["number"] for each in kept if "owner" not in each] == [*range(7, -1, -1)]
    assert 20 <= len(kept) < 25
    assert kept[0]["number"] == 59
