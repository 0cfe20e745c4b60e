"""Snapshots that read only what was touched: always what a fresh look at the file says, and the same objects before."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.library.catalogue import Catalogue
from alita_mcp.library.catalogue_rows import Snapshot
from alita_mcp.library.catalogue_schema import TOUCHING
from alita_mcp.library.files import manifest_of
from alita_mcp.library.use import CallRow, Use
from alita_mcp.values import Grants, Manifest
from tests.library.factory import simple

NAMES = ("alpha", "beta", "gamma")


def manifest(name: str, version: int, *, words: str = "", grants: Grants | None = None) -> Manifest:
    made = manifest_of(simple(name, f"Answer {words} for {name}."), version)
    return made.model_copy(update={"digest": f"{name} {version} {words}", "grants": grants or Grants()})


def publish(catalogue: Catalogue, name: str) -> None:
    known = catalogue.snapshot().entries.get(name)
    version = max(known.versions) + 1 if known else 1
    grants = Grants(network=("example.org",)) if version % 2 else None
    catalogue.publish(manifest(name, version, grants=grants), "seal", "scripted")


def raise_trust(catalogue: Catalogue, name: str) -> None:
    if name in catalogue.snapshot().entries:
        catalogue.publish(manifest(name, 1, words="raised"), "other", "scripted", "raised")


def use(catalogue: Catalogue, name: str) -> None:
    row = CallRow("2026-01-01", "called", name, 1, {})
    catalogue.record_calls([row], {name: Use(1, 1, "2026-01-01"), "nobody": Use(1, 0, "2026-01-01")})


def change(event: str, **detail: str) -> Callable[[Catalogue, str], None]:
    return lambda catalogue, name: void(catalogue.change(event, name, 1, **detail))


def void(_changed: bool) -> None: ...


def purge(catalogue: Catalogue, name: str) -> None:
    catalogue.purge(name)


STEPS: dict[str, Callable[[Catalogue, str], None]] = {
    "publish": publish,
    "raise": raise_trust,
    "use": use,
    "purge": purge,
    "pin": change("pinned"),
    "disable": change("disabled"),
    "enable": change("enabled"),
    "delete": change("deleted"),
    "rollback": change("rolled back"),
    "quarantine": change("quarantined", reason="changed"),
    "evidence": change("passed elsewhere", sandbox="monty", lock=""),
    "approve": change("approved"),
    "revoke": change("revoked"),
    "word": change("worded", text="in other words"),
    "word again": change("worded", text="in still other words"),
    "cache off": change("cache off"),
    "cache on": change("cache on"),
}
moves = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from(NAMES), st.booleans()), max_size=25
)


def seen_afresh(path: Path) -> Snapshot:
    catalogue = Catalogue(path)
    try:
        return replace(catalogue.snapshot(), serial=0)
    finally:
        catalogue.close()


@settings(max_examples=40, deadline=None)
@given(moves)
def test_what_was_touched_brings_a_snapshot_to_what_the_file_says(steps: list[tuple[str, str, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.sqlite3"
        one, other = Catalogue(path), Catalogue(path)
        before = one.snapshot()
        publish(one, "alpha")
        for step, name, elsewhere in steps:
            if step == "rollback" and name not in before.entries:
                continue
            STEPS[step](other if elsewhere else one, name)
            now = one.snapshot()
            assert now.serial > before.serial
            fresh = seen_afresh(path)
            assert replace(now, serial=0) == fresh
            assert list(now.entries) == list(fresh.entries)
            for known in before.entries.keys() & now.entries.keys():
                if before.entries[known] == now.entries[known]:
                    assert before.entries[known] is now.entries[known]
            before = now
        one.close()
        other.close()


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    made = Catalogue(tmp_path / "library.sqlite3")
    made.publish_all([(manifest(name, 1), "seal", "scripted") for name in NAMES])
    return made


def test_every_table_that_a_snapshot_reads_notes_what_was_touched(catalogue: Catalogue) -> None:
    notes = {
        row[0]
        for row in sqlite3.connect(catalogue.path).execute(
            "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'touched%'"
        )
    }
    assert notes == set(TOUCHING)
    catalogue.close()


def test_a_change_that_does_not_come_about_leaves_all_entries_as_they_are(catalogue: Catalogue) -> None:
    before = catalogue.snapshot()
    catalogue.change("cache on", "alpha")
    catalogue.record("looked at", "alpha", 1, {})
    assert catalogue.snapshot().entries is before.entries
    catalogue.change("pinned", "alpha")
    assert catalogue.snapshot().entries is not before.entries
    catalogue.close()


def test_publishing_many_at_once_is_all_or_nothing(catalogue: Catalogue) -> None:
    from alita_mcp.errors import LibraryError

    with pytest.raises(LibraryError):
        catalogue.publish_all(
            [(manifest("delta", 1), "seal", "scripted"), (manifest("alpha", 1), "seal", "scripted")]
        )
    assert sorted(catalogue.snapshot().entries) == sorted(NAMES)
    catalogue.close()


def test_a_tool_that_an_older_process_made_with_an_earlier_clock_stands_in_its_place(
    catalogue: Catalogue,
) -> None:
    catalogue.snapshot()
    db = sqlite3.connect(catalogue.path)
    with db:
        text = manifest("early", 1).model_dump_json()
        db.execute("INSERT INTO tool (name, current, created_at) VALUES ('early', 1, '2000-01-01')")
        db.execute("INSERT INTO version VALUES ('early', 1, ?, 'd', 's', NULL)", (text,))
    db.close()
    assert list(catalogue.snapshot().entries) == ["early", *NAMES]
    catalogue.close()


def test_a_catalogue_of_an_earlier_alita_is_read_whole_and_followed_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite3"
    old = Catalogue(path)
    old.publish(manifest("alpha", 1), "seal", "scripted")
    db = sqlite3.connect(path)
    for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        db.execute(f"DROP TRIGGER {name}")
    db.execute("DROP TABLE touched")
    db.commit()
    now = Catalogue(path)
    assert list(now.snapshot().entries) == ["alpha"]
    db.execute("UPDATE tool SET pinned = 1")
    db.commit()
    db.close()
    assert now.snapshot().entries["alpha"].pinned
    old.close()
    now.close()
