"""`solve_task` through the client's eyes: answers, progress, jobs, tasks, questions, and clients that go."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import MCPError

from alita_mcp.agent.values import Claim
from alita_mcp.research.values import Source
from alita_mcp.server.agents.texts import solution_fields, solution_text
from alita_mcp.settings import FixedLimits, Settings
from tests.server.agents.scripted import Working, answers_at_once, never_answers, says, serving, solved
from tests.server.in_memory import called, connected, refused, succeeded, text_of

RUN = "0" * 32


async def test_a_task_is_answered_with_its_steps(settings: Settings, era: str) -> None:
    made = serving(settings)
    async with connected(made.server(), era) as client:
        answer = await called(client, "solve_task", task="add up")
    told = answer.structured_content
    assert isinstance(told, dict)
    assert (told["status"], told["answer"], told["solved"], told["calls"]) == ("solved", "ADD UP", True, 2)
    assert told["steps"] == [{"number": 1, "tool": "run_code", "ok": True}]
    assert text_of(answer).startswith("ADD UP\n(Solved: 1 steps")


HOSTILE: list[dict[str, Any]] = [
    {"task": 7}, {"task": "t", "max_steps": 0}, {"task": "t", "max_usd": -1}, {"task": "t", "max_seconds": "x"},
    {"task": "t" * 20_001}, {"task": "t", "files": ["/etc/passwd"]}, {"task": "t", "hosts": ["a.example"]},
    {"task": "\ud800"}, {"task": "t", "job_id": RUN}, {"job_id": RUN}, {"job_id": "../../etc"}, {"job_id": 7},
]  # fmt: skip


async def test_what_does_not_fit_is_refused_and_begins_nothing(settings: Settings) -> None:
    made = serving(settings)
    async with connected(made.server(), "modern") as client:
        for arguments in HOSTILE:
            with suppress(MCPError, UnicodeEncodeError):  # the client itself cannot send half of a pair
                await refused(client, "solve_task", **arguments)
        await succeeded(client, "search_capabilities", query="anything")
    assert made.tasks.begun == []


async def test_a_budget_can_be_smaller_than_the_settings_and_never_wider(settings: Settings) -> None:
    limits = FixedLimits(task_steps=9, task_seconds=0.0)
    made = serving(settings, settings_budget_usd=1.0, settings_limits=limits)
    async with connected(made.server(), "modern") as client:
        await succeeded(client, "solve_task", task="a", max_steps=3, max_usd=0.5, max_seconds=7)
        await succeeded(client, "solve_task", task="b", max_steps=900, max_usd=99)
    small, wide = (request.budget for request in made.tasks.begun)
    assert (small.steps, small.usd, small.seconds) == (3, 0.5, 7.0)
    assert (wide.steps, wide.usd, wide.seconds) == (9, 1.0, 0.0)


async def test_a_task_that_outlasts_its_call_is_a_job(settings: Settings, era: str) -> None:
    go_on = anyio.Event()

    async def slow(work: Working) -> str:
        await go_on.wait()
        return await answers_at_once(work)

    made = serving(settings, slow, settings_limits=FixedLimits(answer_within_s=0.05))
    async with connected(made.server(), era) as client:
        told = await succeeded(client, "solve_task", task="t")
        assert (told["status"], told["next"]) == ("working", "call solve_task with this job_id")
        job = told["job_id"]
        assert "is a job of solve_task" in await refused(client, "synthesize_tool", job_id=job)
        go_on.set()
        while (told := await succeeded(client, "solve_task", job_id=job))["status"] == "working":  # noqa: ASYNC110
            await anyio.sleep(0.01)
        assert (told["answer"], told["run"]) == ("T", job)
        assert len(made.tasks.begun) == 1


async def test_the_same_request_while_it_is_under_way_is_the_same_task(settings: Settings) -> None:
    made = serving(settings, never_answers, settings_limits=FixedLimits(answer_within_s=0.05))
    async with connected(made.server(), "modern") as client:
        first = await succeeded(client, "solve_task", task="t")
        again = await succeeded(client, "solve_task", task="t")
        other = await succeeded(client, "solve_task", task="u")
        while len(made.tasks.begun) < 2:  # noqa: ASYNC110 - a queue of several servers gives them out a moment later
            await anyio.sleep(0.01)
    assert first["job_id"] == again["job_id"] != other["job_id"]
    assert len(made.tasks.begun) == 2


async def test_a_run_that_ended_long_ago_is_told_from_the_store(settings: Settings) -> None:
    made = serving(settings)
    async with connected(made.server(), "modern") as client:
        run = (await succeeded(client, "solve_task", task="t"))["run"]
        made.tasks.app.jobs._jobs.clear()
        assert (await succeeded(client, "solve_task", job_id=run))["answer"] == "T"


# --- questions to the person


async def asks(work: Working) -> str:
    said = await work.ask("Which year?\u202e") if work.ask is not None else "nobody is there"
    return f"said {said}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (says("2024"), "said 2024"),
        (says("  "), "said None"),
        (types.ElicitResult(action="decline"), "said None"),
        (types.ElicitResult(action="accept", content={"answer": 7}), "said None"),
    ],
)
async def test_a_question_reaches_the_person_as_a_form_of_one_line(
    settings: Settings, era: str, answer: types.ElicitResult, told: str
) -> None:
    forms: list[Any] = []

    async def person(_ctx: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        forms.append(params)
        return answer

    async with connected(serving(settings, asks).server(), era, elicitation_callback=person) as client:
        done = await succeeded(client, "solve_task", task="t")
    assert done["answer"] == told
    assert list(forms[0].requested_schema["properties"]) == ["answer"]
    assert "Which year?<U+202E>" in forms[0].message
    assert "a password" in forms[0].message


@pytest.mark.parametrize("elicit", [None, False])
async def test_where_nobody_may_be_asked_the_task_goes_on_without(
    settings: Settings, elicit: bool | None
) -> None:
    async def person(_ctx: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
        raise AssertionError

    options: dict[str, Any] = {} if elicit is None else {"elicitation_callback": person}
    made = serving(settings, asks, settings_elicit=elicit)
    async with connected(made.server(), "modern", **options) as client:
        assert (await succeeded(client, "solve_task", task="t"))["answer"] == "said nobody is there"


# --- texts


def test_an_answer_says_how_it_was_stopped_and_what_nothing_observed_says() -> None:
    solution = solved(
        RUN, "t", "about 7", stopped="money", stopped_why="2 USD are spent.", cost=2.0,
        claims=(Claim(claim="it is 7"), Claim(claim="it is prime", reference="o1", quote="q" * 900)),
        tools_made=("count_it",), sources=tuple(Source(url=f"https://{n}.example/") for n in range(7)),
    ).model_copy(update={"solved": False})  # fmt: skip
    told = solution_fields(solution)
    text = solution_text(told)
    assert told["status"] == "unsolved"
    assert len(told["claims"][1]["quote"]) == 300
    assert "Not solved: 1 steps, 2 model calls, 0.0 s, 2.0000 USD" in text
    assert "Stopped by its budget: 2 USD are spent. The answer above is the best so far." in text
    assert "Not supported by any observation: it is 7\n" in text
    assert "Tools made: count_it." in text
    assert "https://4.example/ and 2 more" in text
