"""Versions as files: what was accepted reads back the same, and nothing else passes for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alita_mcp.errors import LibraryError, ToolNotFound, ToolQuarantined
from alita_mcp.library.disk import MAX_FILE_BYTES
from alita_mcp.library.versions.files import (
    VERSION_FILES,
    ToolFiles,
    digest_of,
    manifest_of,
    pack,
    read_version_folder,
    seal_of,
    unpack,
    versions_under,
)
from alita_mcp.values import Example, Grants, Limits, Lock
from tests.library.factory import accepted, an_example, simple, write_version_folder

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), json_values, max_size=3)
examples = st.one_of(
    st.builds(an_example, arguments, json_values),
    st.builds(Example, arguments=arguments, expected=json_values, exact=st.booleans()),
    st.builds(Example, arguments=arguments, raises=st.sampled_from(["ValueError", "json.JSONDecodeError"])),
    st.builds(
        Example, arguments=arguments, check=st.sampled_from(["result", "result == 1", "(result\n or 2)"])
    ),
)


@settings(deadline=None)
@given(
    st.lists(examples, min_size=1, max_size=4),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.from_regex(r"[a-z]{1,9}==[0-9.]{1,5} --hash=sha256:[0-9a-f]{4}", fullmatch=True), max_size=3),
)
def test_whatever_is_packed_reads_back_the_same(
    given_examples: list[Example], comment: str, requirements: list[str]
) -> None:
    code = f"def a_tool():\n    return {comment!r}\n"
    one = accepted(
        "a_tool", f"A tool. {comment}", code=code, examples=tuple(given_examples),
        lock=Lock(requirements=tuple(requirements), python="cp311-linux_x86_64"), packages=("numpy>=2",),
        grants=Grants(network=("api.example.org",)), limits=Limits(wall_seconds=1.5),
    )  # fmt: skip
    stored = unpack(pack(one, 3), "a_tool", 3)
    assert stored.draft == one.draft
    assert [example.as_json() for example in stored.examples] == [item.as_json() for item in given_examples]
    assert stored.lock == one.lock
    assert stored.report == one.report
    assert stored.manifest.digest == digest_of(stored.manifest, stored.code, stored.lock, stored.examples)


@settings(deadline=None)
@given(st.sampled_from(VERSION_FILES), st.data())
def test_one_changed_byte_anywhere_is_noticed(file: str, data: st.DataObject) -> None:
    files = pack(accepted(lock=Lock(requirements=("numpy==2.1.0 --hash=sha256:00",))), 1)
    seal = seal_of(files)
    content = bytearray(files[file])
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ToolQuarantined, match=file):
        unpack({**files, file: bytes(content)}, "slugify", 1, seal)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other_tool"},
        {"description": "Another."},
        {"input_schema": {"type": "object"}},
        {"output_schema": {"type": "object"}},
        {"wraps_result": False},
        {"packages": ("numpy",)},
        {"grants": Grants(model=True)},
        {"limits": Limits(wall_seconds=1)},
        {"varies": ("clock",)},
    ],
)
def test_each_decisive_part_of_the_manifest_is_in_the_digest(change: dict[str, Any]) -> None:
    one = accepted()
    manifest = manifest_of(one, 1)
    other = manifest.model_copy(update=change)
    parts = (one.draft.code, one.lock, one.draft.examples)
    assert digest_of(other, *parts) != digest_of(manifest, *parts) == manifest.digest


def test_a_version_that_does_not_vary_is_written_as_before() -> None:
    files = pack(accepted(), 1)
    assert b'"varies"' not in files["manifest.json"]
    varying = pack(accepted(varies=("clock", "random")), 1)
    assert unpack(varying, "slugify", 1).draft.varies == ("clock", "random")


def test_code_lock_and_examples_are_in_the_digest_but_not_the_day() -> None:
    one = accepted()
    first, later = manifest_of(one, 1), manifest_of(one, 1)
    assert first.created_at != later.created_at
    assert first.digest == later.digest
    digests = {
        digest_of(first, one.draft.code, one.lock, one.draft.examples),
        digest_of(first, one.draft.code + " ", one.lock, one.draft.examples),
        digest_of(first, one.draft.code, Lock(requirements=("a==1",)), one.draft.examples),
        digest_of(first, one.draft.code, one.lock, one.draft.examples[1:]),
    }
    assert len(digests) == 4


@pytest.mark.parametrize(
    "unfit",
    [
        {"examples": (an_example({"x": float("nan")}, 1),)},
        {"examples": (an_example({"x": 1}, float("inf")),)},
        {"examples": (Example(check="result; import os"),)},
        {"examples": (Example(check="1) or (2"),)},
        {"examples": (Example(check="(yield 1)"),)},
        {"examples": (Example(check="[x async for x in result]"),)},
        {"examples": (Example(check="(" * 1000),)},
        {"code": "def slugify(:"},
        {"code": "def slugify(): return '\ud800'"},
        {"lock": Lock(requirements=("numpy==1\nevil==2",))},
        {"code": "#" * (MAX_FILE_BYTES + 1)},
    ],
)
def test_what_could_not_be_kept_faithfully_is_refused_and_nothing_is_written(
    tmp_path: Path, unfit: dict[str, Any]
) -> None:
    with pytest.raises(LibraryError):
        write_version_folder(tmp_path / "slugify" / "v1", accepted(**unfit))
    assert not list(tmp_path.rglob("*.py"))


def written(tmp_path: Path) -> Path:
    folder = tmp_path / "slugify" / "v1"
    manifest = write_version_folder(folder, accepted())
    assert manifest.name == "slugify"
    return folder


def read(folder: Path) -> None:
    unpack(read_version_folder(folder, "slugify", 1), "slugify", 1)


def test_a_version_folder_is_written_and_read(tmp_path: Path) -> None:
    folder = written(tmp_path)
    read(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(VERSION_FILES)
    assert set(json.loads((folder / "manifest.json").read_text())) >= {"manifest", "examples"}


def test_hidden_files_and_caches_beside_the_five_do_not_matter(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "__pycache__").mkdir()
    (folder / ".DS_Store").write_bytes(b"")
    read(folder)


@pytest.mark.parametrize("file", VERSION_FILES)
def test_a_link_in_the_place_of_a_file_is_refused(tmp_path: Path, file: str) -> None:
    folder = written(tmp_path)
    elsewhere = (folder / file).rename(tmp_path / file)
    (folder / file).symlink_to(elsewhere)
    with pytest.raises(ToolQuarantined, match=rf"{file} is a link"):
        read(folder)


def test_an_added_file_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "json.py").write_text("")
    with pytest.raises(ToolQuarantined, match=r"json\.py was added"):
        read(folder)


def test_a_huge_file_is_not_read_into_memory(tmp_path: Path) -> None:
    folder = written(tmp_path)
    with (folder / "tool.py").open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(ToolQuarantined, match=r"tool\.py is far too large"):
        read(folder)


def test_a_linked_version_folder_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path)
    elsewhere = folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(elsewhere, target_is_directory=True)
    with pytest.raises(ToolQuarantined, match="v1 is a link"):
        read(folder)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"files": 3}', b"null"])
def test_a_manifest_of_another_shape_is_quarantined_not_a_crash(content: bytes) -> None:
    with pytest.raises(ToolQuarantined, match=r"manifest\.json"):
        unpack({**pack(accepted(), 1), "manifest.json": content}, "slugify", 1)


def test_a_manifest_with_an_edited_description_does_not_agree_with_its_digest() -> None:
    files = pack(accepted(), 1)
    files["manifest.json"] = files["manifest.json"].replace(b"URL slug", b"URL snail")
    with pytest.raises(ToolQuarantined, match="does not agree with its digest"):
        unpack(files, "slugify", 1)


def test_a_version_copied_to_another_name_or_number_is_refused() -> None:
    files = pack(simple("one_tool"), 1)
    for name, version in (("two_tool", 1), ("one_tool", 2)):
        with pytest.raises(ToolQuarantined, match="another version"):
            unpack(files, name, version)


@pytest.mark.parametrize("name", ["../evil", "a/b", "", "A", "x" * 60, "ab\n", ".staging", "a.b", "ab\x00c"])
def test_names_that_are_paths_never_become_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolNotFound):
        ToolFiles(tmp_path, "owner").folder(name, 1)


def test_version_numbers_below_one_never_become_a_path(tmp_path: Path) -> None:
    with pytest.raises(ToolNotFound):
        ToolFiles(tmp_path, "owner").folder("slugify", 0)


def test_only_real_version_folders_are_found(tmp_path: Path) -> None:
    folder = written(tmp_path)
    for stranger in ("slugify/v01", "slugify/vx", "Slugify/v1", ".staging-a-b/v1"):
        (tmp_path / stranger).mkdir(parents=True)
    (tmp_path / "slugify" / "v7").symlink_to(folder)
    (tmp_path / "linked").symlink_to(folder.parent)
    assert versions_under(tmp_path) == [("slugify", 1)]


def test_a_folder_that_is_there_already_is_not_overwritten(tmp_path: Path) -> None:
    folder = written(tmp_path)
    with pytest.raises(LibraryError, match="File exists"):
        write_version_folder(folder, accepted())
    read(folder)
