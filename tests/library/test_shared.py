"""A library that several servers share: what one commits, the others know, whatever fails on the way."""

from __future__ import annotations

import queue
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from alita_mcp.errors import LibraryError, NameTaken, ToolQuarantined, ToolUnavailable
from alita_mcp.library.catalogue.shared import CHANNEL, SharedCatalogue
from alita_mcp.library.library import Library
from alita_mcp.library.opening import open_library
from alita_mcp.postgres.database import Database
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.conftest import share_library
from tests.library.factory import (
    SLUGIFY_EXAMPLES,
    accepted,
    events,
    found,
    no_starters,
    opened,
    simple,
    version_folder,
    write_version_folder,
)
from tests.library.processes import finish, start
from tests.postgres_cluster import PostgresServer

SHARED_STEPS = (
    "claimed",
    "row written",
    "sent",
    "committed",
    "staged",
    "wrote tool.py",
    "renamed",
    "in place",
)
"""What publishing and raising do, in order; the copy of the files comes last, and of writing them one step is here."""
COMMITTED = SHARED_STEPS[3:]
ASKING = Grants(network=("example.org",))

pytestmark = [pytest.mark.postgres, pytest.mark.extra("team")]


@pytest.fixture
def store() -> str:
    return "postgres"


@pytest.fixture
def other_home(tmp_path: Path, postgres_url: str) -> Path:
    """The home of a second server."""
    share_library(tmp_path / "other", postgres_url)
    return tmp_path / "other"


async def test_what_one_server_publishes_the_other_announces_reads_and_counts(
    home: Path, other_home: Path
) -> None:
    with anyio.fail_after(60):
        async with opened(home) as one, opened(other_home) as two:
            announced = anyio.Event()
            two.on_change(announced.set)
            manifest = await one.publish(accepted(), expected_version=0)
            await announced.wait()
            assert two.entry("slugify").manifest == manifest
            assert (await two.read("slugify")).draft == accepted().draft
            for library in (one, two):
                library.calls.record("slugify", 1, ok=True, status="ok", seconds=0.1, sandbox="scripted")
                await library.settle()
            await one.look_again()
            assert one.entry("slugify").calls == 2
            assert events(one) == events(two) == ["created", "published", "called", "called"]


