"""Bounded files, on one machine and of several servers: bounds, owners, and who wins where two write."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from alita_mcp.errors import LibraryError
from alita_mcp.library.bounded_folder import StoredFile
from alita_mcp.library.storage import Storage, open_storage
from alita_mcp.settings import Settings
from tests.postgres_cluster import PostgresServer

OWNERS = ("user", "anyone", "token:0123456789abcdef", "TEAM/sub~ject/é", "a%2Fb")


def test_each_owner_reads_its_own_and_a_person_all(storage: Storage) -> None:
    files = storage.files("kind", 100, 1_000)
    for owner in OWNERS:
        assert files.write_file("a.json", owner.encode(), owner)
    for owner in OWNERS:
        assert files.read_file("a.json", owner) == owner.encode()
        assert [each.content for each in files.newest("*.json", owner, 9)] == [owner.encode()]
    assert {each.content.decode() for each in files.newest("*.json", None, 9)} == set(OWNERS)
    assert files.read_file("a.json", "TEAM") is None
    for name in ("a_json", "a%", "A.json"):
        assert files.read_file(name, "user") is None
    assert storage.files("other", 100, 1_000).newest("*", None, 9) == []
    for file in files.newest("*", None, 9):
        assert files.replace_file(file, None)
    assert files.newest("*", None, 9) == []


def make_older(storage: Storage) -> None:
    """Files that are written in the same tick of the clock have no order."""
    for number, path in enumerate(sorted((storage.home / "kind").glob("*"))):
        os.utime(path, (1e9 + number, 1e9 + number))


def test_the_newest_stay_and_what_is_written_again_is_new(storage: Storage) -> None:
    files = storage.files("kind", 3, 1_000)
    for name in "abc":
        files.write_file(name, name.encode(), "user")
    make_older(storage)
    (oldest,) = files.newest("a", "user", 1)
    assert files.replace_file(oldest, oldest.content)
    assert files.write_file("d", b"d", "user")
    assert [each.name for each in files.newest("*", "user", 9)] == ["c", "a", "d"]
    assert [each.name for each in files.newest("*", "user", 2)] == ["a", "d"]
    assert not files.write_file("large", bytes(1_001), "user")
    assert files.read_file("large", "user") is None


def test_content_is_any_bytes(storage: Storage) -> None:
    files = storage.files("kind", 3, 32 << 20)
    for content in (b"", b"\x00\xff\r\n", b"x" * (16 << 20)):
        files.write_file("a", content, "user")
        assert files.read_file("a", "user") == content


@pytest.mark.parametrize("last", [b"mine", None])
def test_of_those_that_replace_a_file_one_wins(storage: Storage, last: bytes | None) -> None:
    for owner in ("user", "TEAM/subject"):
        files = [storage.files("kind", 100, 1_000) for _ in range(8)]
        files[0].write_file("a", b"old", owner)
        (read,) = files[0].newest("a", None, 1)
        with ThreadPoolExecutor(8) as threads:
            waiting = [threads.submit(store.replace_file, read, last) for store in files]
        won = [each.result() for each in waiting]
        assert won.count(True) == 1
        assert files[0].read_file("a", owner) == last
        assert not files[0].replace_file(StoredFile("none", owner, b"old"), b"new")
        assert files[0].read_file("none", owner) is None


FILLS = """
import sys
from alita_mcp.library.storage import open_storage
from alita_mcp.settings import Settings
with open_storage(Settings(home=sys.argv[1], library=sys.argv[2] or None)) as storage:
    files = storage.files("kind", 20, 2_000)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(60):
        files.write_file(f"{sys.argv[3]}-{number}", bytes(150), sys.argv[3])
"""


@pytest.mark.process
def test_two_processes_stay_within_the_bound_together(storage: Storage) -> None:
    url = storage.database._url if storage.database else ""
    words = [sys.executable, "-c", FILLS, str(storage.home), url]
    ours = storage.files("kind", 20, 2_000)
    ours.write_file("kept", b"1", "user")
    filling = [Popen([*words, owner], stdin=PIPE, stdout=PIPE) for owner in ("token:a", "token:b")]
    for each in filling:
        assert each.stdout is not None
        assert each.stdout.readline() == b"ready\n"
    for each in filling:
        each.communicate(b"\n", timeout=60)
        assert each.returncode == 0
    found = ours.newest("*", None, 100)
    assert sum(len(each.content) for each in found) <= 2_000
    assert ours.read_file("kept", "user") == b"1"
    assert {each.name[:7] for each in found} == {"kept", "token:a", "token:b"}


@pytest.mark.postgres
@pytest.mark.extra("team")
def test_a_database_that_is_away_is_an_error_that_says_what_to_do(
    postgres_server: PostgresServer, postgres_url: str, home: Path
) -> None:
    with open_storage(Settings(home=home, library=postgres_url)) as storage:
        files = storage.files("kind", 3, 100)
        files.write_file("a", b"1", "user")
        postgres_server.stop("immediate")
        try:
            for work in (
                lambda: files.write_file("b", b"2", "user"),
                lambda: files.read_file("a", "user"),
                lambda: files.replace_file(StoredFile("a", "user", b"1"), None),
            ):
                with pytest.raises(LibraryError, match="cannot be reached"):
                    work()
        finally:
            postgres_server.start()
        assert files.read_file("a", "user") == b"1"


def test_the_bound_holds_whenever_several_have_just_written(storage: Storage) -> None:
    files = [storage.files("kind", 8, 1_000) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        for number in range(10):
            writing = [
                threads.submit(each.write_file, f"{at}-{number}", bytes(10), "user")
                for at, each in enumerate(files)
            ]
            assert all(each.result() for each in writing)
            assert len(files[0].newest("*", None, 100)) == min(8, 8 * (number + 1))


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_folder_that_cannot_be_read_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "kind").symlink_to("kind")
    with pytest.raises(LibraryError, match="kind"):
        Storage(tmp_path).files("kind", 3, 100).newest("*", None, 9)
