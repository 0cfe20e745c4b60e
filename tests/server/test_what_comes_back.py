"""What comes back is noticed in the answers of `run_code`, in both eras, and the call that it names can be made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alita_mcp.sandbox.scripted import ScriptedSandbox
from alita_mcp.sandbox.seam import Job, RunResult
from tests.server.in_memory import ERAS, Build, called, connected, succeeded, text_of

CODE = "result = [word[:{cut}] for word in {words!r}]"


def scripted(job: Job) -> RunResult:
    """What the program inside would tell of the code above."""
    seen: dict[str, Any] = {}
    exec(job.arguments["code"], {}, seen)  # the tests' own lines
    told = {"kind": "json", "value": seen["result"], "error": None}
    return RunResult(status="ok", value=told, wall_seconds=0.001)


@pytest.mark.parametrize("era", ERAS)
async def test_the_third_like_run_says_how_to_keep_it_and_the_fourth_does_not(build: Build, era: str) -> None:
    async with connected(build(sandbox=ScriptedSandbox(scripted)), era) as client:
        told = [
            await succeeded(client, "run_code", code=CODE.format(cut=cut, words=["ant", "bee", "c" * cut]))
            for cut in (1, 2, 3, 4)
        ]
        assert ["keep" in each for each in told] == [False, False, True, False]
        assert json.dumps([each["run"] for each in told[:3]]) in told[2]["keep"]
        assert "cut" not in told[2]["keep"]
        assert "-> list[str]" in told[2]["keep"]


async def test_the_text_of_the_answer_says_it_too(build: Build) -> None:
    async with connected(build(sandbox=ScriptedSandbox(scripted)), "modern") as client:
        for cut in (1, 2, 3):
            done = await called(client, "run_code", code=CODE.format(cut=cut, words=["ant", "bee"]))
        assert "\nkeep: ran 3 times with other values: `synthesize_tool` with from_run [" in text_of(done)


@pytest.mark.slow
@pytest.mark.parametrize("era", ERAS)
async def test_the_line_can_be_followed_and_is_then_not_said_again(build: Build, era: str) -> None:
    async with connected(build(), era) as client:
        for cut in (1, 2, 3):
            told = await succeeded(
                client, "run_code", code=CODE.format(cut=cut, words=["ant", "bee", "c" * cut])
            )
        ids = json.loads(told["keep"].split("from_run ")[1].split(", as")[0])
        made = await succeeded(
            client,
            "synthesize_tool",
            from_run=ids,
            name="cut_words",
            description="Cuts words to their beginnings.",
        )
        assert made["status"] == "created"
        found = await succeeded(client, "search_capabilities", query="cut words to their beginnings")
        assert found["results"][0]["name"] == "cut_words"
    async with connected(build(), era) as other:
        for cut in (4, 5):
            told = await succeeded(other, "run_code", code=CODE.format(cut=cut, words=["ant", "bee"]))
            assert "keep" not in told
