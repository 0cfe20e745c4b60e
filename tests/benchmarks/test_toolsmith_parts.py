"""The parts of `alita bench toolsmith`: recorded answers, the call log, the truth, and the table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import ModelError, PackagesRejected, SandboxError, SandboxRefused, UsageError
from alita_mcp.models.choices import Role
from alita_mcp.models.interface import Completion, Message
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox
from alita_mcp.settings import Settings
from alita_mcp.synthesis.specification.values import Specification, Suite, WrittenCode
from alita_mcp.values import Example
from benchmarks.toolsmith.attempt import Attempt
from benchmarks.toolsmith.call_log import Call, CallLog, busy_seconds
from benchmarks.toolsmith.contenders import RECORDS, contenders, take_records_along
from benchmarks.toolsmith.judged_requests import JudgedRequest
from benchmarks.toolsmith.recorded_answers import RecordedAnswers, asked_kind
from benchmarks.toolsmith.tally import as_table, figures
from benchmarks.toolsmith.trials import Trial, trials_of
from benchmarks.toolsmith.truth import Module, differences, why_not_loaded
from tests.benchmarks.toolsmith_runs import RECORDED, ROW

MENDED = {"corrections": [{"name": "corrected"}], "repairs": [{"code": "x = 1"}]}
REQUEST = JudgedRequest.model_validate(RECORDED | MENDED)
ASKED = Message(role="user", content="Write it, please.")
ANSWERED = Message(role="assistant", content="{}")
SHAPES: dict[Role, type[Specification | Suite | WrittenCode]] = {
    "planner": Specification,
    "tester": Suite,
    "coder": WrittenCode,
}


async def ask(answers: RecordedAnswers, role: Role, *turns: Message) -> Completion:
    schema = SHAPES[role].model_json_schema()
    return await answers.source(role).complete([ASKED, *turns], schema=schema)


async def test_each_role_has_its_recorded_answers_in_order_and_each_once() -> None:
    answers = RecordedAnswers(REQUEST)
    assert json.loads((await ask(answers, "planner")).text)["name"] == "digit_sum"
    assert [json.loads((await ask(answers, "coder")).text)["code"] for _ in range(3)] == [
        each.code for each in REQUEST.candidates
    ]
    for suite in REQUEST.suites:
        assert json.loads((await ask(answers, "tester")).text)["tests"] == list(suite)
    assert json.loads((await ask(answers, "coder", ANSWERED, ASKED)).text)["code"] == "x = 1"
    assert json.loads((await ask(answers, "planner", ANSWERED, ASKED)).text)["name"] == "corrected"
    for role, turns in (("planner", ()), ("coder", ()), ("tester", ()), ("coder", (ANSWERED,))):
        with pytest.raises(ModelError, match="No further"):
            await ask(answers, role, *turns)  # type: ignore[arg-type]


async def test_tokens_are_estimated_from_what_was_really_sent_and_answered() -> None:
    said = await ask(RecordedAnswers(REQUEST), "coder")
    assert said.prompt_tokens == 5  # 17 characters
    assert said.completion_tokens == -(-len(said.text) // 4)
    assert (said.cost_usd, said.cached, said.truncated) == (None, False, False)


@pytest.mark.parametrize(
    ("role", "turns", "shape"),
    [
        ("judge", [ASKED], WrittenCode),
        (None, [ASKED], WrittenCode),
        ("tester", [ASKED, ANSWERED], Suite),
        ("coder", [ASKED], Suite),
        ("planner", [ASKED], WrittenCode),
        ("coder", [ASKED], None),
    ],
)
def test_what_was_never_recorded_is_never_answered(
    role: Role | None, turns: list[Message], shape: type[Suite | WrittenCode] | None
) -> None:
    schema = shape.model_json_schema() if shape is not None else None
    with pytest.raises(ModelError, match="is recorded"):
        asked_kind(role, turns, schema)


async def test_the_log_keeps_calls_that_failed_and_calls_that_were_cancelled() -> None:
    class Silent:
        name = "silent"

        async def complete(self, _messages: Any, **_options: Any) -> Completion:
            await anyio.sleep_forever()
            raise AssertionError("it sleeps for ever")

    log = CallLog()
    model = log.between("coder", ScriptedModel(["one"], name="named"))
    assert model.name == "named"
    assert (await model.complete([ASKED])).text == "one"
    with pytest.raises(ModelError):
        await model.complete([ASKED])
    with anyio.move_on_after(0.01):
        await log.between("tester", Silent()).complete([ASKED])
    calls = log.take()
    assert [call.answer is not None for call in calls] == [True, False, False]
    assert calls[2].role == "tester"
    assert calls[2].ended > calls[2].started
    assert log.take() == []


def test_the_log_needs_a_model() -> None:
    with pytest.raises(UsageError, match="No model"):
        CallLog().between("coder", None)


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([], 0),
        ([(1, 3)], 2),
        ([(1, 3), (1, 2), (2, 5)], 4),
        ([(1, 2), (5, 6)], 2),
        ([(5, 6), (1, 9)], 8),
        ([(0, 10), (1, 2), (3, 4)], 10),
    ],
    ids=["none", "one", "overlapping", "apart", "unsorted", "inside"],
)
def test_calls_at_once_are_waited_for_once(spans: list[tuple[float, float]], seconds: float) -> None:
    assert busy_seconds(Call("coder", *span) for span in spans) == seconds


def running(outcome: RunResult) -> ScriptedSandbox:
    return ScriptedSandbox(lambda _job: outcome)


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (RunResult(status="ok", value=True), ""),
        (RunResult(status="ok", value=False), "is no function"),
        (RunResult(status="ok", value="PASS"), "is no function"),
        (RunResult(status="load_failed", error_type="SyntaxError"), "does not load"),
        (RunResult(status="crashed"), "the process died"),
    ],
    ids=["function", "constant", "word", "syntax", "crash"],
)
async def test_a_module_loads_when_it_holds_its_function(outcome: RunResult, why: str) -> None:
    said = await why_not_loaded(Module("x", "x"), running(outcome))
    assert why in said
    assert bool(said) == bool(why)


async def test_outcomes_are_compared_outside_the_sandbox_and_checks_evaluated_inside() -> None:
    def run(job: Job) -> RunResult:
        if job.function == "holds":
            assert "result > 1" in job.code
            return RunResult(status="ok", value=True)
        if job.arguments["x"] == 3:
            return RunResult(status="error", error_type="ValueError", message="three")
        return RunResult(status="ok", value=2)

    examples = [
        Example(arguments={"x": 1}, expected=2),
        Example(arguments={"x": 1}, expected=True),
        Example(arguments={"x": 3}, raises="ValueError"),
        Example(arguments={"x": 1}, raises="ValueError"),
        Example(arguments={"x": 3}, expected=2),
        Example(arguments={"x": 1}, check="result > 1"),
        Example(arguments={"x": 3}, check="result > 1"),
    ]
    found = await differences(Module("code", "f"), examples, ScriptedSandbox(run))
    assert [not each for each in found] == [True, False, True, False, False, True, False]
    assert found[1].endswith(": gave 2")
    assert found[4].endswith(": raised ValueError: three")


async def test_a_call_that_takes_too_long_ends_the_rest() -> None:
    slow = [Example(arguments={"x": number}, expected=2) for number in range(9)]
    found = await differences(Module("code", "f"), slow, running(RunResult(status="timeout")))
    assert all(found)
    assert any("was not run" in each for each in found)


@pytest.mark.parametrize(
    ("error", "judged"), [(None, True), (SandboxError("gone"), False)], ids=["works", "fails"]
)
async def test_what_the_sandbox_could_not_judge_is_neither_right_nor_wrong(
    error: SandboxError | None, judged: bool
) -> None:
    def run(_job: Job) -> RunResult:
        if error is not None:
            raise error
        return RunResult(status="ok", value=0)

    async def publishes(_request: JudgedRequest, _models: RoleModels, _sandbox: Sandbox) -> Attempt:
        return Attempt(status="created", trust="verified", module=Module("code", "digit_sum"))

    said: list[str] = []
    found = await trials_of(
        [REQUEST], {"one-call": publishes}, models_of, CallLog(), ScriptedSandbox(run), said.append
    )
    counted = figures(found["one-call"])
    assert (counted["published"], counted["verified"], counted["right"]) == (1, 1, 0)
    assert (counted["wrong_verified"], counted["not_judged"]) == ((1, 0) if judged else (0, 1))
    assert ("not judged" in said[0]) != judged
    assert ("gone" in as_table({"one-call": counted})) != judged


async def test_what_a_tool_says_moves_no_cursor_and_adds_no_line() -> None:
    ill = RunResult(status="error", error_type="E", message="\x1b[2J\n| published | 99 |\u202e\x07")

    async def publishes(_request: JudgedRequest, _models: RoleModels, _sandbox: Sandbox) -> Attempt:
        return Attempt(status="created", reason=ill.message, module=Module("code", "digit_sum"))

    said: list[str] = []
    words = ([REQUEST], {"one-call": publishes}, models_of, CallLog())
    found = await trials_of(*words, running(ill), said.append)
    told = as_table({"one-call": figures(found["one-call"])})
    assert "raised E: [2J | published | 99 |" in told
    assert [line for line in told.splitlines() if line.startswith("| published")] == ["| published | 1 |"]
    assert all(letter.isprintable() for letter in "".join(told.split("\n")) + "".join(said))


def models_of(request: JudgedRequest) -> RoleModels:
    settings = Settings(response_cache_mb=0)
    return RoleModels(settings, source=RecordedAnswers(request).source)


@pytest.mark.parametrize(
    ("error", "stage"),
    [
        (SandboxRefused("no threads here"), "environment"),
        (PackagesRejected("no such wheel"), "environment"),
    ],
    ids=["refused", "rejected"],
)
async def test_a_baseline_is_not_published_where_its_code_cannot_run(
    error: SandboxRefused | PackagesRejected, stage: str
) -> None:
    def refuse(_job: Job) -> RunResult:
        raise error

    attempt = await contenders(Settings())["one-call"](REQUEST, models_of(REQUEST), ScriptedSandbox(refuse))
    assert (attempt.status, attempt.stage, attempt.module) == ("rejected", stage, None)
    assert attempt.reason == error.message


async def test_a_usage_error_ends_the_run_and_a_failing_sandbox_one_trial() -> None:
    async def raises(_request: JudgedRequest, _models: RoleModels, sandbox: Sandbox) -> Attempt:
        await sandbox.run(Job(code="", function="f", arguments={}))
        raise UsageError("the home cannot be used")

    def fail(_job: Job) -> RunResult:
        raise SandboxError("it fell over")

    words = ([REQUEST, REQUEST], {"toolsmith": raises}, models_of, CallLog())
    found = await trials_of(*words, ScriptedSandbox(fail), lambda _line: None)
    assert [trial.reason for trial in found["toolsmith"]] == ["SandboxError: it fell over"] * 2
    with pytest.raises(UsageError, match="home"):
        await trials_of(*words, running(RunResult(status="ok")), lambda _line: None)


async def test_a_request_that_cannot_be_read_as_one_is_rejected() -> None:
    long = JudgedRequest.model_validate(ROW | {"request": "x" * 9_000})
    attempt = await contenders(Settings())["toolsmith"](
        long, models_of(long), running(RunResult(status="ok"))
    )
    assert (attempt.status, attempt.stage) == ("rejected", "schema")


def trial(**changes: Any) -> Trial:
    plain: dict[str, Any] = {
        "name": "digit_sum", "status": "created", "trust": "verified", "published": True, "right": True, "hidden": 3,
        "calls": 4, "prompt_tokens": 100, "completion_tokens": 20, "cost_usd": 0.01, "seconds": 3.0,
        "model_seconds": 2.0,
    }  # fmt: skip
    return Trial.model_validate(plain | changes)


def test_medians_are_of_published_tools_and_totals_of_all_requests() -> None:
    counted = figures(
        [
            trial(),
            trial(calls=8, prompt_tokens=280, seconds=6.0, right=False, wrong=("one",)),
            trial(calls=9, published=False, right=False, trust="", status="rejected", stage="agreement"),
            trial(calls=1, published=False, right=False, trust="", status="exists", cost_usd=None),
        ]
    )
    assert counted["calls"] == {"median": 6, "total": 22}
    assert counted["tokens"] == {"median": 210, "total": 120 + 300 + 120 + 120}
    assert (counted["calls_per_right_tool"], counted["tokens_per_right_tool"]) == (22, 660)
    assert (counted["wrong_published"], counted["wrong_verified"]) == (1, 1)
    assert counted["rejected_by_stage"] == {"agreement": 1}
    assert counted["otherwise_ended"] == {"exists": 1}
    assert counted["cost_usd"] is None
    assert counted["seconds"] == {"median": 4.5, "max": 6.0}
    assert counted["seconds_to_model_seconds"] == 2.25
    table = as_table({"toolsmith": counted})
    assert "| **wrong and published** | 1 |" in table
    assert "| cost in USD | unknown |" in table
    assert "- digit_sum: wrong (verified): one" in table
    assert figures([trial()])["cost_usd"] == 0.01
    assert "0.0100" in as_table({"toolsmith": figures([trial()])})


def test_a_model_that_answers_at_once_says_nothing_of_waiting() -> None:
    counted = figures([trial(model_seconds=0.0)])
    assert counted["seconds_to_model_seconds"] is None
    assert "| … the one by the other, median | - |" in as_table({"toolsmith": counted})


def test_what_is_known_of_the_models_is_taken_along_and_nothing_comes_back(tmp_path: Path) -> None:
    known = tmp_path / "home" / RECORDS
    known.mkdir(parents=True)
    (known / "model.json").write_text("{}", encoding="utf-8")
    (tmp_path / "home" / "secrets.json").write_text("{}", encoding="utf-8")
    take_records_along(tmp_path / "home", tmp_path / "own")
    assert [each.name for each in (tmp_path / "own").rglob("*")] == [RECORDS, "model.json"]
    (tmp_path / "own" / RECORDS / "model.json").write_text("changed", encoding="utf-8")
    assert (known / "model.json").read_text(encoding="utf-8") == "{}"
    take_records_along(tmp_path / "nowhere", tmp_path / "other")
    assert not (tmp_path / "other").exists()
