"""The fixed tools with words that no schema foresaw, and the answers of slow, failing and limited tools."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.extension import advertise

from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.server.tasks import EXTENSION
from alita_mcp.settings import FixedLimits
from tests.scripted_sandbox import ScriptedSandbox
from tests.server.drafts import VOWEL_SHARE, draft
from tests.server.in_memory import (
    Build,
    called,
    connected,
    finished,
    names_of,
    raw,
    refused,
    succeeded,
    text_of,
)
from tests.tables import each_case

BAD_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_capabilities", {}),
    ("search_capabilities", {"query": None}),
    ("search_capabilities", {"query": ""}),
    ("search_capabilities", {"query": 7}),
    ("search_capabilities", {"query": "q" * 2_001}),
    ("search_capabilities", {"query": "q", "limit": 0}),
    ("search_capabilities", {"query": "q", "limit": 21}),
    ("search_capabilities", {"query": "q", "limit": True}),
    ("search_capabilities", {"query": "q", "detail": "all"}),
    ("search_capabilities", {"query": "q", "extra": 1}),
    ("search_capabilities", {"query": "\ud800"}),
    ("run_tool", {}),
    ("run_tool", {"name": ["a"]}),
    ("run_tool", {"name": "vowel_share", "arguments": []}),
    ("run_tool", {"name": "vowel_share", "arguments": "{not json"}),
    ("run_tool", {"name": "vowel_share", "arguments": '"text"'}),
    ("run_tool", {"name": "vowel_share", "arguments": '{"text": NaN}'}),
    ("run_tool", {"name": "vowel_share", "arguments": "[" * 100_000}),
    ("run_tool", {"name": "vowel_share", "arguments": {"text": "x" * 1_000_001}}),
    ("run_tool", {"name": "vowel_share", "arguments": {"text": 1}}),
    ("run_tool", {"name": "vowel_share", "arguments": {"txt": "a"}}),
    ("run_tool", {"name": "vowel_share", "arguments": {"text": "a"}, "version": 0}),
    ("run_tool", {"name": "vowel_share", "arguments": {"text": "a"}, "version": 99}),
    ("run_tool", {"name": "vowel_share", "arguments": {"text": "a"}, "version": 10**30}),
    ("run_tool", {"name": "vowel_share", "arguments": {"text": "a"}, "version": "one"}),
    ("inspect_tool", {}),
    ("inspect_tool", {"name": "../../x"}),
    ("inspect_tool", {"name": "vowel_share", "source": "yes"}),
    ("inspect_tool", {"name": "vowel_share", "version": 99}),
    ("manage_tool", {"action": "delete", "name": "vowel_share"}),
    ("synthesize_tool", {"name": 7}),
    ("synthesize_tool", {"tests": {"arguments": {}}}),
    ("synthesize_tool", {"tests": ["x"]}),
    ("synthesize_tool", {"code": "x = 1", "extra": True}),
    ("synthesize_tool", {"job_id": "no such job"}),
    ("synthesize_tool", {"job_id": "no such job", "code": "x"}),
    ("synthesize_tool", draft(name="../../etc/passwd")),
    ("synthesize_tool", draft(name="run_tool")),
    ("synthesize_tool", draft(name="\u202evowel_share")),
    ("synthesize_tool", draft(name="new_name", code="def broken(:\n")),
    ("synthesize_tool", draft(name="new_name", code="x" * 70_000)),
    ("synthesize_tool", draft(name="other_name")),
    ("synthesize_tool", draft(name="new_name", tests=[])),
    ("synthesize_tool", draft(name="new_name", tests="{")),
    ("synthesize_tool", draft(name="new_name", tests=[{"arguments": {}}])),
    ("synthesize_tool", draft(name="new_name", tests=[{"arguments": {}, "expected": 1, "raises": "E"}])),
    ("synthesize_tool", draft(name="new_name", description="See https://evil.example.")),
    ("synthesize_tool", draft(name="new_name", network=["example.org"])),
    ("synthesize_tool", draft(name="new_name", update=True)),
]


async def test_bad_words_are_errors_that_say_what_to_do_and_change_nothing(build: Build) -> None:
    async with connected(build(), "modern") as client:
        await succeeded(client, "synthesize_tool", **VOWEL_SHARE)
        before = await names_of(client)
        for name, arguments in BAD_CALLS:
            result = await called(client, name, **arguments)
            assert result.is_error, (name, str(arguments)[:200])
            answer = result.structured_content
            assert answer["status"] in ("failed", "rejected")
            assert answer["reason"]
            if name == "synthesize_tool" and answer["status"] == "rejected":
                assert answer["stage"]
                assert answer["fix"]
            assert "Traceback" not in text_of(result)
            assert "Internal error" not in text_of(result), (name, str(arguments)[:200])
            assert len(text_of(result)) < 5_000
        assert await names_of(client) == before
        assert await succeeded(client, "vowel_share", text="banana") == {"result": 0.5}


async def test_arguments_may_come_as_json_text_and_nulls_count_as_left_out(client: Client) -> None:
    sent = draft(tests=json.dumps(VOWEL_SHARE["tests"]), use_when=json.dumps(["vowels"]), packages="")
    made = await succeeded(client, "synthesize_tool", **sent, update=None)

    assert made["status"] == "created"
    run = await succeeded(
        client, "run_tool", name="vowel_share", arguments='{"text": "banana"}', version=None
    )
    assert run == {"result": 0.5}


@pytest.mark.slow
@pytest.mark.usefixtures("embedded")
async def test_a_template_comes_with_all_that_an_agent_needs(client: Client) -> None:
    result = await called(client, "synthesize_tool", description="Count words.", name="count_words")

    assert not result.is_error
    template = result.structured_content["template"]
    assert template["name"] == "count_words"
    text = text_of(result)
    assert text.count(json.dumps(template["code"])) == 1
    assert text.count('"code"') == 1
    assert len(text.splitlines()) < 45
    told = result.structured_content["sandbox"]
    assert any("bz2" in line and "Instead: " in line for line in told)
    for line in (*result.structured_content["rules"], *told):
        assert text.count(line) == 1
    code = template["code"].replace("value: str) -> str", "value: str) -> int")
    filled = {
        "code": code.replace('raise RuntimeError("write this")', "return len(value.split())"),
        "tests": [{"arguments": {"value": text}, "expected": n} for n, text in enumerate(("", "a", "a b"))],
    }
    again = await succeeded(client, "synthesize_tool", **template | filled)
    assert again["status"] == "created"
    other = {"name": "count_all", "code": template["code"].replace("count_words(", "count_all(")}
    unfilled = await refused(client, "synthesize_tool", **template | other)
    assert "RuntimeError: write this" in unfilled


@pytest.mark.both_eras
@each_case(
    "name, near",
    [
        ("get-weather", "get_weather"), ("addOne", "add_one"), ("Größe messen", "grosse_messen"),
        ("1st_thing", "my_1st_thing"), ("class", "my_class"), ("run_tool", "my_run_tool"), ("x" * 60, "x" * 40),
        ("日本語", ""),
    ],
)  # fmt: skip
async def test_a_name_that_is_none_is_refused_with_the_nearest_and_never_replaced(
    client: Client, name: str, near: str
) -> None:
    for request in ({"description": "Adds one."}, draft(name=name), {"from_run": ["1"]}):
        told = (await called(client, "synthesize_tool", **{**request, "name": name})).structured_content
        assert told["status"] == "rejected"
        assert repr(name) in told["reason"]
        assert (f"Use {near!r}." in told["fix"]) == bool(near)
        assert "3 to 40 lower-case letters" in told["fix"]


async def test_the_template_fits_the_request(client: Client) -> None:
    asked = {
        "name": "reverse_words",
        "description": "Reverses the words of a sentence.",
        "tests": [
            {"arguments": {"sentence": "a b", "limit": 1}, "expected": ["b"]},
            {"arguments": {"sentence": "b"}, "expected": ["b"]},
            {"arguments": {"sentence": ""}, "raises": "EmptyError"},
        ],
        "needs": {"network": ["a.example"]},
        "varies": ["clock"],
    }
    template = (await succeeded(client, "synthesize_tool", **asked))["template"]
    assert asked.items() <= template.items()
    assert "def reverse_words(sentence: str, limit: int | None = None) -> list[str]:" in template["code"]
    assert '"""Reverses the words of a sentence.' in template["code"]
    assert "EmptyError: " in template["code"]


