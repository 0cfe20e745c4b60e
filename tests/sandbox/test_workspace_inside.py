"""The workspace as a tool sees it: the functions of `alita_tool`, with the host's folder behind them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from alita_mcp.sandbox.broker.requests import ChangeRequest
from alita_mcp.sandbox.broker.workspace import Workspace
from alita_mcp.sandbox.runner.tool import grants
from alita_mcp.sandbox.runner.tool.workspace import MAX_FILE

HELLO = {"a.txt": "hello", "sub": None, "sub/b.txt": "b", "sub/c.txt": "c", "table.csv": "x,y\n1,2\n"}
OUTSIDE = ["/etc/passwd", "../host/a.txt", "sub/../../x", "sub/.."]


class Inside:
    """`alita_tool` of one call, and the folder that the host opens for it."""

    def __init__(self, host: Path, grant: str = "write") -> None:
        self.host = host
        for name, text in HELLO.items():
            if text is not None:
                (host / name).parent.mkdir(parents=True, exist_ok=True)
                (host / name).write_text(text)
        (host / "link").symlink_to("a.txt")
        self.folder = Workspace(host)
        self.asked: list[tuple[str, str]] = []
        self.tool = self.module(grant)
        self.finish: Callable[[], None] = grants.finish

    def module(self, grant: str) -> Any:
        return grants.module({"workspace": grant}, self._ask)

    @property
    def fetched(self) -> list[str]:
        return [path for door, path in self.asked if door == "workspace.read"]

    def on_host(self) -> dict[str, str | None]:
        return {
            str(path.relative_to(self.host)): path.read_text() if path.is_file() else None
            for path in sorted(self.host.rglob("*"))
            if not path.is_symlink()
        }

    def _ask(self, door: str, words: dict[str, Any]) -> Any:
        self.asked.append((door, words.get("path", "")))
        if door == "workspace.list":
            return self.folder.names(words["path"])
        if door == "workspace.read":
            return self.folder.read(words["path"], words["offset"], words["length"])
        change = ChangeRequest.model_validate(json.loads(json.dumps(words)))
        self.folder.stage(change.operations)
        return self.folder.commit() if change.last else None


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    return Inside(tmp_path / "host")


def test_a_text_has_line_feeds_alone_and_bytes_are_as_they_are(inside: Inside) -> None:
    (inside.host / "dos.txt").write_bytes("ä\r\nb\rc\n".encode())
    assert inside.tool.read_text("dos.txt") == "ä\nb\nc\n"
    assert inside.tool.read_bytes("dos.txt") == "ä\r\nb\rc\n".encode()


def test_changes_reach_the_host_when_the_call_has_succeeded_and_not_before(inside: Inside) -> None:
    tool = inside.tool
    tool.write_text("a.txt", "changed")
    tool.write_text("sub/b.txt", tool.read_text("sub/b.txt") + "+")
    tool.write_text("new/deep/d.txt", "first")
    tool.write_text("new/deep/d.txt", "ä")
    tool.write_bytes("empty", b"")
    assert (tool.read_text("a.txt"), tool.read_text("new/deep/d.txt")) == ("changed", "ä")
    assert tool.list_files("new") == ["new/deep/d.txt"]
    assert "empty" in tool.list_files()
    assert inside.on_host() == HELLO
    inside.finish()
    assert inside.on_host() == HELLO | {
        "a.txt": "changed", "empty": "", "new": None, "new/deep": None, "new/deep/d.txt": "ä", "sub/b.txt": "b+",
    }  # fmt: skip


def test_large_files_are_read_and_sent_in_pieces_and_arrive_whole(inside: Inside) -> None:
    whole = bytes(range(256)) * 6_000
    inside.tool.write_bytes("large", whole)
    inside.tool.write_text("small", "s")
    inside.finish()
    assert (inside.host / "small").read_text() == "s"
    assert len([door for door, _ in inside.asked if door == "workspace.change"]) > 2
    tool = inside.module("read")
    assert tool.read_bytes("large") == (inside.host / "large").read_bytes() == whole
    assert inside.fetched == ["large"] * 4


@pytest.mark.parametrize(
    ("path", "error"),
    [("sub", IsADirectoryError), ("", IsADirectoryError), (".", IsADirectoryError), ("a.txt/x", NotADirectoryError)],
)  # fmt: skip
def test_a_folder_is_no_file_and_a_file_no_folder(inside: Inside, path: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        inside.tool.read_bytes(path)

    def write() -> None:
        inside.tool.write_bytes(path, b"x")
        inside.finish()

    with pytest.raises(error):
        write()
    assert inside.on_host() == HELLO


def test_a_file_that_is_too_large_is_neither_read_nor_written(inside: Inside) -> None:
    with (inside.host / "large").open("wb") as file:
        file.truncate(MAX_FILE + 1)
    with pytest.raises(OSError, match="that a tool can read"):
        inside.tool.read_bytes("large")
    with pytest.raises(OSError, match="that a file can have"):
        inside.tool.write_bytes("new", bytes(MAX_FILE + 1))


def test_a_file_that_changes_while_it_is_read_is_an_error(inside: Inside) -> None:
    (inside.host / "large").write_bytes(b"x" * 600_000)
    whole = inside.folder.read

    def changing(path: str, offset: int, length: int) -> Any:
        piece = whole(path, offset, length)
        (inside.host / "large").write_bytes(b"y" * 700_000)
        return piece

    inside.folder.read = changing  # type: ignore[method-assign]
    with pytest.raises(OSError, match="the file changed while it was read"):
        inside.tool.read_bytes("large")


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_name_leads_out_of_the_workspace(inside: Inside, path: str) -> None:
    for action in (
        lambda: inside.tool.read_text(path),
        lambda: inside.tool.write_text(path, "x"),
        lambda: inside.tool.list_files(path),
    ):
        with pytest.raises(PermissionError, match="outside the workspace"):
            action()
    assert inside.asked == []
