"""Kept results: read back whole, bounded in number and size, names that nobody can guess or bend."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library import kept_results
from alita_mcp.library.kept_results import KeptResults
from alita_mcp.library.storage import Storage
from alita_mcp.owners import USER
from tests.library.factory import opened


async def test_a_result_is_kept_whole(home: Path) -> None:
    whole = json.dumps({"rows": [["é🙂", 1.5, None, True]] * 1_000}, ensure_ascii=False).encode()
    async with opened(home) as library:
        run = library.runs_of(USER).keep(whole)
        assert library.runs_of(USER).read_result(run) == whole
        assert run != library.runs_of(USER).keep(whole)
    async with opened(home) as library:
        assert library.runs_of(USER).read_result(run) == whole


@pytest.mark.parametrize(
    "name", ["", "..", "../library", "a" * 32 + "/..", "A" * 32, "f" * 32, "f" * 32 + "\n", "\x00"]
)
async def test_no_other_file_can_be_read(home: Path, name: str) -> None:
    async with opened(home) as library:
        library.runs_of(USER).keep(b"1")
        with pytest.raises(ToolNotFound, match="no run"):
            library.runs_of(USER).read_result(name)


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    store = KeptResults(Storage(tmp_path))
    names = []
    for number in range(kept_results.MAX_RUNS + 5):
        names.append(store.keep(b"%d" % number))
        os.utime(tmp_path / "runs" / f"{names[-1]}.json", ns=(number, number))
    names.append(store.keep(b'"last"'))
    assert len(list((tmp_path / "runs").iterdir())) == kept_results.MAX_RUNS
    assert store.read_result(names[-1]) == b'"last"'
    with pytest.raises(ToolNotFound):
        store.read_result(names[0])


def test_the_store_stays_below_its_size(tmp_path: Path) -> None:
    store = KeptResults(Storage(tmp_path))
    big = b'"%s"' % (b"x" * (kept_results.MAX_BYTES // 3))
    first, *_, last = [store.keep(big) for _ in range(4)]
    assert sum(file.stat().st_size for file in (tmp_path / "runs").iterdir()) <= kept_results.MAX_BYTES
    assert store.read_result(last) == big
    with pytest.raises(ToolNotFound):
        store.read_result(first)
    with pytest.raises(LibraryError, match="too large"):
        store.keep(b"x" * (kept_results.MAX_BYTES + 1))


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("mine")
    with pytest.raises(LibraryError, match="cannot be used"):
        KeptResults(Storage(tmp_path)).keep(b"1")


def test_a_damaged_or_linked_result_is_not_read(tmp_path: Path) -> None:
    store = KeptResults(Storage(tmp_path))
    damaged, linked = store.keep(b"1"), store.keep(b"2")
    (tmp_path / "runs" / f"{damaged}.json").write_text("{")
    place = tmp_path / "runs" / f"{linked}.json"
    place.rename(tmp_path / "elsewhere.json")
    place.symlink_to(tmp_path / "elsewhere.json")
    for name in (damaged, linked):
        with pytest.raises(ToolNotFound):
            store.read_result(name)


def test_a_result_is_its_owners_and_a_stranger_displaces_none_that_fits_into_a_fair_share(
    storage: Storage,
) -> None:
    ours, theirs = (KeptResults(storage, owner) for owner in (USER, "token:0123456789abcdef"))
    kept = [ours.keep(b"%d" % number) for number in range(kept_results.MAX_RUNS // 2)]
    ours.keep_files(kept[0], {"a": b"1"})
    flood = [theirs.keep(b"1") for _ in range(kept_results.MAX_RUNS + 20)]
    large = [theirs.keep(b'"%s"' % (b"x" * (kept_results.MAX_BYTES // 3))) for _ in range(3)]
    for run in kept[1:]:
        ours.read_result(run)
    with pytest.raises(ToolNotFound, match="no run"):
        theirs.read_result(kept[1])
    with pytest.raises(ToolNotFound, match="no run"):
        ours.read_result(large[-1])
    with pytest.raises(ToolNotFound, match="no file"):
        theirs.read_file(kept[0], "a")
    assert theirs.read_result(large[-1])
    with pytest.raises(ToolNotFound):
        theirs.read_result(flood[0])


def test_a_result_that_does_not_fit_into_its_owners_share_is_refused(storage: Storage) -> None:
    ours, theirs = (KeptResults(storage, owner) for owner in (USER, "anyone"))
    half = ours.keep(b'"%s"' % (b"x" * (kept_results.MAX_BYTES // 2 - 100)))
    with pytest.raises(LibraryError, match="too large to keep"):
        theirs.keep(b'"%s"' % (b"x" * (kept_results.MAX_BYTES // 2 + 100)))
    assert ours.read_result(half)
