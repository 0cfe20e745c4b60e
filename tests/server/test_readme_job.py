"""The job that comes back, as the README tells it: the same program three times, and then a tool."""

from __future__ import annotations

import json

import pytest
from mcp import Client

from tests.docs.documents import README, fences
from tests.server.in_memory import called, text_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]


async def test_the_job_that_comes_back_becomes_a_tool(client: Client) -> None:
    (program,) = fences(README, "python")
    (request,) = [json.loads(text) for text in fences(README, "json") if '"from_run"' in text]
    keep, published, found = fences(README, "text")
    runs, answers = [], []
    for amount in ("10.50", "99", "-1.25"):
        answers.append(await called(client, "run_code", code=program.replace("10.50", amount)))
        runs.append(answers[-1].structured_content["run"])
    assert f"`{text_of(answers[0]).splitlines()[0]}`" in README.read_text(encoding="utf-8")
    said = text_of(answers[-1])
    for run, short in zip(runs, request["from_run"], strict=True):
        said = said.replace(run, short)
    assert [line for line in keep.splitlines() if line not in said.splitlines()] == []
    made = await called(client, "synthesize_tool", **(request | {"from_run": runs}))
    assert published.strip() in text_of(made)
    searched = await called(
        client, "search_capabilities", query="what did every region sell according to this report?"
    )
    assert text_of(searched).startswith(found.strip())
