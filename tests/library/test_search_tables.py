"""The search index: equal to the catalogue after every transaction, and made anew where need be."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import LibraryError
from alita_mcp.library.catalogue import search_tables
from alita_mcp.library.catalogue.catalogue import Catalogue
from alita_mcp.library.catalogue.search_tables import prepare, read_documents
from alita_mcp.library.catalogue.use import CallRow, Use
from alita_mcp.library.search import ranking
from alita_mcp.library.search.ranking import rank
from alita_mcp.library.search.reader import SearchReader
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.library.words.documents import compose
from alita_mcp.values import Manifest
from tests.library.factory import PUBLISH_STEPS, opened, publish_six, simple
from tests.library.processes import finish, start
from tests.library.searching import ranked, write

CONTENT = (
    "SELECT d.name, d.hash, t.* FROM document d LEFT JOIN document_text t ON t.rowid = d.id ORDER BY d.name",
    "SELECT count(*) FROM document_text",
    "SELECT * FROM search_total",
)


def manifest(name: str, version: int, about: str) -> Manifest:
    return manifest_of(simple(name, about), version).model_copy(update={"digest": f"{name} {version}"})


def publish(catalogue: Catalogue, name: str, text: str) -> None:
    with closing(sqlite3.connect(catalogue.path)) as db:
        (latest,) = db.execute("SELECT max(version) FROM version WHERE name = ?", (name,)).fetchone()
    catalogue.publish((manifest(name, (latest or 0) + 1, f"Knows {text}."), "seal", "scripted"))


def change(event: str) -> Callable[[Catalogue, str, str], Any]:
    return lambda catalogue, name, text: catalogue.change(event, name, 1, text=text, reason=text)


STEPS: dict[str, Callable[[Catalogue, str, str], Any]] = {
    "publish": publish,
    "purge": lambda catalogue, name, _: catalogue.purge(name),
    **{event: change(event) for event in ("pinned", "disabled", "enabled", "deleted", "quarantined")},
}
TEXTS = st.text(st.characters(codec="utf-8"), max_size=30)
MOVES = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from(["alpha", "beta", "gamma_two"]), TEXTS),
    max_size=20,
)


def contents(path: Path) -> list[list[tuple[Any, ...]]]:
    """All that the tables hold, which agrees with the full text."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO document_text (document_text, rank) VALUES ('integrity-check', 1)")
        assert not db.execute("SELECT * FROM unindexed").fetchall()
        return [db.execute(query).fetchall() for query in CONTENT]


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with closing(Catalogue(tmp_path / "library.sqlite3")) as made:
        yield made


def found(path: Path, query: str) -> list[str]:
    """Names of the tools that are found by words."""
    with closing(SearchReader(path)) as reader, reader.transaction() as db:
        return [hit.name for hit in rank(db, query).hits]


@given(MOVES)
def test_after_any_changes_the_tables_are_those_that_are_made_anew(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, str, str]]
) -> None:
    path = tmp_path_factory.mktemp("home") / "library.sqlite3"
    with closing(Catalogue(path)) as one, closing(Catalogue(path)) as other:
        for at, (step, name, text) in enumerate(moves):
            STEPS[step](one if at % 2 else other, name, text)
        followed = contents(path)
        with closing(sqlite3.connect(path)) as db:
            documents = read_documents(db, ["alpha", "beta", "gamma_two"])
        assert {row[0]: row[1] for row in followed[0]} == {
            name: each.hash for name, each in documents.items()
        }
        assert one.reindex() == len(documents)
        assert contents(path) == followed


def test_what_a_tool_is_found_by_changes_with_the_tool_in_one_transaction(catalogue: Catalogue) -> None:
    publish(catalogue, "alpha", "zebras")
    assert found(catalogue.path, "a zebra") == ["alpha"]
    with pytest.raises(LibraryError):  # the second is a version that is there, so neither is written
        catalogue.publish(
            *((manifest(name, 1, "Knows giraffes."), "seal", "scripted") for name in ("beta", "alpha"))
        )
    assert found(catalogue.path, "a giraffe") == []
    catalogue.change("disabled", "alpha")
    assert found(catalogue.path, "a zebra") == []


def test_use_and_evidence_leave_the_index_alone(catalogue: Catalogue) -> None:
    def entered() -> list[Any]:
        with closing(sqlite3.connect(catalogue.path)) as db:
            return db.execute("SELECT id FROM document").fetchall()

    publish(catalogue, "alpha", "zebras")
    before = entered()
    catalogue.record_calls([CallRow("now", "called", "alpha", 1, {})], {"alpha": Use(1, 0, "now")})
    catalogue.change("passed elsewhere", "alpha", 1, sandbox="wasm", lock="")
    catalogue.change("pinned", "alpha")
    assert entered() == before


@pytest.mark.process
@pytest.mark.parametrize("step", ["row written", "committed"])
async def test_a_publisher_that_is_killed_leaves_a_tool_that_is_found_or_none(home: Path, step: str) -> None:
    assert step in PUBLISH_STEPS
    await anyio.to_thread.run_sync(finish, start("die", str(home), step, "1"))
    names = {row[0] for row in contents(home / "library.sqlite3")[0]}
    assert names == ({"slugify"} if step == "committed" else set())
    async with opened(home) as library:
        assert {entry.name for entry in library.tools.entries()} == names
        assert set(await library.similar("slug of a title")) == names


