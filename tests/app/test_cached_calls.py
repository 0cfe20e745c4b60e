"""Cached results of deterministic tools: which calls count, that nothing runs for them, and how to switch it off."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from alita_mcp.app import App
from alita_mcp.errors import InvalidArguments, SandboxUnavailable, ToolQuarantined, ToolUnavailable
from alita_mcp.sandbox.choose import LazySandbox
from alita_mcp.sandbox.interface import RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Grants
from tests.app.conftest import Open, adder, adding
from tests.library.factory import found
from tests.scripted_sandbox import ScriptedSandbox

ONE_TWO = {"a": 1, "b": 2}


async def calls_of(app: App) -> list[dict[str, object]]:
    await app.library.settle()
    return [row.detail for row in reversed(app.library.journal()) if row.event == "called"]


async def test_the_same_call_again_runs_nothing_and_the_journal_says_so(open_with: Open) -> None:
    box = ScriptedSandbox(adding)
    async with open_with(box) as app:
        first = await app.run_tool("add", ONE_TWO)
        again = await app.run_tool("add", {"b": 2, "a": 1})
        assert (first.cached, again.cached) == (False, True)
        assert again.result == first.result
        assert again.structured_content == {"result": 3}
        assert again.sandbox == "scripted"
        assert len(box.jobs) == 1
        assert [detail.get("cached") for detail in await calls_of(app)] == [None, True]
        assert app.library.entry("add").calls == 2
        assert not (await app.run_tool("add", {"a": 1, "b": 3})).cached
    async with open_with(box) as later:
        assert (await later.run_tool("add", ONE_TWO)).cached
    assert len(box.jobs) == 2


async def test_a_cached_call_starts_no_sandbox_and_none_needs_to_work(
    open_with: Open, settings: Settings
) -> None:
    class Broken(ScriptedSandbox):
        async def chosen(self) -> ScriptedSandbox:
            raise AssertionError("a sandbox was asked for")

    async with open_with(ScriptedSandbox(adding, kind="docker"), adder(sandbox="docker")) as app:
        await app.run_tool("add", ONE_TWO)
    nowhere = settings.model_copy(update={"sandbox": "docker", "docker_image": "no/such:image"})
    lazy = LazySandbox(nowhere)
    async with open_with(lazy) as app:
        assert lazy.kind == "unchosen"
        assert (await app.run_tool("add", ONE_TWO)).cached
        assert lazy.kind == "unchosen"
    async with open_with(LazySandbox(settings.model_copy(update={"sandbox": "no.such.module:Class"}))) as app:
        with pytest.raises(SandboxUnavailable):
            await app.run_tool("add", ONE_TWO)


async def test_results_of_one_kind_of_sandbox_say_nothing_about_another(open_with: Open) -> None:
    async with open_with(ScriptedSandbox(adding)) as app:
        await app.run_tool("add", ONE_TWO)
    other = ScriptedSandbox(lambda _job: RunResult(status="ok", value=0), kind="elsewhere")
    async with open_with(other) as app:
        with pytest.raises(ToolUnavailable, match="fails its gates in the elsewhere sandbox"):
            await app.run_tool("add", ONE_TWO)


@pytest.mark.parametrize(
    "tool",
    [adder(deterministic=False), adder(grants=Grants(network=("example.org",)))],
    ids=["not deterministic", "asks for grants"],
)
async def test_what_may_differ_the_next_time_is_never_kept(open_with: Open, tool: object) -> None:
    box = ScriptedSandbox(adding)
    async with open_with(box, tool) as app:
        if not app.library.entry("add").approved:
            await app.library.approve("add")
        for _ in range(2):
            assert not (await app.run_tool("add", ONE_TWO)).cached
        assert len(box.jobs) == 2


async def test_a_result_that_another_tool_asked_for_reaches_no_disk(open_with: Open) -> None:
    secret = 918_273_645_546_372_819  # what the outer tool was given, and the inner one gives back
    box = ScriptedSandbox(lambda _job: RunResult(status="ok", value=secret, stdout=str(secret)))
    arguments = {"a": secret, "b": 0}
    async with open_with(box) as app:
        for _ in range(2):
            answer = await app._calls.run_tool("add", arguments, chain=("outer",))
            assert (answer.cached, answer.result.value) == (False, secret)
        await app.library.settle()
        home = app.library.home
    assert len(box.jobs) == 2
    files = [file for file in home.rglob("*") if file.is_file()]
    assert [file.name for file in files if str(secret).encode() in file.read_bytes()] == []
    async with open_with(box) as app:
        assert not (await app.run_tool("add", arguments)).cached
        assert (await app._calls.run_tool("add", arguments, chain=("outer",))).cached


async def test_failures_and_results_that_do_not_fit_are_never_kept(open_with: Open) -> None:
    answers = [
        RunResult(status="error", error_type="ValueError"),
        RunResult(status="timeout"),
        RunResult(status="ok", value="three"),
        RunResult(status="ok", value=3),
    ]
    box = ScriptedSandbox(lambda _job: answers.pop(0))
    async with open_with(box) as app:
        statuses = [(await app.run_tool("add", ONE_TWO)).result.status for _ in range(5)]
    assert statuses == ["error", "timeout", "bad_result", "ok", "ok"]
    assert answers == []


async def test_a_person_switches_it_off_for_one_tool(open_with: Open) -> None:
    box = ScriptedSandbox(adding)
    async with open_with(box, adder(), adder("sum_up")) as app:
        for name in ("add", "sum_up"):
            await app.run_tool(name, ONE_TWO)
        await app.library.set_caching("add", on=False)
        assert [(await app.run_tool(name, ONE_TWO)).cached for name in ("add", "sum_up")] == [False, True]
        await app.library.set_caching("add", on=True)
        assert (await app.run_tool("add", ONE_TWO)).cached


async def test_a_tool_that_may_not_be_called_is_not_answered_from_memory_either(open_with: Open) -> None:
    async with open_with() as app:
        await app.run_tool("add", ONE_TWO)
        with pytest.raises(InvalidArguments):
            await app.run_tool("add", {"a": 1})
        await app.library.disable("add")
        with pytest.raises(ToolUnavailable, match="disabled"):
            await app.run_tool("add", ONE_TWO)
        await app.library.enable("add")
        file = app.library.home / "generated_tools" / "add" / "v1" / "tool.py"
        file.write_text("evil = 1\n")
        with pytest.raises(ToolQuarantined):
            await app.run_tool("add", ONE_TWO)


async def test_a_forged_value_that_breaks_the_schema_is_computed_again(open_with: Open) -> None:
    box = ScriptedSandbox(adding)
    async with open_with(box) as app:
        await app.run_tool("add", ONE_TWO)
    with closing(sqlite3.connect(found(app.library.home, "results/*.sqlite3")[0])) as database, database:
        value = b'{"value":"three","stdout":"","stderr":""}'
        database.execute("UPDATE result SET value = ?", (value,))
    async with open_with(box) as app:
        answer = await app.run_tool("add", ONE_TWO)
        assert (answer.cached, answer.structured_content) == (False, {"result": 3})


async def test_a_new_version_starts_with_nothing_kept(open_with: Open) -> None:
    box = ScriptedSandbox(adding)
    async with open_with(box) as app:
        await app.run_tool("add", ONE_TWO)
        changed = adder()
        draft = changed.draft.model_copy(
            update={"code": changed.draft.code + "# the same, but not the same\n"}
        )
        await app.library.publish(changed.model_copy(update={"draft": draft}), expected_version=1)
        assert not (await app.run_tool("add", ONE_TWO)).cached
        assert (await app.run_tool("add", ONE_TWO, version=1)).cached
