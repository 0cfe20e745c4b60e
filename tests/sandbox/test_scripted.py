"""The sandbox that runs nothing answers from its script and remembers what it was asked."""

from __future__ import annotations

from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox


async def test_it_answers_from_a_function_and_keeps_the_jobs() -> None:
    sandbox: Sandbox = ScriptedSandbox(
        lambda job: RunResult(status="ok", value=job.arguments["a"] + 1), kind="docker"
    )
    job = Job(code="raise SystemExit", function="tool", arguments={"a": 1})

    assert (await sandbox.run(job)).value == 2
    assert isinstance(sandbox, ScriptedSandbox)
    assert (sandbox.kind, sandbox.jobs) == ("docker", [job])
    assert (await sandbox.probe()).isolates


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