@pytest.fixture
def no_notices(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server hears of another one."""
    monkeypatch.setattr(Database, "listen", lambda *_: None)


@pytest.mark.usefixtures("no_notices")
async def test_a_tool_is_found_by_its_name_before_any_notice(home: Path, other_home: Path) -> None:
    async with opened(home) as one, opened(other_home) as two:
        for number in range(20):
            await one.publish(simple(f"tool_{number}"), expected_version=0)
            assert (await two.find_entry(f"tool_{number}")).name == f"tool_{number}"


@pytest.mark.usefixtures("no_notices")
async def test_the_loser_of_a_name_sees_what_took_it(home: Path, other_home: Path) -> None:
    async with opened(home) as one, opened(other_home) as two:
        await one.publish(accepted(), expected_version=0)
        with pytest.raises(NameTaken, match="at v1 already"):
            await two.publish(simple("slugify"), expected_version=0)
        assert (await two.read("slugify")).draft == accepted().draft


def mirror_of(library: Library) -> SharedCatalogue:
    catalogue = library._store.catalogue
    assert isinstance(catalogue, SharedCatalogue)
    return catalogue


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    with closing(Database(postgres_url)) as opened_database:
        yield opened_database


async def test_a_home_of_the_other_kind_is_refused(home: Path, tmp_path: Path, postgres_url: str) -> None:
    async with opened(home):
        pass
    (home / "alita.toml").unlink()
    with pytest.raises(LibraryError, match=r"copy of a shared library.*ALITA_LIBRARY"):
        async with opened(home):
            pass
    alone = tmp_path / "alone"
    async with opened(alone) as library:
        await library.publish(accepted(), expected_version=0)
    with pytest.raises(LibraryError, match=r"holds another library.*alita library copy"):
        async with open_library(Settings(home=alone, library=postgres_url), starters=no_starters):
            pass
    async with opened(alone) as library:
        assert library.entry("slugify").state == "enabled"


async def test_a_home_is_made_anew_for_another_library(home: Path, postgres_server: PostgresServer) -> None:
    async with opened(home) as library:
        await library.publish(accepted(), expected_version=0)
        library.calls.record("slugify", 1, ok=True, status="ok", seconds=0.1, sandbox="scripted")
    another = postgres_server.make_database()
    async with open_library(Settings(home=home, library=another), starters=no_starters) as library:
        assert library.tools.names() == []
        assert events(library) == ["created"]
        await library.publish(accepted(description="Another."), expected_version=0)
        assert (await library.read("slugify")).draft.description == "Another."
        assert library.entry("slugify").calls == 0
    postgres_server.drop_database(another)
    async with opened(home) as library:
        assert (await library.read("slugify")).draft == accepted().draft
        assert library.entry("slugify").calls == 1
        assert events(library) == ["created", "published", "called"]


async def test_what_commits_late_is_seen_although_its_number_is_lower(home: Path, database: Database) -> None:
    async with opened(home) as library:
        with database.transaction() as slow:
            slow.execute("INSERT INTO journal (time, event, detail) VALUES ('', 'slow', '{}')")
            await library.record("fast", None, {})
            await library.look_again()
            assert events(library) == ["created", "fast"]
        await library.record("later", None, {})
        assert events(library) == ["created", "slow", "fast", "later"]


@pytest.mark.process
async def test_of_eight_servers_each_name_has_one_winner(tmp_path: Path, postgres_url: str) -> None:
    names = [f"tool_{number}" for number in range(25)]
    homes = [tmp_path / f"server_{number}" for number in range(8)]
    for home in homes:
        share_library(home, postgres_url)
    with anyio.fail_after(240):
        racers = [start("race_for_many", str(home), ",".join(names)) for home in homes]
        for racer in racers:
            assert await anyio.to_thread.run_sync(racer.read_line) == "ready"
        for racer in racers:
            racer.send_line("go")
        ends = [await anyio.to_thread.run_sync(racer.wait) for racer in racers]
    assert [status for status, _ in ends] == [0] * 8, ends
    won = [list(filter(None, said.strip().split(","))) for _, said in ends]
    assert sorted(name for each in won for name in each) == sorted(names)
    async with opened(homes[0]) as library:
        for racer, mine in zip(racers, won, strict=True):
            for name in mine:
                assert repr(str(racer.pid)) in (await library.read(name)).code


async def test_the_steps_are_those_that_are_written_down(home: Path) -> None:
    done: list[str] = []
    weak = accepted(examples=SLUGIFY_EXAMPLES[:2], trust="provisional")
    async with opened(home, done.append) as library:
        done.clear()
        await library.publish(weak, expected_version=0)
        assert [step for step in done if step in SHARED_STEPS[:4]] == list(SHARED_STEPS[:4])
        assert set(SHARED_STEPS) <= set(done)
        done.clear()
        await library.raise_trust(accepted(), await library.read("slugify"))
        assert [step for step in done if step in SHARED_STEPS[:4]] == list(SHARED_STEPS[:4])
        assert set(SHARED_STEPS) <= set(done)


@pytest.mark.process
@pytest.mark.parametrize("step", SHARED_STEPS)
async def test_a_server_killed_while_it_publishes_leaves_a_whole_tool_or_none(
    home: Path, other_home: Path, step: str
) -> None:
    with anyio.fail_after(120):
        async with opened(other_home) as two:
            await anyio.to_thread.run_sync(finish, start("die", str(home), step, "1"))
            await two.look_again()
            assert two.tools.names() == (["slugify"] if step in COMMITTED else [])
            async with opened(home) as one:
                assert one.tools.names() == two.tools.names()
                assert events(one) == events(two)
                if step not in COMMITTED:
                    await one.publish(accepted(), expected_version=0)
                    await two.look_again()
                for library in (one, two):
                    assert (await library.read("slugify")).draft == accepted().draft
                    assert (await library.search("url slug", 1)).results[0].name == "slugify"
        assert not found(home, "generated_tools/.staging-*")


@pytest.mark.process
@pytest.mark.parametrize("step", SHARED_STEPS)
async def test_a_server_killed_while_it_raises_a_version_leaves_it_as_it_was_or_raised(
    home: Path, other_home: Path, step: str
) -> None:
    weak = accepted(examples=SLUGIFY_EXAMPLES[:2], trust="provisional")
    with anyio.fail_after(120):
        async with opened(other_home) as two:
            await two.publish(weak, expected_version=0)
            await anyio.to_thread.run_sync(finish, start("raise_and_die", str(home), step))
            await two.look_again()
            # the later steps are those of its first reading, which copies the files
            expected = "verified" if step == "committed" else "provisional"
            assert (await two.read("slugify")).manifest.trust == expected
        async with opened(home) as one:
            assert (await one.read("slugify")).manifest.trust == expected
            assert one.entry("slugify").state == "enabled"


async def test_of_two_servers_that_approve_the_same_one_does_and_the_other_is_told(
    home: Path, other_home: Path
) -> None:
    outcomes: list[str] = []

    async def approve(library: Library) -> None:
        try:
            await library.approve("slugify", once=True)
            outcomes.append("approved")
        except ToolUnavailable as told:
            outcomes.append(told.message)

    async with opened(home) as one, opened(other_home) as two:
        await one.publish(accepted(grants=ASKING), expected_version=0)
        await two.look_again()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(approve, one)
            tasks.start_soon(approve, two)
        assert sorted(outcomes) == ["approved", "slugify v1 was approved already; nothing was changed."]
        for library in (one, two):
            await library.look_again()
            assert library.callable_entry("slugify").approved
            assert events(library).count("approved") == 1


async def test_clocks_that_differ_by_a_minute_change_nothing(
    home: Path, other_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def a_minute_ago() -> str:
        return (datetime.now(UTC) - timedelta(minutes=1)).isoformat(timespec="microseconds")

    async with opened(home) as one, opened(other_home) as two:
        await one.publish(accepted(grants=ASKING), expected_version=0)
        await two.look_again()
        for module in ("catalogue.catalogue", "journal.calls"):
            monkeypatch.setattr(f"alita_mcp.library.{module}.now", a_minute_ago)
        await two.approve("slugify")
        await two.publish(simple("late_tool"), expected_version=0)
        two.calls.record("slugify", 1, ok=True, status="ok", seconds=0.1, sandbox="scripted")
        await two.settle()
        await one.look_again()
        assert events(one) == events(two) == ["created", "published", "approved", "published", "called"]
        for library in (one, two):
            assert library.callable_entry("slugify").calls == 1
            assert library.tools.names() == ["late_tool", "slugify"]
            assert library.waiting_versions() == []


async def test_use_is_added_up_and_tells_nobody(home: Path, other_home: Path, database: Database) -> None:
    async with opened(home) as one, opened(other_home) as two:
        await one.publish(accepted(), expected_version=0)
        await two.look_again()
        heard: queue.Queue[str | None] = queue.Queue()
        database.listen(CHANNEL, heard.put)
        assert await anyio.to_thread.run_sync(heard.get) is None
        for library in (one, two):
            for _ in range(3):
                library.calls.record(
                    "slugify", 1, ok=False, status="bad", seconds=0.1, sandbox="s", code_bytes=2
                )
                await library.settle()
        await one.pin("slugify")
        pinned = await anyio.to_thread.run_sync(heard.get)
        assert pinned == "", "the first notice is that of the pin"
        await two.look_again()
        for library in (one, two):
            assert (library.entry("slugify").calls, library.entry("slugify").failures) == (6, 6)
            assert [use.code_bytes for use in library.tools.daily_use("", "slugify").values()] == [12]


async def test_lines_about_calls_make_room_on_all_sides(
    home: Path, other_home: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("alita_mcp.library.catalogue.catalogue.CALLS_KEPT", 20)
    monkeypatch.setattr("alita_mcp.library.catalogue.catalogue.TRIM_EVERY", 10)
    async with opened(home) as one, opened(other_home) as two:
        await one.publish(accepted(), expected_version=0)
        for number in range(60):
            owner = {"owner": "a"} if number % 2 else {}
            one.calls.record("slugify", 1, ok=True, status=str(number), seconds=0.1, sandbox="s", **owner)
            await one.settle()
        await two.look_again()
        with database.transaction() as connection:
            rows = connection.execute("SELECT id FROM journal ORDER BY id").fetchall()
        kept = [row["id"] for row in rows]
        assert 22 <= len(kept) <= 32
        assert [row.id for row in reversed(one.journal(100))] == kept
        assert {"created", "published"} < set(events(two))
        assert len(events(two)) <= 32


async def test_a_changed_copy_is_fetched_again(home: Path) -> None:
    async with opened(home) as library:
        manifest = await library.publish(accepted(), expected_version=0)
        tool = version_folder(home, manifest) / "tool.py"
        tool.write_text("evil", encoding="utf-8")
        assert (await library.read("slugify")).draft == accepted().draft
        assert tool.read_text(encoding="utf-8") == accepted().draft.code
        assert library.entry("slugify").state == "enabled"


@pytest.mark.parametrize("damage", ["content = 'evil'", "name = 'gone'"])
async def test_files_that_postgresql_lost_too_quarantine_the_version_and_say_so(
    home: Path, other_home: Path, postgres_server: PostgresServer, postgres_url: str, damage: str
) -> None:
    async with opened(home) as one:
        await one.publish(accepted(), expected_version=0)
        postgres_server.execute(f"UPDATE alita.file SET {damage} WHERE name = 'tool.py'", postgres_url)
    async with opened(home) as one, opened(other_home) as two:
        with pytest.raises(ToolQuarantined, match=r"tool.py (differs from what was verified|is missing)"):
            await two.read("slugify")
        await one.look_again()
        assert one.entry("slugify").state == "quarantined"
        (row,) = one.journal(1, "quarantined")
        assert "tool.py" in row.detail["reason"]
        await one.publish(accepted(description="Anew."), expected_version=1)
        await two.look_again()
        assert (await two.read("slugify")).draft.description == "Anew."


async def test_nul_in_what_clients_say_is_kept_as_a_mark(home: Path, other_home: Path) -> None:
    async with opened(home) as one, opened(other_home) as two:
        await one.record("refused", "a\0b", {"why": "c\0d"})
        await one.publish(simple("nul_tool", "Say \0 nothing."), expected_version=0)
        await two.look_again()
        row = two.journal(1, "refused")[0]
        assert (row.name, row.detail) == ("a\ufffdb", {"why": "c\0d"})
        assert (await two.read("nul_tool")).draft.description == "Say \0 nothing."
        assert one.journal(100) == two.journal(100)


async def test_files_that_no_version_has_any_more_go(
    home: Path, other_home: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    def count_files() -> int:
        rows = postgres_server.execute("SELECT count(*) FROM alita.file", postgres_url)
        return int(rows[0][0])

    weak = accepted(examples=SLUGIFY_EXAMPLES[:2], trust="provisional")
    async with opened(home) as one:
        await one.publish(weak, expected_version=0)
        assert count_files() == 5
        await one.raise_trust(accepted(), await one.read("slugify"))
        assert count_files() == 5
        await one.publish(simple("other_tool"), expected_version=0)
        assert count_files() == 10
        await one.delete("slugify")
    postgres_server.execute("UPDATE alita.tool SET deleted_at = '2020' WHERE name = 'slugify'", postgres_url)
    postgres_server.execute("UPDATE alita.changed SET xid = pg_current_xact_id()", postgres_url)
    async with opened(other_home) as two, opened(home) as one:
        await two.look_again()
        assert count_files() == 5
        for library in (one, two):
            assert library.tools.names(deleted=True) == ["other_tool"]
            assert (await library.read("other_tool")).draft == simple("other_tool").draft


@pytest.mark.process
async def test_servers_that_open_at_once_install_the_starter_tools_once(
    home: Path, other_home: Path, tmp_path: Path
) -> None:
    for name in ("first_tool", "second_tool"):
        write_version_folder(tmp_path / "starters" / name / "v1", simple(name))
    opening = [start("starters", str(each), str(tmp_path / "starters")) for each in (home, other_home)]
    for process in opening:
        assert await anyio.to_thread.run_sync(process.read_line) == "ready"
    for process in opening:
        process.send_line("go")
    ends = [await anyio.to_thread.run_sync(process.wait) for process in opening]
    assert [(status, said.strip()) for status, said in ends] == [(0, "first_tool second_tool")] * 2
    async with opened(home) as library:
        assert events(library) == [
            "created", "starter installed", "starter installed", "starter tools installed",
        ]  # fmt: skip


async def test_a_server_of_an_older_version_leaves_what_it_does_not_know(
    home: Path, other_home: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    async with opened(home) as one:
        await one.publish(accepted(), expected_version=0)
        postgres_server.execute("ALTER TABLE alita.tool ADD newer text NOT NULL DEFAULT 'x'", postgres_url)
        postgres_server.execute("UPDATE alita.tool SET newer = 'mine'", postgres_url)
        await one.pin("slugify")
        await one.publish(simple("other_tool"), expected_version=0)
        async with opened(other_home) as two:
            assert two.tools.names() == ["other_tool", "slugify"]
        rows = postgres_server.execute(
            "SELECT name, newer, pinned FROM alita.tool ORDER BY name", postgres_url
        )
        assert rows == [("other_tool", "x", 0), ("slugify", "mine", 1)]


async def test_a_database_brought_back_from_a_dump_is_followed_on(
    home: Path, other_home: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """A new cluster counts transactions from the start, and a copy of its tables has numbers that are yet to come."""
    async with opened(home) as one:
        await one.publish(accepted(), expected_version=0)
        await one.publish(simple("gone_tool"), expected_version=0)
    with closing(sqlite3.connect(home / "library.sqlite3")) as file:
        file.execute("UPDATE mirror SET library = 'before', snapshot = '999999999:999999999:'")
        file.commit()
    for table in ("changed", "journal"):
        postgres_server.execute(f"UPDATE alita.{table} SET xid = '888888888'", postgres_url)
    postgres_server.execute("DELETE FROM alita.tool WHERE name = 'gone_tool'", postgres_url)
    async with opened(home) as one, opened(other_home) as two:
        assert one.tools.names() == two.tools.names() == ["slugify"]
        assert events(one) == events(two)
        await two.publish(simple("new_tool"), expected_version=0)
        await one.look_again()
        assert one.tools.names() == ["new_tool", "slugify"]
        assert not mirror_of(one).pull(), "what was taken in is not asked for again"


async def test_a_dump_is_restored_into_a_new_database(
    tmp_path: Path, home: Path, other_home: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    async with opened(home) as one, opened(other_home) as two:
        await one.publish(accepted(grants=ASKING), expected_version=0)
        await one.approve("slugify")
        postgres_server.dump(postgres_url, tmp_path / "dump.sql")
        await two.publish(simple("lost_tool"), expected_version=0)
        await two.delete("slugify")
    restored = postgres_server.make_database()
    postgres_server.restore(restored, tmp_path / "dump.sql")
    for each in (home, other_home):
        (each / "alita.toml").write_text(f'library = "{restored}"\n', encoding="utf-8")
    async with opened(home) as one, opened(other_home) as two:
        for library in (one, two):
            assert library.tools.names() == ["slugify"]
            assert library.callable_entry("slugify").approved
            assert (await library.read("slugify")).draft == accepted(grants=ASKING).draft
            assert events(library) == ["created", "published", "approved"]
        await two.publish(simple("new_tool"), expected_version=0)
        await one.look_again()
        assert (await one.read("new_tool")).draft == simple("new_tool").draft
        assert not mirror_of(one).pull(), "what was taken in is not asked for again"
    postgres_server.drop_database(restored)
