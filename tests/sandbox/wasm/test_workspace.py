"""The workspace in the embedded sandbox: the cases of the other sandboxes, on files in memory, with the real broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import Doors
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Limits
from tests.sandbox import test_workspace_inside as elsewhere
from tests.sandbox.arena import Arena
from tests.sandbox.test_broker_in_sandboxes import BrokerContract

WAIT_SECONDS = 120
PRELUDE = """
import csv, json, os, pathlib, shutil, sys, tempfile
import alita_tool
def refused(action):
    try:
        return repr(action())
    except Exception as problem:
        return [type(problem).__name__, str(problem)]
def f(program):
    scope = {**globals(), "workspace": alita_tool.workspace, "answer": None}
    exec(program, scope)
    return scope["answer"]
"""
FILES = {"a.txt": "hello", "sub/b.txt": "b", "sub/c.txt": "c", "table.csv": "x,y\n1,2\n"}
NEEDS = ("subprocess", "sqlite3", "mkfifo", "(host /")
"""What a case needs that a tool in WebAssembly does not have, or another part of the harness."""


def cases(test: Any, *, number: int = 0) -> list[Any]:
    """The cases of a test of the other sandboxes that can be tried here."""
    table = [mark for mark in test.pytestmark if mark.name == "parametrize"][number].args[1]
    return [case for case in table if not any(word in str(case) for word in NEEDS)]


class Recorded(GrantedBroker):
    """Notes what is asked."""

    asked: list[tuple[str, str]]

    async def answer(self, door: str, words: dict[str, Any]) -> Any:
        self.asked.append((door, words.get("path", "")))
        return await super().answer(door, words)


class Ended(NamedTuple):
    result: RunResult
    asked: list[tuple[str, str]]
    host: dict[str, Any]

    @property
    def value(self) -> Any:
        assert self.result.ok, self.result
        return self.result.value

    @property
    def fetched(self) -> list[str]:
        return [path for door, path in self.asked if door == "workspace.read"]


class Inside:
    """A folder of the host, and programs that have it as their workspace."""

    def __init__(self, arena: Arena, host: Path) -> None:
        self.host = host
        self._arena = arena
        for name, text in FILES.items():
            (host / name).parent.mkdir(parents=True, exist_ok=True)
            (host / name).write_text(text)

    def run(self, program: str, grant: Any = "write", **more: Any) -> Ended:
        limits = more.pop("limits", Limits(wall_seconds=60))
        grants = Grants(workspace=grant)
        broker = Recorded(grants, limits, Doors(workspace=self.host))
        broker.asked = []
        job = Job(
            code=PRELUDE, function="f", arguments={"program": program}, grants=grants, limits=limits, **more
        )

        async def call() -> RunResult:
            with anyio.fail_after(WAIT_SECONDS):
                return await self._arena.sandbox.run(job, broker)

        result = self._arena.call(call)
        here = {
            str(path.relative_to(self.host)): path.read_text() if path.is_file() else None
            for path in sorted(self.host.rglob("*"))
            if not path.is_symlink()
        }
        return Ended(result, broker.asked, here)


@pytest.fixture
def inside(arena: Arena, tmp_path: Path) -> Inside:
    return Inside(arena, tmp_path / "host")


@pytest.mark.parametrize("reading", cases(elsewhere.test_a_file_is_there_whatever_way_it_is_opened, number=1))
@pytest.mark.parametrize("grant", ["read", "write"])
def test_a_file_is_there_whatever_way_it_is_opened(inside: Inside, reading: str, grant: str) -> None:
    ended = inside.run(f"answer = {reading}", grant)
    assert (ended.value, ended.fetched) == ("hello", ["a.txt"])


def test_names_sizes_and_kinds_are_there_without_any_content(inside: Inside) -> None:
    (inside.host / "link").symlink_to("a.txt")
    ended = inside.run("""
names = sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*"))
facts = [(workspace / "a.txt").stat().st_size, (workspace / "a.txt").exists(), (workspace / "sub").is_dir(),
         (workspace / "a.txt").is_file(), (workspace / "none").exists(), (workspace / "a.txt").lstat().st_mode & 0o777]
answer = [names, facts, [sorted(files) for _, _, files in os.walk(workspace)]]
""")
    names, facts, walked = ended.value
    assert names == ["a.txt", "link", "sub", "sub/b.txt", "sub/c.txt", "table.csv"]
    assert facts == [5, True, True, True, False, 0]
    assert walked == [["a.txt", "link", "table.csv"], ["b.txt", "c.txt"]]
    assert ended.fetched == []


@pytest.mark.parametrize(
    "change", cases(elsewhere.test_with_the_grant_to_read_every_change_names_the_grant_to_write)
)
def test_with_the_grant_to_read_every_change_names_the_grant_to_write(inside: Inside, change: str) -> None:
    change = change.replace("/etc/hostname", "/dev/null")
    ended = inside.run(f"answer = [refused(lambda: {change}), (workspace / 'a.txt').read_text()]", "read")
    assert ended.value == [["PermissionError", elsewhere.READ_ONLY], "hello"]
    assert ended.host == {"sub": None, **FILES}


@pytest.mark.parametrize(("change", "expected"), cases(elsewhere.test_moves_and_removals_are_carried_out))
def test_moves_and_removals_are_carried_out(inside: Inside, change: str, expected: dict[str, Any]) -> None:
    ended = inside.run(change)
    assert ended.result.ok, ended.result
    merged = {"sub": None, **FILES} | expected
    assert ended.host == {name: text for name, text in merged.items() if text is not ...}


def test_changes_reach_the_host_when_the_call_has_succeeded_and_no_others(inside: Inside) -> None:
    ended = inside.run("""
