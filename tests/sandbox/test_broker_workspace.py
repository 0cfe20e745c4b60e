"""The workspace on the host: no question leads out of it, half of a change is no change, and nothing is executable."""

from __future__ import annotations

import base64
import errno
import os
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.sandbox.broker import workspace as limits
from alita_mcp.sandbox.broker.folder import ASIDE, HAS_DESCRIPTORS
from alita_mcp.sandbox.broker.requests import Operation
from alita_mcp.sandbox.broker.workspace import Workspace
from tests.tables import each_case

OUTSIDE = "the secret outside"


@pytest.fixture(
    params=[True, False] if HAS_DESCRIPTORS else [False], ids=lambda by: "descriptors" if by else "paths"
)
def by_descriptor(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key").write_text(OUTSIDE)
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("hello")
    (root / "sub" / "b.txt").write_text("b")
    (root / "link").symlink_to(tmp_path / "outside" / "key")
    (root / "linked").symlink_to(tmp_path / "outside")
    (root / "sub" / "up").symlink_to("..")
    (root / "dangling").symlink_to("nothing")
    return root


@pytest.fixture
def workspace(root: Path, by_descriptor: bool) -> Workspace:
    return Workspace(root, by_descriptor=by_descriptor)


def text(workspace: Workspace, path: str) -> str:
    return base64.b64decode(workspace.read(path, 0, 1 << 20)["data"]).decode()


def write(path: str, data: bytes = b"new", **changes: Any) -> Operation:
    return Operation.model_validate({"path": path, "data": base64.b64encode(data).decode()} | changes)


def stamp(workspace: Workspace, path: str) -> str:
    known: str = workspace.read(path, 0, 1)["stamp"]
    return known


@each_case(
    "path",
    [
        "link", "linked/key", "sub/up/a.txt", "sub/up/../a.txt", "linked", "dangling", "..", "../outside/key",
        "sub/../a.txt", "/etc/passwd", "/", "//etc/passwd", "", ".", "./a.txt", "sub//b.txt", "sub/", "a\0b", "a.txt\0",
        "x" * 256, "\u00e4" * 128, "a/" * 40 + "b", "sub\\b.txt", f"{ASIDE}1", "a.txt/x", "sub",
    ],
)  # fmt: skip
def test_no_path_leads_out_and_no_link_is_followed(workspace: Workspace, root: Path, path: str) -> None:
    for attempt in (
        lambda: workspace.read(path, 0, 100),
        lambda: (workspace.stage((write(path),)), workspace.commit()),
    ):
        with pytest.raises(
            (PermissionError, ValueError, NotADirectoryError, IsADirectoryError, FileExistsError)
        ) as refused:
            attempt()
        assert str(root) not in str(refused.value)
    assert (root / "../outside/key").read_text() == OUTSIDE
    assert [path.name for path in (root.parent / "outside").iterdir()] == ["key"]


@each_case("path", ["linked", "sub/up", "..", "link"])
def test_no_folder_outside_is_listed(workspace: Workspace, path: str) -> None:
    with pytest.raises((PermissionError, NotADirectoryError)):
        workspace.names(path)


def carry_out(workspace: Workspace, *operations: Operation) -> int:
    workspace.stage(operations)
    return workspace.commit()


def test_devices_pipes_and_sockets_are_no_files(workspace: Workspace, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(".", os.O_RDONLY)
        os.chdir(root)
        try:
            listener.bind("socket")
        finally:
            os.fchdir(here)
            os.close(here)
        if os.getuid() == 0:
            os.mknod(root / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        for name in {"pipe", "socket", "zero"} & {path.name for path in root.iterdir()}:
            with pytest.raises(PermissionError, match="no regular file"):
                workspace.read(name, 0, 10)


def test_a_path_that_is_swapped_for_a_link_all_the_time_never_leads_out(
    workspace: Workspace, root: Path
) -> None:
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "sub").rename(root / "moved")
            (root / "sub").symlink_to(root.parent / "outside")
            (root / "sub").unlink()
            (root / "moved").rename(root / "sub")

    (root / "sub" / "key").write_text("inside")
    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        for _ in range(1_000):
            try:
                seen.add(text(workspace, "sub/key"))
            except (OSError, ValueError) as refused:
                seen.add(type(refused).__name__)
    finally:
        stop.set()
        thread.join()
    assert OUTSIDE not in seen or not HAS_DESCRIPTORS or not workspace._by_descriptor


@pytest.mark.parametrize("name", ["missing", "outside/key"])
def test_a_workspace_that_is_not_there_names_the_setting_and_not_the_path(root: Path, name: str) -> None:
    with pytest.raises(RuntimeError, match="ALITA_WORKSPACE") as refused:
        Workspace(root.parent / name).names("")
    assert str(root.parent) not in str(refused.value)


def test_a_file_keeps_its_mode_and_nothing_becomes_executable(workspace: Workspace, root: Path) -> None:
    (root / "a.txt").chmod(0o4750)
    carry_out(workspace, write("a.txt", stamp=stamp(workspace, "a.txt")), write("run.sh", b"#!/bin/sh\n"))
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o644


def test_a_second_name_of_a_file_outside_is_replaced_and_not_written_through(
    workspace: Workspace, root: Path
) -> None:
    os.link(root.parent / "outside" / "key", root / "second")
    carry_out(workspace, write("second", stamp=stamp(workspace, "second")))
    assert (root.parent / "outside" / "key").read_text() == OUTSIDE


def test_what_somebody_else_changed_meanwhile_is_not_overwritten(workspace: Workspace, root: Path) -> None:
    known = stamp(workspace, "a.txt")
    (root / "a.txt").write_text("theirs, and longer")
    (root / "made").write_text("theirs")
    for operation in (
        write("a.txt", stamp=known),
        write("gone", stamp=known),
        write("made/inner"),
    ):
        with pytest.raises(OSError, match=r"in the meantime|No such file|no folder"):
            carry_out(Workspace(root), write("other.txt"), operation)
    assert (root / "a.txt").read_text() == "theirs, and longer"
    assert not (root / "other.txt").exists()


@pytest.mark.parametrize(
    "operations",
    [
        (write("x", more=True),),
        (write("x"), write("x")),
        (write("x", more=True), write("y")),
        (Operation(path="x", data="no base64!"),),
    ],
)
def test_files_that_are_not_handed_in_properly_change_nothing(
    workspace: Workspace, root: Path, operations: tuple[Operation, ...]
) -> None:
    with pytest.raises(ValueError, match=r"incomplete|written twice|base64"):
        carry_out(workspace, *operations)
    assert not (root / "x").exists()


@pytest.mark.slow
def test_sizes_and_numbers_are_capped(
    workspace: Workspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (root / "large").open("wb") as file:
        file.truncate(limits.MAX_FILE + 1)
    with pytest.raises(OSError, match="that a tool can read") as refused:
        workspace.read("large", 0, 10)
    assert refused.value.errno == errno.EFBIG
    with pytest.raises(OSError, match="in one file"):
        workspace.stage(tuple(write("x", bytes(8 << 20), more=True) for _ in range(3)))
    many = Workspace(root)
    with pytest.raises(OSError, match="in all"):
        many.stage(tuple(write(f"x{number}", bytes(8 << 20)) for number in range(5)))
    with pytest.raises(OSError, match="files written in one call"):
        Workspace(root).stage(tuple(write(f"x{n}", b"") for n in range(limits.MAX_OPERATIONS + 1)))


@pytest.mark.slow
def test_a_listing_is_bounded(workspace: Workspace, root: Path) -> None:
    for number in range(limits.MAX_NAMES + 1):
        (root / "sub" / "deep" / str(number)).touch()
    with pytest.raises(OSError, match="more than 10000 names: list a folder below"):
        workspace.names("")
    assert workspace.names("sub/deep/1") == workspace.names("nowhere") == []