@pytest.mark.parametrize("how", ["without the index", "of version 0.1.0", "changed by an earlier alita"])
def test_a_library_that_an_earlier_alita_wrote_is_taken_in_when_it_is_opened(
    catalogue: Catalogue, how: str
) -> None:
    publish(catalogue, "alpha", "zebras")
    publish(catalogue, "beta", "giraffes")
    whole = contents(catalogue.path)
    with closing(sqlite3.connect(catalogue.path)) as db, db:
        if how == "without the index":
            for table in ("document_text", "document", "search_total", "unindexed"):
                db.execute(f"DROP TABLE {table}")
        elif how == "of version 0.1.0":
            db.execute("UPDATE search_total SET version = 1")
            db.execute("CREATE TABLE term (word TEXT PRIMARY KEY, documents INTEGER NOT NULL) WITHOUT ROWID")
            db.execute("DROP TABLE document_text")
            db.execute("CREATE VIRTUAL TABLE document_text USING fts5 (words, content = '')")
        else:  # its triggers are ours, but it does not read what they note
            db.execute("UPDATE version SET manifest = replace(manifest, 'zebras', 'okapis')")
    with closing(Catalogue(catalogue.path)):
        pass
    if how == "changed by an earlier alita":
        assert found(catalogue.path, "okapi") == ["alpha"]
    else:
        assert contents(catalogue.path) == whole


def test_an_index_of_a_later_alita_gets_no_rows_of_ours(catalogue: Catalogue) -> None:
    publish(catalogue, "alpha", "zebras")
    with closing(sqlite3.connect(catalogue.path)) as db:
        with db:
            db.execute("UPDATE search_total SET version = version + 1")
        publish(catalogue, "beta", "giraffes")
        assert db.execute("SELECT name FROM document").fetchall() == [("alpha",)]
        assert db.execute("SELECT name FROM unindexed").fetchall() == [("beta",)]


def corrupt(db: sqlite3.Connection) -> None:
    db.execute("UPDATE document_text_data SET block = x'ff00ff00ff'")


def forget(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM document_text_config")


def scatter(db: sqlite3.Connection) -> None:
    db.execute("DROP TABLE document_text_idx")


def drop(table: str) -> Callable[[sqlite3.Connection], None]:
    return lambda db: void(db.execute(f"DROP TABLE {table}"))


def void(_cursor: sqlite3.Cursor) -> None: ...


DAMAGES = {
    "corrupt": corrupt, "config": forget, "index": scatter,
    **{table: drop(table) for table in ("document", "document_text")},
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_damaged_index_stops_no_publishing_and_is_put_right_by_reindex(
    home: Path, damage: str
) -> None:
    async with opened(home) as library:
        await publish_six(library)
        await library.search("count words", 1)
    with closing(sqlite3.connect(home / "library.sqlite3")) as db, db:
        DAMAGES[damage](db)
    async with opened(home) as library:
        with pytest.raises(LibraryError, match="search index") as told:
            await library.search("count the words of a text", 1)
        assert told.value.hint == "Run `alita tool reindex`."
        await library.publish(simple("archive", "Compress a folder into a zip."), expected_version=0)
        assert await library.reindex() == 7
        assert (await library.search("count the words of a text", 1)).results[0].name == "word_count"
        assert (await library.search("compress a folder", 1)).results[0].name == "archive"
    contents(home / "library.sqlite3")


@pytest.mark.parametrize("damaged", ["{", "[]", "{}", '{"name": "beta", "input_schema": 5}'])
def test_a_damaged_manifest_stops_no_change_and_hides_no_other_tool(
    catalogue: Catalogue, damaged: str
) -> None:
    for name in ("alpha", "beta"):
        publish(catalogue, name, "Counts whales in an ocean.")
    with closing(sqlite3.connect(catalogue.path)) as db, db:
        db.execute("UPDATE version SET manifest = ? WHERE name = 'beta'", (damaged,))
    publish(catalogue, "gamma", "Counts whales in a lake.")
    assert set(found(catalogue.path, "count whales")) == {"alpha", "gamma"}
    assert catalogue.reindex() == 2


def test_an_sqlite_without_full_text_is_refused_with_what_to_do() -> None:
    class Poor(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("'fts5'", "'no such module'"), *values)

    with (
        closing(sqlite3.connect(":memory:", factory=Poor)) as db,
        pytest.raises(LibraryError, match="FTS5") as told,
    ):
        prepare(db)
    assert "Python" in (told.value.hint or "")


def test_a_search_waits_for_no_writer(catalogue: Catalogue) -> None:
    publish(catalogue, "alpha", "zebras")
    with closing(sqlite3.connect(catalogue.path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        db.execute("DELETE FROM document")
        assert found(catalogue.path, "zebra") == ["alpha"]


def test_a_search_sees_nothing_of_what_is_committed_while_it_lasts(catalogue: Catalogue) -> None:
    publish(catalogue, "alpha", "zebras")
    with closing(SearchReader(catalogue.path)) as reader:
        with reader.transaction() as db:
            assert rank(db, "giraffe").hits == ()
            catalogue.change("deleted", "alpha")
            assert [hit.name for hit in rank(db, "zebra").hits] == ["alpha"]
        assert found(catalogue.path, "zebra") == []


def test_in_a_large_library_the_rarest_words_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["dog cat", *["cat"] * 9] * 10
    documents = {str(at): compose("", text) for at, text in enumerate(texts)}
    assert len(ranked("dog cat", documents).hits) == ranking.MAX_HITS
    monkeypatch.setattr(ranking, "MAX_ROWS", 99)
    assert len(ranked("dog cat", documents).hits) == 10
    assert len(ranked("cat", documents).hits) == ranking.MAX_HITS, "one word is always looked for"


def test_an_index_that_was_made_anew_is_never_taken_for_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "documents.sqlite3"
    with closing(SearchReader(path)) as reader:
        for name in ("one", "other"):
            with closing(sqlite3.connect(path)) as db, db:
                search_tables.create(db)
            write(path, {name: compose(name, "zebra")})
            with reader.transaction() as db:
                assert [hit.name for hit in rank(db, "zebra").hits] == [name]