@pytest.mark.usefixtures("vowel_share")
async def test_a_tool_that_raises_says_which_error_and_where(client: Client) -> None:

    text = await refused(client, "vowel_share", text="42")

    assert "ValueError: no letters in the text" in text
    assert len(text.splitlines()) <= 12


FAILURES = [
    (RunResult(status="timeout", message="30 s are over"), "30 s"),
    (RunResult(status="memory", message="over 256 MB"), "256 MB of memory"),
    (RunResult(status="output_flood", message="1 MB of output"), "64 kB of output"),
    (RunResult(status="crashed", message="the process died"), "the process died"),
    (RunResult(status="bad_result", message="not JSON"), "not JSON"),
    (RunResult(status="error", error_type="E", message="m", trace=tuple("abcdefghijklmno")), "E: m"),
    (RunResult(status="ok", value="not a number"), "is not a number"),
]


@pytest.mark.slow
@pytest.mark.both_eras
async def test_progress_tells_the_stages_in_order(client: Client) -> None:
    told: list[tuple[float, str | None]] = []

    async def progress(done: float, _total: float | None, message: str | None) -> None:
        told.append((done, message))

    await client.call_tool("synthesize_tool", VOWEL_SHARE, progress_callback=progress)

    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers))
    stages = [stage for _, stage in told]
    assert [stage for stage in stages if stage in ("static", "examples", "determinism")][:2] == [
        "static",
        "examples",
    ] or "examples" in stages


