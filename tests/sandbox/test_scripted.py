"""The sandbox that runs nothing answers from its script and remembers what it was asked."""

from __future__ import annotations

from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox, call_key


async def test_it_answers_from_a_function_and_keeps_the_jobs() -> None:
    sandbox: Sandbox = ScriptedSandbox(lambda job: RunResult(status="ok", value=job.arguments["a"] + 1))
    job = Job(code="raise SystemExit", function="tool", arguments={"a": 1})

    assert (await sandbox.run(job)).value == 2
    assert isinstance(sandbox, ScriptedSandbox)
    assert sandbox.jobs == [job]
    assert (await sandbox.probe()).isolates


async def test_it_answers_from_a_table_and_an_unknown_call_is_the_tools_error() -> None:
    table = {call_key("tool", {"b": 1, "a": 2}): RunResult(status="ok", value=3)}
    sandbox = ScriptedSandbox.of_calls(table, kind="docker")

    known = await sandbox.run(Job(code="", function="tool", arguments={"a": 2, "b": 1}))
    unknown = await sandbox.run(Job(code="", function="tool", arguments={}))

    assert (sandbox.kind, known.value) == ("docker", 3)
    assert (unknown.status, unknown.error_type) == ("error", "LookupError")


async def test_packages_resolve_in_name_only() -> None:
    said: list[str] = []

    async def hear(line: str) -> None:
        said.append(line)

    sandbox = ScriptedSandbox(lambda job: RunResult(status="ok"))
    lock = await sandbox.resolve(("b", "a"), hear)
    await sandbox.prepare(lock, hear)
    await sandbox.aclose()

    assert [line.partition(" ")[0] for line in lock.requirements] == ["a==0", "b==0"]
    assert said == ["resolving b, a", "installing 2 packages"]
    assert sandbox.closed
