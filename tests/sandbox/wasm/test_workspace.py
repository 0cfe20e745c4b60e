"""The workspace in the embedded sandbox, with the real broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import HostServices
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.runner.tool.workspace import READ_ONLY
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Limits
from tests.sandbox.arena import Arena
from tests.sandbox.test_broker_in_sandboxes import BrokerDetails
from tests.sandbox.test_workspace_inside import OUTSIDE

WAIT_SECONDS = 120
PRELUDE = """
import alita_tool
def refused(action):
    try:
        return repr(action())
    except Exception as problem:
        return [type(problem).__name__, str(problem)]
def f(program):
    scope = {**globals(), "answer": None}
    exec(program, scope)
    return scope["answer"]
"""
FILES = {"a.txt": "hello", "sub/b.txt": "b", "sub/c.txt": "c", "table.csv": "x,y\n1,2\n"}


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
        broker = Recorded(grants, limits, HostServices(workspace=self.host))
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


@pytest.mark.parametrize("grant", ["read", "write"])
def test_a_file_is_read_and_names_are_listed(inside: Inside, grant: str) -> None:
    (inside.host / "link").symlink_to("a.txt")
    ended = inside.run("answer = [alita_tool.read_text('a.txt'), alita_tool.list_files()]", grant)
    assert ended.value == ["hello", ["a.txt", "link", "sub/b.txt", "sub/c.txt", "table.csv"]]
    assert ended.fetched == ["a.txt"]


def test_with_the_grant_to_read_a_change_names_the_grant_to_write(inside: Inside) -> None:
    ended = inside.run("answer = refused(lambda: alita_tool.write_text('a.txt', 'x'))", "read")
    assert ended.value == ["PermissionError", READ_ONLY]
    assert ended.host == {"sub": None, **FILES}


def test_changes_reach_the_host_when_the_call_has_succeeded_and_no_others(inside: Inside) -> None:
    ended = inside.run("""
alita_tool.write_text("a.txt", "changed")
alita_tool.write_bytes("new/deep/d.bin", b"d" * 1_000_000)
alita_tool.write_text("by.txt", alita_tool.read_text("table.csv").upper())
answer = [alita_tool.list_files("new"), alita_tool.read_text("a.txt")]
""")
    assert ended.value == [["new/deep/d.bin"], "changed"]
    assert ended.host == {
        "sub": None, **FILES, "a.txt": "changed", "by.txt": "X,Y\n1,2\n", "new": None, "new/deep": None,
        "new/deep/d.bin": "d" * 1_000_000,
    }  # fmt: skip
    assert ended.fetched == ["table.csv"]
    failed = inside.run("alita_tool.write_text('a.txt', 'lost')\n1 / 0")
    assert (failed.result.error_type, failed.host["a.txt"]) == ("ZeroDivisionError", "changed")


def test_a_change_within_the_one_second_of_a_rehearsed_clock_is_a_change(inside: Inside) -> None:
    program = "alita_tool.write_text('a.txt', alita_tool.read_text('a.txt')[::-1])"
    assert inside.run(program, moment=1_893_456_000).host["a.txt"] == "olleh"


def test_a_file_that_is_too_large_fails_the_call_and_nothing_is_written(inside: Inside) -> None:
    code = "alita_tool.write_text('other', 'x')\nalita_tool.write_bytes('sub/b.txt', bytes(17 << 20))"
    ended = inside.run(code)
    assert (ended.result.status, ended.result.error_type) == ("error", "OSError")
    assert "that a file may have" in ended.result.message
    assert "other" not in ended.host


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_name_leads_out_of_the_workspace(inside: Inside, path: str) -> None:
    kind, text = inside.run(f"answer = refused(lambda: alita_tool.read_text({path!r}))").value
    assert kind == "PermissionError"
    assert "outside of the workspace" in text


def test_what_the_host_refuses_stays_as_it_is(inside: Inside) -> None:
    (inside.host / "link").symlink_to("a.txt")
    with (inside.host / "large").open("wb") as file:
        file.truncate((16 << 20) + 1)
    ended = inside.run("""
answer = [refused(lambda: alita_tool.read_bytes(name)) for name in ("link", "large")]
alita_tool.write_text("new", "")
""")
    assert [kind for kind, _ in ended.value] == ["PermissionError", "OSError"]
    assert (inside.host / "large").stat().st_size == (16 << 20) + 1
    assert "new" in ended.host


def test_at_import_time_no_file_is_read(arena: Arena) -> None:
    code = "import alita_tool\nTEXT = alita_tool.read_text('a.txt')\ndef f():\n    return 1\n"
    result = arena.run(Job(code=code, function="f", arguments={}, grants=Grants(workspace="read")))
    assert (result.status, result.error_type) == ("load_failed", "RuntimeError")
    assert "while a call runs" in result.message


class TestWasmDoors:
    """What of the broker's contract needs no network."""

    call = BrokerDetails.call
    test_every_door_opens = BrokerDetails.test_every_door_opens_with_its_grant
    test_every_door_stays_shut = BrokerDetails.test_every_door_stays_shut_without_its_grant
    test_a_call_that_fails = BrokerDetails.test_a_call_that_fails_leaves_the_workspace_as_it_was
    test_one_call_does_not_see = BrokerDetails.test_one_call_does_not_see_the_workspace_of_another
    test_questions_made_by_hand = BrokerDetails.test_questions_made_by_hand_get_no_further

    @pytest.fixture
    async def sandbox(self, settings: Settings) -> AsyncIterator[WasmSandbox]:
        sandbox = WasmSandbox(settings)
        yield sandbox
        await sandbox.aclose()