SLOW = draft(tests=[*VOWEL_SHARE["tests"], {"arguments": {"text": "now"}, "expected": 0.33}])


class Moody(ScriptedSandbox):
    """Passes the gates as VOWEL_SHARE would, and answers every call of the text `now` as it is told."""

    def __init__(self, mood: RunResult | BaseException | None = None) -> None:
        super().__init__(self._as_told)
        self.mood = mood
        self.running = anyio.Event()
        self.ended = anyio.Event()
        self.go_on = anyio.Event()

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        if self.mood is not None or job.arguments.get("text") != "now":
            return await super().run(job)
        self.running.set()
        try:
            await self.go_on.wait()
        finally:
            self.ended.set()
        return await super().run(job)

    def _as_told(self, job: Job) -> RunResult:
        for example in VOWEL_SHARE["tests"]:
            if example["arguments"] == job.arguments and "expected" in example:
                return RunResult(status="ok", value=example["expected"])
        if job.arguments["text"] == "42":
            return RunResult(status="error", error_type="ValueError", message="no letters")
        if job.arguments["text"] != "now":
            return RunResult(status="ok", value=0.5)
        if isinstance(self.mood, RunResult):
            return self.mood
        raise self.mood or AssertionError(job)


@pytest.mark.both_eras
async def test_a_cancelled_synthesis_leaves_nothing_behind(build: Build, era: str) -> None:
    sandbox = Moody()
    async with connected(build(sandbox=sandbox), era) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "synthesize_tool", SLOW)
            await sandbox.running.wait()
            tasks.cancel_scope.cancel()
        await sandbox.ended.wait()
        assert "vowel_share" not in await names_of(client)
        assert "vowel_share" in await refused(client, "inspect_tool", name="vowel_share")


@pytest.mark.slow
@pytest.mark.both_eras
async def test_a_long_synthesis_answers_working_and_its_job_can_be_asked_again(
    build: Build, era: str
) -> None:
    sandbox = Moody()
    async with connected(
        build(sandbox=sandbox, settings={"limits": FixedLimits(answer_within_s=0.5)}), era
    ) as client:
        working = await called(client, "synthesize_tool", **SLOW)
        assert not working.is_error
        answer = working.structured_content
        assert answer["status"] == "working"
        assert answer["next"] == "call synthesize_tool with this job_id"
        assert answer["job_id"] in text_of(working)
        again = await succeeded(client, "synthesize_tool", job_id=answer["job_id"])
        assert (again["status"], again["job_id"]) == ("working", answer["job_id"])


@pytest.mark.slow
async def test_a_long_synthesis_is_a_task_for_clients_that_know_tasks(build: Build) -> None:
    sandbox = Moody()
    server = build(sandbox=sandbox, settings={"limits": FixedLimits(answer_within_s=0.5)})
    async with connected(server, "modern", extensions=[advertise(EXTENSION)]) as client:
        task = await raw(client, "tools/call", name="synthesize_tool", arguments=SLOW)
        assert (task["resultType"], task["status"]) == ("task", "working")
        sandbox.mood = RunResult(status="ok", value=0.33)
        sandbox.go_on.set()
        done = await finished(client, task["taskId"])

    assert done["result"]["structuredContent"]["status"] == "created"