(workspace / "a.txt").write_text("changed")
with open(workspace / "sub" / "b.txt", "a") as file:
    file.write("+")
(workspace / "new" / "deep").mkdir(parents=True)
(workspace / "new" / "deep" / "d.txt").write_text("d")
(workspace / "empty").touch()
(workspace / "sub" / "c.txt").unlink()
alita_tool.write_text("named/by.txt", alita_tool.read_text("table.csv").upper())
answer = alita_tool.list_files()
""")
    assert ended.value == [
        "a.txt", "empty", "named/by.txt", "new/deep/d.txt", "sub/b.txt", "table.csv",
    ]  # fmt: skip
    assert ended.host == {
        "a.txt": "changed", "empty": "", "named": None, "named/by.txt": "X,Y\n1,2\n", "new": None, "new/deep": None,
        "new/deep/d.txt": "d", "sub": None, "sub/b.txt": "b+", "table.csv": "x,y\n1,2\n",
    }  # fmt: skip
    assert ended.fetched == ["sub/b.txt", "table.csv"]
    failed = inside.run("(workspace / 'a.txt').write_text('lost')\n1 / 0")
    assert (failed.result.error_type, failed.host["a.txt"]) == ("ZeroDivisionError", "changed")


def test_a_change_within_the_one_second_of_a_rehearsed_clock_is_a_change(inside: Inside) -> None:
    ended = inside.run(
        "text = (workspace / 'a.txt').read_text()\n(workspace / 'a.txt').write_text(text[::-1])",
        moment=1_893_456_000,
    )
    assert ended.host["a.txt"] == "olleh"


def test_large_files_and_many_of_them_cost_no_space_until_they_are_read(inside: Inside) -> None:
    for number in range(20):
        (inside.host / f"large{number}").write_bytes(b"x" * 1_000_000)
    limits = Limits(wall_seconds=60, scratch_bytes=4 << 20)
    ended = inside.run("answer = len((workspace / 'large3').read_bytes())", limits=limits)
    assert (ended.value, ended.fetched) == (1_000_000, ["large3"] * 3)
    full = inside.run("[path.read_bytes() for path in workspace.glob('large*')]", limits=limits)
    assert f"{4 << 20} bytes in the scratch directory (scratch_bytes)" in full.result.message


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    cases(elsewhere.test_changes_that_cannot_be_kept_fail_the_call_and_none_of_them_is_carried_out),
)
def test_changes_that_cannot_be_kept_fail_the_call_and_none_of_them_is_carried_out(
    inside: Inside, spoil: str, error: str, message: str
) -> None:
    ended = inside.run(f"(workspace / 'other').write_text('x')\n{spoil}")
    assert (ended.result.status, ended.result.error_type) == ("error", error)
    assert message in ended.result.message
    assert "other" not in ended.host


@pytest.mark.parametrize("path", ["/etc/passwd", "../host/a.txt", "sub/../../x", "sub/.."])
@pytest.mark.parametrize("call", ["read_text({!r})", "write_text({!r}, 'x')", "list_files({!r})"])
def test_no_name_leads_out_of_the_workspace(inside: Inside, call: str, path: str) -> None:
    kind, text = inside.run(f"answer = refused(lambda: alita_tool.{call.format(path)})").value
    assert kind == "PermissionError"
    assert "outside of the workspace" in text


def test_what_the_host_refuses_stays_as_it_is(inside: Inside) -> None:
    (inside.host / "link").symlink_to("a.txt")
    with (inside.host / "large").open("wb") as file:
        file.truncate((16 << 20) + 1)
    ended = inside.run("""
answer = [refused((workspace / name).read_bytes) for name in ("link", "large")]
(workspace / "new").touch()
""")
    assert [kind for kind, _ in ended.value] == ["PermissionError", "OSError"]
    assert (inside.host / "large").stat().st_size == (16 << 20) + 1
    assert "new" in ended.host


def test_at_import_time_the_path_is_there_and_its_files_are_not(arena: Arena, tmp_path: Path) -> None:
    code = (
        "import alita_tool\nPATH = alita_tool.workspace / 'a.txt'\nPATH.read_text()\ndef f():\n    return 1\n"
    )
    result = arena.run(Job(code=code, function="f", arguments={}, grants=Grants(workspace="read")))
    assert (result.status, result.error_type) == ("load_failed", "RuntimeError")
    assert "while a call runs" in result.message


class TestWasmDoors:
    """What of the broker's contract needs no network."""

    call = BrokerContract.call
    test_every_door_opens = BrokerContract.test_every_door_opens_with_its_grant
    test_every_door_stays_shut = BrokerContract.test_every_door_stays_shut_without_its_grant
    test_a_call_that_fails = BrokerContract.test_a_call_that_fails_leaves_the_workspace_as_it_was
    test_one_call_does_not_see = BrokerContract.test_one_call_does_not_see_the_workspace_of_another
    test_questions_made_by_hand = BrokerContract.test_questions_made_by_hand_get_no_further

    @pytest.fixture
    async def sandbox(self, settings: Settings) -> AsyncIterator[WasmSandbox]:
        sandbox = WasmSandbox(settings)
        yield sandbox
        await sandbox.aclose()
