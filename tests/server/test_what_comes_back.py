"""What comes back is noticed in the answers of `run_code`, in both eras, and the call that it names can be made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from alita_mcp.app import open_app
from alita_mcp.library.leftovers import find_leftovers, remove_leftovers
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.settings import Settings
from tests.library.factory import found
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.in_memory import Build, called, connected, succeeded

CODE = "result = [word[:{cut}] for word in {words!r}]"


def scripted(job: Job) -> RunResult:
    """What the program inside would tell of the code above."""
    seen: dict[str, Any] = dict(job.arguments["arguments"])
    try:
        exec(job.arguments["code"], seen)  # the tests' own lines
    except (ValueError, SyntaxError) as failure:
        told = {
            "error": {"type": type(failure).__name__, "message": str(failure), "trace": job.arguments["code"]}
        }
        return RunResult(status="ok", value=told)
    told = {"kind": "json", "value": seen["result"], "error": None}
    return RunResult(status="ok", value=told, wall_seconds=0.001)


async def test_the_third_like_run_says_how_to_keep_it_and_the_fourth_does_not(build: Build, era: str) -> None:
    async with connected(build(sandbox=ScriptedSandbox(scripted)), era) as client:
        told = [
            await succeeded(client, "run_code", code=CODE.format(cut=cut, words=["ant", "bee", "c" * cut]))
            for cut in (1, 2, 3, 4)
        ]
        assert ["keep" in each for each in told] == [False, False, True, False]
        assert json.dumps([each["run"] for each in told[:3]]) in told[2]["keep"]
        assert "ran 3 times with different values of value_1, word_values. " in told[2]["keep"]
        assert "as a tool `(value_1: int, word_values: list[str]) -> list[str]`" in told[2]["keep"]


async def test_no_byte_of_what_code_was_given_or_gave_lies_in_the_home(build: Build, home: Path) -> None:
    said = "the colour of the vault door"
    built = build(sandbox=ScriptedSandbox(scripted))
    async with connected(built, "modern") as client:
        for number in (1, 2, 3):
            code = f"limit = {number}\nresult = [text, {said!r}][:limit]"
            await called(client, "run_code", code=code, arguments={"text": said})
        await called(client, "run_code", code=f"raise ValueError({said!r})", arguments={"text": said})
        await called(client, "run_code", code=f"result = ({said!r}")
    files = [place for place in found(home, "**/*") if place.is_file()]
    assert [place for place in files if said.encode() in place.read_bytes()] == []


async def test_the_runs_that_an_earlier_version_kept_go_only_when_a_person_says_so(
    settings: Settings,
) -> None:
    kept = settings.home / "code-runs"
    kept.mkdir(parents=True)
    (kept / "one.json").write_text("{}")
    sandbox = ScriptedSandbox(scripted)
    async with open_app(settings, admit=lambda _manifest: (), sandbox=sandbox, serves=True):
        assert (kept / "one.json").read_text() == "{}"
    assert find_leftovers(settings.home) == {"code-runs": "runs of code"}
    remove_leftovers(settings.home)
    assert not kept.exists()
