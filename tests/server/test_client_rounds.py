"""The rounds in which a client of 2026-07-28 answers: bundled, bound, taken once, bounded, never hanging."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import advertise

from alita_mcp.errors import UsageError
from alita_mcp.server.rounds import MAX_ROUNDS, read_state
from alita_mcp.server.tasks import EXTENSION
from alita_mcp.synthesis.jobs.jobs import MAX_PARKED
from tests.server.in_memory import Build, connected, finished, names_of, raw, succeeded, text_of
from tests.server.lender import ASKED, Lender, message, written
from tests.synthesis.authors import COUNT, WISH, coded

pytestmark = pytest.mark.slow

ON = {"client_model": True}
STANDARD = {"description": WISH, "mode": "standard"}
Round = types.InputRequiredResult
Outcome = types.CallToolResult | types.InputRequiredResult


async def step(
    client: Client,
    before: Round | None = None,
    answers: dict[str, Any] | None = None,
    arguments: dict[str, Any] | None = None,
) -> Outcome:
    """One call of `synthesize_tool` by hand."""
    return await client.session.call_tool(
        "synthesize_tool",
        arguments or ASKED,
        input_responses=answers,
        request_state=before.request_state if before else None,
        allow_input_required=True,
    )


async def asked(client: Client, *given: Any, **more: Any) -> Round:
    found = await step(client, *given, **more)
    assert isinstance(found, Round), found
    assert found.input_requests
    return found


async def answers_to(found: Round, lender: Lender | None = None) -> dict[str, Any]:
    said = lender or Lender()
    return {key: await said(None, request.params) for key, request in (found.input_requests or {}).items()}  # type: ignore[arg-type]


def refusal_of(found: Outcome) -> str:
    assert isinstance(found, types.CallToolResult)
    assert found.is_error
    return text_of(found)


async def test_what_can_be_asked_at_once_is_asked_in_one_round(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        first = await asked(client, arguments=STANDARD)
        assert len(first.input_requests or {}) == 1
        second = await asked(client, first, await answers_to(first), STANDARD)
        assert len(second.input_requests or {}) == 3
        done = await step(client, second, await answers_to(second), STANDARD)
    assert isinstance(done, types.CallToolResult)
    assert done.structured_content["status"] == "created"


async def test_thorough_asks_what_it_draws_next_in_one_round(build: Build) -> None:
    thorough = {"description": WISH, "mode": "thorough"}
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        first = await asked(client, arguments=thorough)
        second = await asked(client, first, await answers_to(first), thorough)
        third = await asked(client, second, await answers_to(second), thorough)
    assert [len(each.input_requests or {}) for each in (first, second, third)] == [1, 3, 3]


async def test_answers_that_nobody_asked_for_start_nothing_and_count_for_nothing(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        unasked = {f"question-{number}": message(written("code")) for number in range(9)}
        first = await asked(client, None, unasked)
        second = await asked(client, first, {**unasked, **await answers_to(first)})
        assert "Specify a tool" not in second.model_dump_json(), (
            "the specification was taken, the rest was not"
        )
        assert (second.input_requests or {}).keys().isdisjoint(first.input_requests or {})


async def test_answers_are_taken_once(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        first = await asked(client)
        second = await asked(client, first, await answers_to(first))
        again = await step(client, first, await answers_to(first))
        assert "they were not taken" in refusal_of(again)
        done = await step(client, second, await answers_to(second))
    assert isinstance(done, types.CallToolResult)
    assert done.structured_content["status"] == "created"


async def test_a_state_that_is_not_ours_or_of_another_request_is_refused(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        first = await asked(client)
        answers = await answers_to(first)
        state = first.request_state or ""
        for forged in ("", "x", '{"job": "a", "round": "b", "rounds": 0}', state[:-2], state[:-1] + "A" * 2):
            with pytest.raises(MCPError):
                await step(client, Round(request_state=forged), answers)
        with pytest.raises(MCPError):
            await step(client, first, answers, {"description": "Another wish."})
        with pytest.raises(MCPError):
            await client.session.call_tool("run_tool", ASKED, request_state=state, allow_input_required=True)
        assert "digit_sum" not in await names_of(client)
        assert isinstance(await step(client, first, answers), Round), "the one who was asked still goes on"


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"job": 1, "round": "a", "rounds": 1}', "[" * 100_000])
def test_a_state_that_holds_something_else_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError, match="not one of synthesize_tool"):
        read_state(text)


async def test_a_state_of_another_server_is_refused(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as one:
        first = await asked(one)
        async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as other:
            with pytest.raises(MCPError):
                await step(other, first, await answers_to(first))


async def test_two_syntheses_of_the_same_words_do_not_mix(build: Build) -> None:
    server = build(settings=ON)
    async with (
        connected(server, "modern", sampling_callback=Lender()) as one,
        connected(server, "modern", sampling_callback=Lender()) as two,
    ):
        first, other = await asked(one), await asked(two)
        assert first.request_state != other.request_state
        await asked(one, first, await answers_to(first))
        refusal = await step(two, first, await answers_to(first))
        assert "they were not taken" in refusal_of(refusal)
        assert isinstance(await step(two, other, await answers_to(other)), Round)


@pytest.mark.parametrize(
    "response",
    [
        types.ElicitResult(action="accept", content={"text": "x"}),
        types.ListRootsResult(roots=[]),
        message("", content=types.ImageContent(data="aGk=", mime_type="image/png")),
    ],
)
async def test_an_answer_of_another_kind_ends_it_in_words(build: Build, response: Any) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        first = await asked(client)
        ended = await step(client, first, dict.fromkeys(first.input_requests or {}, response))
        assert "The client's model answered with" in refusal_of(ended)


async def test_a_question_without_an_answer_is_asked_once_more_and_then_refused(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        first = await asked(client)
        again = await asked(client, first, {})
        assert again.input_requests == first.input_requests
        assert "left a question unanswered" in refusal_of(await step(client, again, {}))


async def worn_out(client: Client) -> tuple[Round, dict[str, Any]]:
    """The last round that one call may be answered with, and answers to it that lead to more questions.

    Each question goes unanswered once, and what is answered first cannot be read: that takes four rounds each.
    """
    lender = Lender(lambda kind, _: coded(COUNT) if kind == "code" else written(kind))
    prose = Lender(lambda _kind, _number: "prose")
    found = await asked(client)
    for rounds in range(1, MAX_ROUNDS):
        said = {2: prose, 0: lender}.get(rounds % 4)
        found = await asked(client, found, await answers_to(found, said) if said else {})
    return found, await answers_to(found, prose)


async def test_rounds_that_run_out_leave_a_job_that_the_next_call_goes_on_with(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        found = await step(client, *await worn_out(client))
        assert isinstance(found, types.CallToolResult)
        assert found.structured_content["status"] == "working"
        assert "more questions for your model" in found.structured_content["next"]
        assert "call synthesize_tool with this job_id" in text_of(found)
        done = await succeeded(client, "synthesize_tool", job_id=found.structured_content["job_id"])
    assert done["status"] == "created"


async def test_a_call_by_the_jobs_id_gets_the_questions_and_the_round_before_ends(build: Build) -> None:
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        found = await step(client, *await worn_out(client))
        assert isinstance(found, types.CallToolResult)
        by_id = {"job_id": found.structured_content["job_id"]}
        first = await asked(client, arguments=by_id)
        second = await asked(client, arguments=by_id)
        assert first.input_requests == second.input_requests
        assert "they were not taken" in refusal_of(await step(client, first, await answers_to(first), by_id))
        done = await step(client, second, await answers_to(second), by_id)
    assert isinstance(done, types.CallToolResult)
    assert done.structured_content["status"] == "created"


async def test_a_parked_synthesis_that_nobody_comes_back_to_ends_by_itself(build: Build) -> None:
    settings = {**ON, "client_model_wait_s": 0.3}
    async with connected(build(settings=settings), "modern", sampling_callback=Lender()) as client:
        first = await asked(client)
        await anyio.sleep(0.6)
        ended = await step(client, first, await answers_to(first))
        assert isinstance(ended, types.CallToolResult)
        assert ended.is_error
        assert "digit_sum" not in await names_of(client)


async def test_parked_syntheses_are_bounded_and_keep_nobody_from_working(build: Build) -> None:
    async with connected(
        build(settings={**ON, "max_syntheses": 1}), "modern", sampling_callback=Lender()
    ) as client:
        for number in range(MAX_PARKED):
            await asked(client, arguments={**ASKED, "description": f"{WISH} {number}"})
        assert "wait for the models of their clients" in refusal_of(await step(client))
        template = await succeeded(client, "synthesize_tool")
        assert template["status"] == "needs_code", "who needs no client's model gets a turn at once"


async def test_a_call_that_ends_in_the_middle_ends_the_synthesis(build: Build) -> None:
    lender = Lender()
    async with connected(build(settings=ON), "modern", sampling_callback=lender) as client:
        first = await asked(client, arguments=STANDARD)
        second = await asked(client, first, await answers_to(first), STANDARD)
        answers = await answers_to(second)
        with anyio.move_on_after(0.01):
            await step(client, second, answers, STANDARD)
        again = await step(client, second, answers, STANDARD)
        assert isinstance(again, types.CallToolResult)
        assert "Internal error" not in text_of(again)


async def test_answers_that_cannot_be_read_are_asked_for_once_more_and_end_in_words(build: Build) -> None:
    prose = Lender(lambda _kind, _number: "prose")
    async with connected(build(settings=ON), "modern", sampling_callback=Lender()) as client:
        first = await asked(client)
        second = await asked(client, first, await answers_to(first, prose))
        ended = await step(client, second, await answers_to(second, prose))
    assert "twice gave no readable Specification" in refusal_of(ended)


@asynccontextmanager
async def with_tasks(build: Build) -> AsyncIterator[tuple[Client, str]]:
    """A client that takes tasks, and the task that its synthesis became once there were no rounds left."""
    tasks = [advertise(EXTENSION)]
    async with connected(
        build(settings=ON), "modern", sampling_callback=Lender(), extensions=tasks
    ) as client:
        last, answers = await worn_out(client)
        wire = {
            key: each.model_dump(by_alias=True, mode="json", exclude_none=True)
            for key, each in answers.items()
        }
        started = await raw(
            client,
            "tools/call",
            name="synthesize_tool",
            arguments=ASKED,
            inputResponses=wire,
            requestState=last.request_state,
        )
        assert started["resultType"] == "task"
        yield client, started["taskId"]


async def asking(client: Client, task_id: str) -> dict[str, Any]:
    """What a task asks for, once it does."""
    while not (task := await raw(client, "tasks/get", taskId=task_id)).get("inputRequests"):
        assert task["status"] == "working"
        await anyio.sleep(0.02)
    return dict(task["inputRequests"])


async def test_a_client_with_tasks_is_asked_by_its_task(build: Build) -> None:
    async with with_tasks(build) as (client, task_id):
        given = {}
        for key, request in (await asking(client, task_id)).items():
            answer = await Lender()(None, types.CreateMessageRequestParams.model_validate(request["params"]))
            given[key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        await raw(client, "tasks/update", taskId=task_id, inputResponses=given)
        done = await finished(client, task_id)
    assert done["status"] == "completed"
    assert done["result"]["structuredContent"]["status"] == "created"


@pytest.mark.parametrize(
    "response", [[], "x", None, {"content": "x"}, {"role": "assistant", "content": [[]]}]
)
async def test_a_task_that_is_answered_with_nonsense_ends_in_words(build: Build, response: Any) -> None:
    async with with_tasks(build) as (client, task_id):
        nonsense = dict.fromkeys(await asking(client, task_id), response)
        await raw(client, "tasks/update", taskId=task_id, inputResponses=nonsense)
        done = await finished(client, task_id)
    assert done["result"]["isError"]
    assert "client's model answered with" in done["result"]["content"][0]["text"]


async def test_a_task_that_is_cancelled_while_it_asks_ends_its_synthesis(build: Build) -> None:
    async with with_tasks(build) as (client, task_id):
        await asking(client, task_id)
        await raw(client, "tasks/cancel", taskId=task_id)
        assert (await raw(client, "tasks/get", taskId=task_id))["status"] == "cancelled"
        for number in range(MAX_PARKED):  # one of so many places was its own
            await asked(client, arguments={**ASKED, "description": f"{WISH} {number}"})
        assert "digit_sum" not in await names_of(client)
