"""How tools stand, read when it is asked for: what the file says, at the price of what is asked."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import LibraryError, ToolQuarantined
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.reader import CatalogueReader
from alita_mcp.library.catalogue.schema import TOUCHING
from alita_mcp.library.catalogue.use import CallRow, Use
from alita_mcp.library.rows import CatalogueEntry
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.library.versions.naming import nearest_names
from alita_mcp.values import Grants, Manifest
from tests.library.factory import simple

NAMES = ("alpha", "beta", "gamma")


@contextmanager
def reading(
    path: Path, judged: Callable[[CatalogueEntry], CatalogueEntry] = lambda entry: entry
) -> Iterator[CatalogueReader]:
    tools = CatalogueReader(path, judged)
    try:
        yield tools
    finally:
        tools.close()


def manifest(name: str, version: int, *, words: str = "", grants: Grants | None = None) -> Manifest:
    made = manifest_of(simple(name, f"Answer {words} for {name}."), version)
    return made.model_copy(update={"digest": f"{name} {version} {words}", "grants": grants or Grants()})


def publish(catalogue: Catalogue, name: str) -> None:
    with reading(catalogue.path) as tools:
        known = tools.entry(name)
    version = max(known.versions) + 1 if known else 1
    grants = Grants(network=("example.org",)) if version % 2 else None
    catalogue.publish((manifest(name, version, grants=grants), "seal", "scripted"))


def raise_trust(catalogue: Catalogue, name: str) -> None:
    with reading(catalogue.path) as tools:
        known = tools.entry(name)
    if known:
        catalogue.publish((manifest(name, 1, words="raised"), "other", "scripted"), event="raised")


def use(catalogue: Catalogue, name: str) -> None:
    row = CallRow("2026-01-01", "called", name, 1, {})
    catalogue.record_calls([row], {name: Use(1, 1, "2027-01-01"), "nobody": Use(1, 0, "2026-01-01")})


def change(event: str, **detail: str) -> Callable[[Catalogue, str], None]:
    return lambda catalogue, name: void(catalogue.change(event, name, 1, **detail))


def void(_changed: bool) -> None: ...


def approve(catalogue: Catalogue, name: str) -> None:
    with reading(catalogue.path) as tools:
        known = tools.entry(name)
    if known:
        made = known.manifest
        catalogue.change("approved", name, made.version, digest=made.digest, part="")


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
    "evidence": change("passed elsewhere", sandbox="wasm", lock=""),
    "approve": approve,
    "revoke": change("revoked"),
}
moves = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from(NAMES), st.booleans()), max_size=25
)


def all_entries(tools: CatalogueReader) -> dict[str, CatalogueEntry]:
    """Deleted ones too."""
    return tools.some(NAMES)


def in_lists(entries: Mapping[str, CatalogueEntry]) -> dict[str, tuple[object, ...]]:
    """What decides about the lists that clients see."""
    return {
        name: (made.version, made.digest, made.trust, entry.state, entry.pinned, entry.approved)
        for name, entry in entries.items()
        if (made := entry.manifest)
    }


@pytest.mark.slow
@given(moves)
def test_what_is_read_is_what_the_file_says_after_any_change(steps: list[tuple[str, str, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.sqlite3"
        one, other = Catalogue(path), Catalogue(path)
        with reading(path) as tools:
            publish(one, "alpha")
            before, changes = all_entries(tools), tools.changes()
            for step, name, elsewhere in steps:
                if step == "rollback" and name not in before:
                    continue
                STEPS[step](other if elsewhere else one, name)
                now, changed = all_entries(tools), tools.changes()
                with reading(path) as afresh:
                    assert now == all_entries(afresh)
                alive = [entry for entry in now.values() if entry.state != "deleted"]
                assert list(tools.entries()) == sorted(
                    alive, key=lambda entry: (entry.created_at, entry.name)
                )
                assert tools.names() == sorted(entry.name for entry in alive)
                number, unreviewed = tools.unreviewed()
                assert number == len(unreviewed)
                assert {each.name for each in unreviewed} == {
                    each.name for each in alive if not tools.origin(each.name, each.manifest.version).reviewed
                }
                assert tools.counts() == Counter(entry.state for entry in alive)
                assert (changed.listed > changes.listed) == (in_lists(now) != in_lists(before))
                assert (changed.standing > changes.standing) >= (without_use(now) != without_use(before))
                if step == "use":
                    assert changed == changes
                for known in before.keys() & now.keys():
                    if before[known] == now[known]:
                        assert before[known] is now[known]
                before, changes = now, changed
        one.close()
        other.close()


def without_use(entries: Mapping[str, CatalogueEntry]) -> dict[str, CatalogueEntry]:
    unused = {"calls": 0, "failures": 0, "last_used": None}
    return {name: entry.model_copy(update=unused) for name, entry in entries.items()}


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    made = Catalogue(tmp_path / "library.sqlite3")
    made.publish(*((manifest(name, 1), "seal", "scripted") for name in NAMES))
    yield made
    made.close()


def test_every_table_of_standing_notes_what_was_touched(catalogue: Catalogue) -> None:
    query = "SELECT tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'touched_by%'"
    db = sqlite3.connect(catalogue.path)
    assert {table for (table,) in db.execute(query)} == set(TOUCHING)
    db.close()


def work_of(tools: CatalogueReader, ask: Callable[[CatalogueReader], object]) -> int:
    """How many steps of SQLite's machine an answer takes, which is the same on any computer."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    tools._db.set_progress_handler(count, 1)
    ask(tools)
    tools._db.set_progress_handler(None, 1)
    return steps


