"""The feed of activity: what clients do as it happens, for as many listeners as there are, at no one's cost."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from alita_mcp.app import App, open_app
from alita_mcp.app.activity import KEPT, MAX_STEPS, Activity, ActivityFeed, Subscription
from alita_mcp.errors import InvalidArguments, SandboxError, ToolNotFound
from alita_mcp.owners import ClientIdentity
from alita_mcp.progress import ignore_stage
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, Rejected
from alita_mcp.toolsmith.requests.request import SynthesisRequest, read_request
from alita_mcp.web.pages.activity import activity_of
from tests.app.conftest import Open, adding
from tests.app.test_calls import Paused
from tests.in_process import InProcessSandbox
from tests.scripted_sandbox import ScriptedSandbox

pytestmark = pytest.mark.anyio

CLIENT = ClientIdentity(key="k", client="some-editor 2.1")
DOUBLE = {
    "name": "double_it",
    "code": 'def double_it(n: int) -> int:\n    """Doubles a whole number."""\n    return n * 2\n',
    "tests": [{"arguments": {"n": n}, "expected": 2 * n} for n in (0, 2, 21)],
}
WRONG = {**DOUBLE, "tests": [*DOUBLE["tests"], {"arguments": {"n": 5}, "expected": 11}]}


def event(number: int, outcome: str = "ok") -> Activity:
    return Activity(id=f"w{number}", kind="call", outcome=outcome, time="2026-01-01T00:00:00+00:00")


async def listen(subscription: Subscription) -> list[Activity]:
    with anyio.fail_after(60):
        return (await subscription.read())[0]


class Failing(ScriptedSandbox):
    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        raise SandboxError("the engine is gone")


async def test_a_listener_who_does_not_read_loses_the_oldest_and_is_told_how_many() -> None:
    feed = ActivityFeed()
    slow, quick = Subscription(), Subscription()
    with feed.tell(slow.add), feed.tell(quick.add):
        for number in range(KEPT + 30):
            feed.publish(event(number, ""))
            feed.publish(event(number))
            if number == 0:
                assert [each.outcome for each in await listen(quick)] == [
                    "ok"
                ]  # the newest word on one piece of work
        with anyio.fail_after(60):
            events, dropped = await slow.read()
            assert [each.id for each in events] == [f"w{number}" for number in range(30, KEPT + 30)]
            assert (dropped, (await quick.read())[1]) == (30, 29)
            feed.publish(event(7))
            assert await slow.read() == ([event(7)], 0)


async def test_who_comes_later_sees_what_is_under_way_before_all_else() -> None:
    feed = ActivityFeed()
    feed.publish(event(-1, ""))
    for number in range(2 * KEPT):
        feed.publish(event(number))
    late = Subscription()
    with feed.tell(late.add):
        seen = await listen(late)
    assert len(seen) == KEPT
    assert [each.id for each in seen if each.tone == "busy"] == ["w-1"]
    for number in range(-2 * KEPT, -2):
        feed.publish(event(number, ""))  # even so it holds no more
    assert len(feed.recent) == KEPT


async def test_every_flow_tells_who_does_what_and_how_it_ended(open_with: Open) -> None:
    async with open_with() as app:
        subscription = Subscription()
        with app.activity.tell(subscription.add):
            await app.run_tool("add", {"a": 1, "b": 2}, identity=CLIENT)
            called = (await listen(subscription))[0]
            with pytest.raises(InvalidArguments):
                await app.run_tool("add", {"a": "my secret"}, identity=CLIENT)
            with pytest.raises(ToolNotFound):
                await app.run_tool("</td>\u202e", {}, identity=CLIENT)
            await app.search_tools("call me at 0123456789", identity=CLIENT)
            await app.search_tools("launch a rocket to the moon", identity=CLIENT)
            invalid, missing, private, searched = await listen(subscription)
        await app.library.settle()
        rows = [activity_of(row) for row in app.library.journal(2)]
    assert (called.kind, called.client, called.tool, called.outcome, called.tone) == (
        "call", "some-editor 2.1", "add", "ok", "ok",
    )  # fmt: skip
    assert called.detail["sandbox"] == "scripted"
    assert (invalid.outcome, invalid.text, missing.tool) == ("refused", "InvalidArguments", "</td><U+202E>")
    assert (private.text, searched.text) == ("", "launch a rocket to the moon")
    assert "my secret" not in str([invalid, missing, private, searched])
    # the journal tells the same of the same work, so that nobody shows it twice
    assert [(row.id, row.tool, row.client, row.outcome) for row in rows if row] == [
        (each.id, each.tool, each.client, each.outcome) for each in (searched, called)
    ]


async def test_a_failing_sandbox_and_a_cancelled_call_end_their_lines(open_with: Open) -> None:
    async with open_with(Failing(adding)) as app:
        with pytest.raises(SandboxError):
            await app.run_tool("add", {"a": 1, "b": 2}, identity=CLIENT)
        assert (app.activity.recent[-1].outcome, app.activity.recent[-1].text) == ("failed", "SandboxError")
    box = Paused("add")
    async with open_with(box) as app, anyio.create_task_group() as callers:
        callers.start_soon(app.run_tool, "add", {"a": 1, "b": 2})
        with anyio.fail_after(60):
            await box.arrived.wait()
        assert app.activity.recent[-1].tone == "busy"
        callers.cancel_scope.cancel()
    assert app.activity.recent[-1].outcome == "cancelled"


async def gates_of(app: App, words: dict[str, Any]) -> tuple[object, list[Activity]]:
    """The outcome of a synthesis, and its line after each event."""
    request = read_request(words, client=CLIENT)
    assert isinstance(request, SynthesisRequest)
    heard: list[Activity] = []

    with app.activity.tell(lambda event: heard.append(event.describe())):
        heard.clear()  # what went before
        return await app.synthesize(request, ignore_stage), heard


async def test_each_gate_of_a_synthesis_is_seen_as_it_begins_and_as_it_passes_or_fails(
    settings: Settings,
) -> None:
    async with open_app(settings, admit=lambda _manifest: (), sandbox=InProcessSandbox()) as app:
        rejected, failing = await gates_of(app, WRONG)
        created, passing = await gates_of(app, DOUBLE)
        rows = app.library.journal(10, "synthesis")
    assert isinstance(rejected, Rejected)
    assert isinstance(created, Created)
    assert [(step.stage, step.outcome) for step in failing[-1].steps] == [
        ("static", "passed"),
        ("examples", "failed"),
    ]
    assert failing[-1].steps[-1].text == failing[-1].text == rejected.reason
    assert failing[-1].detail["got"] == "10"
    assert failing[-1].detail["expected"] == "11"
    assert failing[-1].detail["case"] == '{"n": 5}'
    seen = [(each.steps[-1].stage, each.steps[-1].outcome) for each in passing if each.steps]
    gates = ["static", "examples", "determinism", "properties", "mutation"]
    begun_and_ended = [step for gate in gates for step in ((gate, ""), (gate, "passed"))]
    assert [step for step in seen if step[0] in gates] == begun_and_ended
    assert [each.tone for each in passing] == [*["busy"] * (len(passing) - 1), "ok"]
    assert (passing[-1].outcome, passing[-1].tool, passing[-1].client) == (
        "created",
        "double_it",
        CLIENT.client,
    )
    # the journal keeps why
    kept_created, kept_rejected = map(activity_of, rows)
    assert kept_created is not None
    assert kept_created.id == passing[-1].id
    assert kept_rejected is not None
    assert kept_rejected == failing[-1].model_copy(
        update={"time": kept_rejected.time, "seconds": 0.0, "steps": ()}
    )


async def test_a_long_task_keeps_its_last_steps_only() -> None:
    feed = ActivityFeed()
    with feed.follow("task", CLIENT, text="count") as work:
        for number in range(3 * MAX_STEPS):
            await work(f"{number}. calculate")
    steps = feed.recent[0].steps
    assert [step.stage for step in steps] == [f"{n}. calculate" for n in range(2 * MAX_STEPS, 3 * MAX_STEPS)]
