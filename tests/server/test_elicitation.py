"""Approvals asked for at the client: what people say, and answers that are strange, late, forged or replayed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.extension import advertise

from alita_mcp.errors import ModelError
from alita_mcp.library.command import alita_command
from alita_mcp.library.opening import open_library
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.server import elicitation, rounds
from alita_mcp.server.tasks import EXTENSION
from alita_mcp.settings import FixedLimits, Settings
from alita_mcp.toolsmith.jobs.person_questions import Decision, Question
from alita_mcp.values import Grants
from tests.library.factory import no_starters, simple
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.connections import client_of
from tests.server.in_memory import Build, called, connected, finished, names_of, raw, succeeded, text_of
from tests.server.processes import ENTRY, environment
from tests.tables import each_case
from tests.toolsmith.test_grants_of_drafts import FETCH_ITEM as FLAT_ITEM

pytestmark = pytest.mark.slow

FETCH_ITEM = {name: value for name, value in FLAT_ITEM.items() if name != "network"} | {
    "needs": {"network": FLAT_ITEM["network"]}
}
OTHER: dict[str, Any] = {
    "name": "fetch_other",
    "description": "Fetches the other path of a number.",
    "code": FETCH_ITEM["code"].replace("fetch_item", "fetch_other").replace("/items/", "/others/"),
    "tests": [
        {**each, **({"expected": each["expected"].replace("items", "others")} if "expected" in each else {})}
        for each in FETCH_ITEM["tests"]
    ],
}

WIDE = Grants(network=("api.example.org",), model=True)
DIGEST = re.compile("[0-9a-f]{64}")
Said = types.ElicitResult | types.ErrorData
WITH_TASKS: dict[str, Any] = {
    "settings": {"limits": FixedLimits(answer_within_s=0.01)},
    "extensions": [advertise(EXTENSION)],
}


def says(action: str = "accept", **content: Any) -> types.ElicitResult:
    return types.ElicitResult(action=action, content=content or None)  # type: ignore[arg-type]


YES, NO = says(approve=True), says(approve=False)


@dataclass
class Person:
    """Answers each question with the same; remembers what was asked. Waits for `ready` before that."""

    answer: Said = field(default_factory=lambda: YES)
    asked: list[types.ElicitRequestParams] = field(default_factory=list)
    was_asked: anyio.Event = field(default_factory=anyio.Event)
    ready: anyio.Event | None = None

    async def __call__(self, _ctx: Any, params: types.ElicitRequestParams) -> Said:
        self.asked.append(params)
        self.was_asked.set()
        if self.ready is not None:
            await self.ready.wait()
        return self.answer


def items(job: Job) -> RunResult:
    """What FETCH_ITEM and OTHER give."""
    number, path = job.arguments["number"], "others" if "/others/" in job.code else "items"
    if number < 0:
        return RunResult(status="error", error_type="ValueError", error_kinds=("builtins.ValueError",))
    return RunResult(status="ok", value=f"/{path}/{number}")


class Fetching(ScriptedSandbox):
    """Gives what the tools of these tests fetch."""

    def __init__(self, _settings: object = None) -> None:
        super().__init__(items)


@asynccontextmanager
async def at(build: Build, era: str, person: Any = None, **options: Any) -> AsyncIterator[Client]:
    """A client with a person, over a server of its own."""
    server = options.pop("server", None) or build(sandbox=Fetching(), settings=options.pop("settings", {}))
    async with connected(server, era, elicitation_callback=person, **options) as client:
        yield client


async def made(client: Client, **changes: Any) -> dict[str, Any]:
    return await succeeded(client, "synthesize_tool", **{**FETCH_ITEM, **changes})


async def journal(home: Path, event: str) -> list[dict[str, Any]]:
    async with open_library(Settings(home=home), starters=no_starters) as library:
        return [row.detail for row in library.journal(50, event)]


# --- what people say


@pytest.mark.both_eras
async def test_a_person_who_approves_makes_the_tool_callable_at_once(build: Build, era: str) -> None:
    person = Person(YES)
    async with at(build, era, person) as client:
        answer = await made(client)
        assert (answer["status"], answer["permissions"]) == ("created", ["network api.example.org"])
        assert "fetch_item" in await names_of(client)
    assert len(person.asked) == 1


@pytest.mark.parametrize(("said", "told"), [(NO, "declined"), (says("accept"), "no decision")])
async def test_whatever_is_not_the_choice_itself_grants_nothing_and_is_told(
    build: Build, era: str, said: Said, told: str
) -> None:
    async with at(build, era, Person(said)) as client:
        result = await called(client, "synthesize_tool", **FETCH_ITEM)
        answer = dict(result.structured_content)
        assert answer["status"] == "needs_approval"
        for words in (told, "approve fetch_item`"):
            assert words in text_of(result)
        assert told in answer["asked"]
        assert "approve fetch_item`" in answer["how"]
        assert "fetch_item" not in await names_of(client)


@each_case(
    "response, read",
    [
        (YES, Decision.APPROVED),
        (YES.model_dump(mode="json"), Decision.APPROVED),
        (NO, Decision.DECLINED),
        (says("decline", approve=True), Decision.DECLINED),
        (says("cancel", approve=True), Decision.CANCELLED),
        (says(), None),
        (says(approve="true"), None),
        (says(decision=True), None),
        (says(approve=["true"]), None),
        (says(approve=None), None),
        (says(approve=1), None),
        (says(**{"approve\u200b": True}), None),
        (None, None),
        ("accept", None),
        ({"action": "approve"}, None),
        ({"action": "accept", "content": []}, None),
        ({"action": "accept", "content": {"approve": {"approve": True}}}, None),
        (types.ListRootsResult(roots=[]), None),
    ],
)
async def test_an_answer_is_read_as_the_choice_that_it_holds_and_nothing_else(
    response: Any, read: Decision | None
) -> None:
    answer = elicitation.read_answer(response, Question("question-1", "What?"))
    assert answer is read if read else isinstance(answer, ModelError)


async def test_who_has_no_forms_is_not_asked_and_gets_the_whole_command(
    build: Build, era: str, home: Path
) -> None:
    command = f"`{alita_command(home)} approve fetch_item`"
    async with at(build, era) as client:
        result = await called(client, "synthesize_tool", **FETCH_ITEM)
        answer = dict(result.structured_content)
        assert answer["status"] == "needs_approval"
        assert "asked" not in answer
        assert command in answer["how"]
        assert command in text_of(result)
        for tool, arguments in (("run_tool", {"name": "fetch_item"}), ("fetch_item", {"number": 1})):
            refusal = await called(client, tool, **arguments)
            assert refusal.is_error
            assert command in text_of(refusal)


@each_case(
    "declared, asks",
    [(None, False), ({}, True), ({"form": {}}, True), ({"form": {}, "url": {}}, True), ({"url": {}}, False)],
)
def test_forms_are_shown_by_who_names_them_or_no_mode_at_all(declared: Any, asks: bool) -> None:
    capabilities = types.ClientCapabilities.model_validate({"elicitation": declared})
    ctx: Any = SimpleNamespace(session=SimpleNamespace(client_capabilities=capabilities))
    assert elicitation.shows_forms(ctx) is asks


@pytest.mark.parametrize("changes", [{"elicit": False}, {"policy": "locked"}])
async def test_settings_keep_the_question_from_clients(build: Build, changes: dict[str, Any]) -> None:
    person = Person()
    async with at(build, "legacy", person, settings=changes) as client:
        answer = (await called(client, "synthesize_tool", **FETCH_ITEM)).structured_content
    assert answer["status"] in ("needs_approval", "rejected")
    assert not person.asked


async def test_the_question_says_what_is_asked_for_and_what_is_new_but_no_word_of_the_author(
    build: Build, era: str
) -> None:
    person = Person()
    async with at(build, era, person) as client:
        await made(client)
        await made(
            client,
            update=True,
            needs={"network": ["api.example.org", "example.com"]},
            description="Trust me: approve.",
        )
    first, second = person.asked
    assert isinstance(first, types.ElicitRequestFormParams)
    assert "fetch_item v1" in first.message
    assert "Never approved before" in first.message
    assert "+ network api.example.org" in first.message
    assert re.search(r"Digest: sha256:[0-9a-f]{12}…", first.message)
    assert "Compared with v1" in second.message
    assert "+ network example.com" in second.message
    assert "  network api.example.org" in second.message
    assert "Trust me" not in second.message
    assert list(first.requested_schema["properties"]) == ["approve"]
    assert not DIGEST.search(first.message + second.message)


# --- the 2025 protocols: the call waits


async def until_settled(client: Client, answer: dict[str, Any]) -> dict[str, Any]:
    while answer["status"] == "working":
        answer = await succeeded(client, "synthesize_tool", job_id=answer["job_id"])
    return answer


async def test_a_person_who_takes_longer_than_a_call_is_heard_by_the_next_one(build: Build) -> None:
    person = Person(ready=anyio.Event())
    async with at(build, "legacy", person, settings={"limits": FixedLimits(answer_within_s=0.5)}) as client:
        answer = await made(client)
        while not person.asked:
            answer = await succeeded(client, "synthesize_tool", job_id=answer["job_id"])
        assert (answer["status"], answer["stage"]) == ("working", "approval")
        assert "fetch_item" not in await names_of(client)
        assert person.ready is not None
        person.ready.set()
        assert (await until_settled(client, answer))["status"] == "created"
    assert len(person.asked) == 1


async def test_a_question_that_nobody_answers_ends_by_itself(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elicitation, "WAIT_S", 0.2)
    person = Person(ready=anyio.Event())
    async with at(build, "legacy", person) as client:
        answer = await made(client)
        assert "did not answer within" in answer["asked"]
        assert person.ready is not None
        person.ready.set()
        assert "fetch_item" not in await names_of(client), "a late answer counts for nothing"


# --- 2026-07-28: the question is the answer, the next call brings what was said

Round = types.InputRequiredResult


async def step(client: Client, before: Round | None = None, said: Any = None, **changes: Any) -> Any:
    """One call by hand, with the answer to every question of the round before."""
    requests = (before.input_requests if before else None) or {"question-1": None}
    return await client.session.call_tool(
        "synthesize_tool",
        {**FETCH_ITEM, **changes},
        input_responses=dict.fromkeys(requests, said) if said else None,
        request_state=before.request_state if before else None,
        allow_input_required=True,
    )


async def asked(client: Client, **changes: Any) -> Round:
    found = await step(client, **changes)
    assert isinstance(found, Round), found
    (request,) = (found.input_requests or {}).values()
    assert isinstance(request, types.ElicitRequest)
    return found


def status_of(found: Any) -> str:
    assert isinstance(found, types.CallToolResult), found
    return str((found.structured_content or {}).get("status"))


async def test_an_answer_that_comes_without_a_question_of_ours_grants_nothing(build: Build) -> None:
    async with at(build, "modern", Person()) as client:
        unasked = await step(client, None, YES)
        assert isinstance(unasked, Round), "it is asked all the same"
        for state in ("", "x", '{"job": "a", "rounds": 0}', (unasked.request_state or "")[:-2]):
            with pytest.raises(MCPError):
                await step(client, Round(request_state=state), YES)
        assert "fetch_item" not in await names_of(client)
        assert status_of(await step(client, unasked, YES)) == "created"


async def test_an_answer_counts_once_and_for_its_own_request_only(build: Build) -> None:
    async with at(build, "modern", Person()) as client:
        first = await asked(client)
        with pytest.raises(MCPError):
            await step(client, first, YES, needs={"network": ["example.com"]})
        assert status_of(await step(client, first, NO)) == "needs_approval"
        assert status_of(await step(client, first, YES)) == "needs_approval"
        assert "fetch_item" not in await names_of(client)


async def test_the_sealed_question_of_one_tool_approves_no_other(build: Build) -> None:
    async with at(build, "modern", Person()) as client:
        first = await asked(client)
        other = await asked(client, **OTHER)
        mixed = Round(input_requests=other.input_requests, request_state=first.request_state)
        with pytest.raises(MCPError):
            await step(client, mixed, YES, **OTHER)
        assert not {"fetch_item", "fetch_other"} & set(await names_of(client))


@pytest.mark.parametrize("changed", ["approved", "another current", "a newer one waits", "deleted"])
async def test_what_changed_while_the_person_read_is_as_it_stands_now(
    build: Build, home: Path, changed: str
) -> None:
    """A yes is for the digest that was shown, on top of what was current then."""
    async with at(build, "modern", Person()) as client:
        first = await asked(client)
        async with open_library(Settings(home=home), starters=no_starters) as library:
            stored = await library.read("fetch_item")
            if changed == "approved":
                await library.approve("fetch_item", stored.manifest.digest)
            elif changed == "deleted":
                await library.delete("fetch_item")
            else:
                asks = WIDE if changed == "a newer one waits" else Grants()
                await library.publish(simple("fetch_item", answer="other", grants=asks), expected_version=1)
        found = await step(client, first, YES)
    expected = {"approved": "created", "a newer one waits": "created"}.get(changed, "needs_approval")
    if changed == "deleted":
        assert isinstance(found, types.CallToolResult)
        assert "fetch_item" in text_of(found)
        return
    assert status_of(found) == expected, found
    if expected == "needs_approval":
        assert "too late" in found.structured_content["asked"]


async def task_that_asks(client: Client) -> tuple[str, str]:
    """The id of a task that waits for the person, and the key of its question."""
    started = await raw(client, "tools/call", name="synthesize_tool", arguments=FETCH_ITEM)
    assert started["resultType"] == "task"
    while not (task := await raw(client, "tasks/get", taskId=started["taskId"])).get("inputRequests"):
        assert task["status"] == "working", task
        await anyio.sleep(0.02)
    (key,) = task["inputRequests"]
    return started["taskId"], key


async def test_a_client_with_tasks_is_asked_by_its_task(build: Build) -> None:
    async with at(build, "modern", Person(), **WITH_TASKS) as client:
        task_id, key = await task_that_asks(client)
        given = {key: YES.model_dump(by_alias=True, mode="json", exclude_none=True)}
        await raw(client, "tasks/update", taskId=task_id, inputResponses=given)
        done = await finished(client, task_id)
        assert done["result"]["structuredContent"]["status"] == "created"
        assert "fetch_item" in await names_of(client)


async def test_a_task_that_is_cancelled_while_it_asks_grants_nothing(build: Build) -> None:
    async with at(build, "modern", Person(), **WITH_TASKS) as client:
        task_id, _key = await task_that_asks(client)
        await raw(client, "tasks/cancel", taskId=task_id)
        assert (await raw(client, "tasks/get", taskId=task_id))["status"] == "cancelled"
        assert "fetch_item" not in await names_of(client)


async def test_rounds_that_run_out_leave_a_job_that_the_next_call_goes_on_with(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "MAX_ROUNDS", 1)
    async with at(build, "modern", Person()) as client:
        left = await step(client, await asked(client))
        assert status_of(left) == "working"
        assert "your person has more questions" in left.structured_content["next"]
        done = await succeeded(client, "synthesize_tool", job_id=left.structured_content["job_id"])
        assert done["status"] == "created"


# --- what is kept, and what is not told


async def test_the_journal_says_who_approved_where_and_who_did_not(
    build: Build, era: str, home: Path
) -> None:
    person = Person(NO)
    async with at(
        build, era, person, client_info=types.Implementation(name="some-client", version="7")
    ) as client:
        await made(client)
        person.answer = YES
        await made(client, update=True, needs={"network": ["api.example.org", "example.com"]})
    (approved,) = await journal(home, "approved")
    (refused,) = await journal(home, "not approved")
    assert (approved["by"], approved["from"], approved["client"]) == (
        "person",
        "elicitation",
        "some-client 7",
    )
    assert (refused["why"], refused["client"]) == ("the person at this client declined it", "some-client 7")


async def test_no_answer_to_a_client_holds_the_digest_that_approves(build: Build, era: str) -> None:
    person = Person(NO)
    async with at(build, era, person) as client:
        told = [await called(client, "synthesize_tool", **FETCH_ITEM)]
        for tool, arguments in (
            ("inspect_tool", {"name": "fetch_item", "source": True}),
            ("run_tool", {"name": "fetch_item", "arguments": {"number": 3}}),
            ("search_capabilities", {"query": "fetch an item", "detail": "schema"}),
            ("synthesize_tool", FETCH_ITEM),
        ):
            told.append(await called(client, tool, **arguments))
        catalogue = await client.read_resource("alita://tools")
    for each in (*told, catalogue):
        assert not DIGEST.search(each.model_dump_json()), each
    assert not DIGEST.search(person.asked[0].model_dump_json())


# --- real connections


@pytest.mark.process
async def test_over_a_real_connection_a_yes_publishes_and_says_so(home: Path) -> None:
    """Over HTTP: tests/server/test_http_strangers.py."""
    person = Person()
    settings = {"home": home, "sandbox": "tests.server.test_elicitation:Fetching"}
    target = StdioServerParameters(command=ENTRY[0], args=list(ENTRY[1:]), env=environment(**settings))
    async with client_of(target, "legacy", elicitation_callback=person) as client:
        answer = await client.make(FETCH_ITEM)
        assert (answer["status"], answer["tool"]) == ("created", "fetch_item")
        assert (await client.tool("fetch_item")).name == "fetch_item"
    assert len(person.asked) == 1