ASKED: dict[str, Callable[[CatalogueReader], object]] = {
    "one tool": lambda tools: tools.entry("tool_0007"),
    "one tool again": lambda tools: tools.entry("alpha"),
    "the listed ones": lambda tools: tools.candidates(5, 2),
    "the most used ones": lambda tools: tools.most_used(3),
    "the first ones": lambda tools: next(tools.entries()),
    "names after one": lambda tools: tools.names(after="tool_00", limit=10),
    "changes": lambda tools: tools.changes(),
    "evidence": lambda tools: tools.evidence("alpha", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("asked", ASKED)
def test_what_an_answer_costs_does_not_grow_with_the_library(catalogue: Catalogue, asked: str) -> None:
    costs = []
    for numbers in (range(250), range(250, 1_500)):
        catalogue.publish(*((manifest(f"tool_{number:04}", 1), "seal", "scripted") for number in numbers))
        use(catalogue, "tool_0100")
        with reading(catalogue.path) as tools:
            tools.entry("alpha")
            costs.append(work_of(tools, ASKED[asked]))
    assert 0 < costs[1] < 1.3 * costs[0]


def test_a_change_costs_no_more_in_a_large_library(catalogue: Catalogue) -> None:
    def written(work: Callable[[], object]) -> int:
        before = catalogue._db.total_changes
        work()
        return catalogue._db.total_changes - before

    in_a_small_one = written(lambda: publish(catalogue, "omega"))
    catalogue.publish(*((manifest(f"tool_{number}", 1), "seal", "scripted") for number in range(500)))
    assert written(lambda: publish(catalogue, "delta")) <= in_a_small_one
    assert written(lambda: use(catalogue, "delta")) < 8
    assert written(lambda: catalogue.change("pinned", "delta")) < 12


def test_publishing_many_at_once_is_all_or_nothing(catalogue: Catalogue) -> None:
    with pytest.raises(LibraryError):
        catalogue.publish(
            (manifest("delta", 1), "seal", "scripted"), (manifest("alpha", 1), "seal", "scripted")
        )
    with reading(catalogue.path) as tools:
        assert tools.names() == sorted(NAMES)


def test_a_library_of_an_earlier_alita_is_listed_and_followed_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "library.sqlite3"
    old = Catalogue(path)
    old.publish((manifest("alpha", 1), "seal", "scripted"))
    old.publish((manifest("beta", 1, grants=Grants(model=True)), "seal", "scripted"))
    use(old, "alpha")
    db = sqlite3.connect(path)
    expected = db.execute("SELECT * FROM listing").fetchall()
    for kind, name in db.execute(
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view')"
    ).fetchall():
        db.execute(f"DROP {kind} {name}")
    for table in ("touched", "listing", "listing_changes"):
        db.execute(f"DROP TABLE {table}")
    db.execute("CREATE TABLE touched (at INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)")
    db.execute(
        "CREATE TRIGGER touched_by_UPDATE_of_usage AFTER UPDATE ON usage"
        " BEGIN INSERT INTO touched (name) VALUES (NEW.name); END"
    )
    db.commit()
    now = Catalogue(path)
    assert db.execute("SELECT * FROM listing").fetchall() == expected
    with reading(path) as tools:
        assert [entry.name for entry in tools.entries()] == ["alpha", "beta"]
        before = tools.changes()
        use(old, "alpha")
        assert tools.changes() == before
        db.execute("UPDATE tool SET pinned = 1 WHERE name = 'beta'")
        db.commit()
        assert tools.changes().listed == before.listed + 1
    db.close()
    old.close()
    now.close()


def test_a_damaged_row_is_named_and_hides_no_other(
    catalogue: Catalogue, caplog: pytest.LogCaptureFixture
) -> None:
    db = sqlite3.connect(catalogue.path)
    with db:
        db.execute("UPDATE version SET manifest = 'no JSON' WHERE name = 'beta'")
        db.execute("""UPDATE version SET manifest = '{"name": 1}' WHERE name = 'alpha'""")
    db.close()
    with reading(catalogue.path) as tools:
        assert [entry.name for entry in tools.entries()] == ["gamma"]
        assert "beta is quarantined" in caplog.text
        assert "alpha is quarantined" in caplog.text
        assert list(tools.some(tools.candidates(5, 2))) == ["gamma"]
        assert tools.counts()["quarantined"] == 1
        for name in ("alpha", "beta"):
            with pytest.raises(ToolQuarantined, match=f"{name} is quarantined.*Restore"):
                tools.entry(name)
    catalogue.publish((manifest("beta", 2), "seal", "scripted"))
    with reading(catalogue.path) as tools:
        assert {entry.name for entry in tools.entries()} == {"beta", "gamma"}


def test_a_reader_does_not_wait_for_a_writer(catalogue: Catalogue) -> None:
    writer = sqlite3.connect(catalogue.path, isolation_level=None)
    with reading(catalogue.path) as tools:
        tools._db.execute("PRAGMA busy_timeout = 0")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE tool SET pinned = 1")
        entry = tools.entry("alpha")
        assert entry
        assert not entry.pinned
        assert len(list(tools.entries())) == 3
        assert tools.names_like("alphabet")
        writer.execute("COMMIT")
        changed = tools.entry("alpha")
        assert changed
        assert changed.pinned
    writer.close()


def test_a_reader_never_writes(catalogue: Catalogue) -> None:
    with reading(catalogue.path) as tools, pytest.raises(LibraryError, match="readonly"):
        tools._rows("DELETE FROM tool")


@pytest.mark.parametrize("name", ["", "half\ud800", "nul\0", "ünïcode", "' OR 1 --", "x" * 10_000])
def test_no_name_breaks_a_look_for_it(catalogue: Catalogue, name: str) -> None:
    with reading(catalogue.path) as tools:
        assert tools.entry(name) is None
        assert tools.some([name]) == {}
        assert set(tools.names_like(name)) == set(NAMES)
        assert set(tools.names(after=name)) <= set(NAMES)


def test_names_that_look_alike_are_among_few_of_many(catalogue: Catalogue) -> None:
    catalogue.publish(*((manifest(f"tool_{number:04}", 1), "seal", "scripted") for number in range(900)))
    catalogue.publish((manifest("count_words", 1), "seal", "scripted"))
    with reading(catalogue.path) as tools:
        for said in ("cuont_words", "words_counter", "count_word", "word_count"):
            assert len(tools.names_like(said)) <= 600
        assert nearest_names("tool_0445x", tools.names_like("tool_0445x"))[0] == "tool_0445"
        assert nearest_names("zcount_words", tools.names_like("zcount_words"))[0] == "count_words"
        assert tools.names(after="tool_", limit=2) == ["tool_0000", "tool_0001"]
        assert tools.names(after="tool_0898") == ["tool_0899"]


def test_last_calls_are_read_by_name(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "library.sqlite3")
    for name in ("alpha", "alpha", "beta"):
        publish(catalogue, name)
    catalogue.change("deleted", "beta")
    calls = [
        CallRow(f"2026-11-26T10:00:0{second}+00:00", event, name, 2, {"status": status})
        for second, (name, event, status) in enumerate(
            [("alpha", "called", "ok"), ("alpha", "called", "timeout"), ("beta", "sandbox failed", "")]
        )
    ]
    catalogue.record_calls(calls, {})
    with reading(catalogue.path) as tools:
        last = tools.last_calls(["alpha", "beta", "gamma"])
        assert {name: (row.event, row.detail["status"]) for name, row in last.items()} == {
            "alpha": ("called", "timeout"),
            "beta": ("sandbox failed", ""),
        }
        assert (tools.names(), tools.names(deleted=True)) == (["alpha"], ["alpha", "beta"])
