"""The files of a task: copies of what a person named, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from alita_mcp.agent.actions import workspace as room
from alita_mcp.agent.actions.workspace import Workspace
from alita_mcp.errors import InvalidArguments, UsageError


@pytest.fixture
def given_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "given"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.csv").write_text("x\n1\n", encoding="utf-8")
    (folder / "sub" / "b.txt").write_text("b", encoding="utf-8")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    place = tmp_path / "workspace"
    place.mkdir()
    return Workspace(place)


def test_a_folder_is_copied_with_its_names(given_folder: Path, workspace: Workspace) -> None:
    workspace.fill([given_folder])
    assert workspace.names == ("a.csv", "sub/b.txt")
    assert workspace.text("a.csv") == "x\n1\n"
    (workspace.folder / "a.csv").write_text("changed", encoding="utf-8")
    assert (given_folder / "a.csv").read_text(encoding="utf-8") == "x\n1\n"


def test_files_have_the_names_that_the_task_gives_them(given_folder: Path, workspace: Workspace) -> None:
    workspace.fill([given_folder], f"Compare ./given/a.csv, sub/b.txt and {given_folder}/a.csv.")
    assert workspace.names == ("given/a.csv", "sub/b.txt")
    assert workspace.text("given/a.csv") == "x\n1\n"


def test_links_lead_nowhere(given_folder: Path, workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("k", encoding="utf-8")
    (given_folder / "link").symlink_to(tmp_path / "secret" / "key")
    (given_folder / "folder").symlink_to(tmp_path / "secret")
    workspace.fill([given_folder])
    assert workspace.names == ("a.csv", "sub/b.txt")


def test_what_is_not_there_is_said(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a file or folder"):
        workspace.fill([tmp_path / "nothing"])


def test_two_files_of_one_name_are_refused(given_folder: Path, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="Two files"):
        workspace.fill([given_folder / "a.csv", given_folder])


def test_too_much_is_refused(
    given_folder: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_BYTES", 3)
    with pytest.raises(UsageError, match="exceed the limit"):
        workspace.fill([given_folder])


@pytest.mark.parametrize("name", ["nothing", "../given/a.csv", "/etc/passwd", ""])
def test_only_files_of_the_task_have_names(name: str, given_folder: Path, workspace: Workspace) -> None:
    workspace.fill([given_folder])
    with pytest.raises(InvalidArguments, match="There is no file"):
        workspace.text(name)


def test_bytes_that_are_no_text_are_not_passed_on_as_one(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\x00")
    workspace.fill([tmp_path / "x.bin"])
    with pytest.raises(InvalidArguments, match="not UTF-8"):
        workspace.text("x.bin")


def test_what_code_leaves_is_put_beside_and_replaces_nothing_of_the_persons(
    given_folder: Path, workspace: Workspace
) -> None:
    workspace.fill([given_folder])
    assert workspace.add("out/table.json", b"[]")
    assert not workspace.add("a.csv", b"forged")
    assert not workspace.add("../outside", b"x")
    assert workspace.text("a.csv") == "x\n1\n"
    assert workspace.names == ("a.csv", "sub/b.txt", "out/table.json")


def test_what_code_writes_is_kept_beside_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "given.txt").write_text("given", encoding="utf-8")
    kept = dict[str, bytes]()
    workspace = Workspace(tmp_path / "workspace", kept.__setitem__)
    workspace.fill([tmp_path / "given.txt"])
    assert not kept
    assert workspace.add("sub/a.txt", b"a")
    assert kept == {"sub/a.txt": b"a"}
    assert [workspace.add_picture(b"p", "png") for _ in range(2)] == ["figure-1.png", "figure-2.png"]
    monkeypatch.setattr(room, "MAX_KEPT_BYTES", 4)
    assert workspace.add("large.txt", b"12")
    assert "large.txt" not in kept
    assert workspace.names == ("given.txt", "sub/a.txt", "figure-1.png", "figure-2.png", "large.txt")


@pytest.mark.parametrize("name", ["a.txt/b.txt", "sub", "x" * 300])
def test_a_file_that_cannot_be_there_is_left_out(workspace: Workspace, name: str) -> None:
    assert workspace.add("a.txt", b"a")
    assert workspace.add("sub/b.txt", b"b")
    assert not workspace.add(name, b"c")
    assert workspace.names == ("a.txt", "sub/b.txt")
