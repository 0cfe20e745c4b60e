"""Files of runs: read back as they were, bounded together with the results, under names that reach nothing else."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import LibraryError, ToolNotFound
from alita_mcp.library import kept_results
from alita_mcp.library.kept_results import KeptResults
from alita_mcp.library.packed_files import mime_of, pack_files, read_packed_file, text_of
from alita_mcp.library.storage import Storage

RUN = "ab" * 16


@given(st.dictionaries(st.text(), st.binary(), max_size=5), st.text())
def test_files_come_out_as_they_went_in(files: dict[str, bytes], other: str) -> None:
    store = pack_files(files)
    for name, data in files.items():
        assert read_packed_file(BytesIO(store), name) == data
    assert other in files or read_packed_file(BytesIO(store), other) is None


def test_a_name_is_a_key_and_no_path(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    store = KeptResults(Storage(tmp_path))
    store.keep_files(RUN, {"../secret": b"mine", "a/b": b"2"})
    assert store.read_file(RUN, "../secret") == b"mine"
    assert sorted(path.name for path in tmp_path.rglob("*")) == [f"{RUN}.files", "runs", "secret"]
    for name in ("secret", "a", "a/../a/b", "", "../../etc/passwd"):
        with pytest.raises(ToolNotFound, match="There is no file"):
            store.read_file(RUN, name)


@pytest.mark.parametrize("run", ["", "..", "../" + "a" * 29, "AB" * 16, "ab" * 16 + "\n", "cd" * 16, "*"])
def test_files_of_another_run_are_not_found(storage: Storage, run: str) -> None:
    store = KeptResults(storage)
    store.keep_files(RUN, {"a": b"1"})
    with pytest.raises(ToolNotFound, match="There is no file"):
        store.read_file(run, "a")


def test_files_are_kept_only_under_the_id_of_a_run(storage: Storage) -> None:
    with pytest.raises(ValueError, match=r"\.\./x"):
        KeptResults(storage).keep_files("../x", {"a": b"1"})


@pytest.mark.parametrize("damage", [b"", b"{}", b"[[1]]\n", b'[["a", 9]]\n1', b"\xff\xff"])
def test_damaged_files_are_none(tmp_path: Path, damage: bytes) -> None:
    store = KeptResults(Storage(tmp_path))
    store.keep_files(RUN, {"a": b"1"})
    (tmp_path / "runs" / f"{RUN}.files").write_bytes(damage)
    with pytest.raises(ToolNotFound):
        store.read_file(RUN, "a")


def test_a_link_in_the_place_of_files_is_not_followed(tmp_path: Path) -> None:
    store = KeptResults(Storage(tmp_path))
    store.keep_files("cd" * 16, {"a": b"1"})
    (tmp_path / "runs" / f"{RUN}.files").symlink_to(tmp_path / "runs" / f"{'cd' * 16}.files")
    with pytest.raises(ToolNotFound):
        store.read_file(RUN, "a")


def test_files_and_results_make_room_for_one_another(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_results, "MAX_BYTES", 1_000)
    store = KeptResults(storage)
    first = store.keep(b"1" * 500)
    store.keep_files(RUN, {"a": bytes(600)})
    assert store.read_file(RUN, "a") == bytes(600)
    with pytest.raises(ToolNotFound):
        store.read_result(first)
    with pytest.raises(LibraryError, match="too large"):
        store.keep(bytes(1_001))


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("a.csv", b"1,2", "text/csv"),
        ("a.png", b"\x89", "image/png"),
        ("sub/a.svg", b"<svg/>", "image/svg+xml"),
        ("a.json", b"{}", "application/json"),
        ("notes", b"plain", "text/plain"),
        ("noise", b"\xff\x00", "application/octet-stream"),
        ("a.tar.gz", b"\x1f\x8b\x00", "application/octet-stream"),
    ],
)
def test_the_type_follows_from_the_name_else_from_the_content(name: str, data: bytes, mime: str) -> None:
    assert mime_of(name, data) == mime


def test_text_is_what_is_utf8_without_zeros() -> None:
    assert (text_of("é".encode()), text_of(b"\xe9"), text_of(b"a\x00")) == ("é", None, None)
