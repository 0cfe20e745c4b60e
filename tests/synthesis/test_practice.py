"""What syntheses show of the models that wrote them, from a whole synthesis to the record that the next one reads."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.models.roles import RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.settings import Settings
from alita_mcp.synthesis.context import SynthesisContext
from alita_mcp.synthesis.model_records.records import ModelRecords, Practice
from alita_mcp.synthesis.model_records.result import TaskResult
from alita_mcp.synthesis.practice import practice_of, practised
from alita_mcp.synthesis.requests.outcomes import Created, Rejected
from alita_mcp.synthesis.toolsmith import Toolsmith
from alita_mcp.values import Agreement
from alita_mcp.verification.agreement.record import ModelRecord, Tally
from tests.synthesis.authors import EDGES, GOOD, LOOPED, PLAIN, ROOT, WRONG, Script
from tests.synthesis.bench import Bench, OpenBench

MODEL = "openai/scripted"


def context_of(bench: Bench) -> SynthesisContext:
    return bench.smith._context


async def record_of(bench: Bench, model: str = MODEL) -> ModelRecord | None:
    return await context_of(bench).records.of(model)


@pytest.mark.slow
async def test_a_published_tool_is_counted_for_its_writers_and_journalled_with_their_names(
    bench: OpenBench,
) -> None:
    bad = {"tests": [*GOOD["tests"], {"arguments": {"number": 77}, "expected": 15}]}
    async with bench(Script(suites=(bad, EDGES, GOOD), candidates=(PLAIN, PLAIN, LOOPED))) as made:
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        record = await record_of(made)
        row = made.library.journal(1, "synthesis")[0]
        agreement = (await made.library.read("digit_sum", 1)).report.agreement
    assert agreement is not None
    assert record is not None
    assert (row.version, row.detail["models"]) == (1, {"coder": MODEL, "tester": MODEL})
    assert practice_of(agreement) == Practice(kept=12, dropped=1, first_time=True)
    assert (record.tasks, record.first_time, record.later) == (0, Tally(right=1), Tally(right=1))


@pytest.mark.slow
async def test_what_publishes_nothing_is_not_counted(bench: OpenBench) -> None:
    async with bench(Script(suites=(WRONG,), candidates=(ROOT, ROOT, ROOT))) as made:
        assert isinstance(await made.make(), Rejected)
        assert await record_of(made) is None
        row = made.library.journal(1, "synthesis")[0]
    assert (row.version, row.detail["models"]["coder"]) == (None, MODEL)


@pytest.mark.slow
async def test_scripted_models_leave_no_record_whatever_they_call_themselves(
    bench: OpenBench, settings: Settings
) -> None:
    async with bench(Script()) as made:
        smith = made.smith

        class Scripted(ScriptedModel):
            async def complete(self, messages: Any, **options: Any) -> Any:
                return await own.role("coder").complete(messages, **options)

        own = smith._models.open()  # type: ignore[union-attr]
        await context_of(made).records.begin(MODEL, "v1")
        await context_of(made).records.add(MODEL, "task", TaskResult(right=True), 1)
        role_models = RoleModels(settings, source=lambda _role: Scripted([], name=MODEL))
        made.smith = Toolsmith(made.library, smith._sandbox, settings, lambda _manifest: (), role_models)
        assert isinstance(await made.make(), Created)
        record = await record_of(made)
        row = made.library.journal(1, "synthesis")[0]
        assert await context_of(made).records.record_for(role_models.open()) is None
        assert await context_of(made).records.record_for(own) is not None
    assert record is not None
    assert "models" not in row.detail
    assert (record.first_time, record.later) == (Tally(), Tally())


@pytest.mark.slow
async def test_a_record_that_cannot_be_written_fails_no_synthesis(
    bench: OpenBench, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    (settings.home / "model_records").write_text("a file in the place of the folder")
    async with bench(Script()) as made:
        assert isinstance(await made.make(), Created)
    assert "is not kept" in caplog.text


@pytest.mark.parametrize(
    ("agreement", "practice"),
    [
        ({"share": 1.0}, Practice(kept=3, dropped=1, first_time=True)),
        ({"share": 0.667}, Practice(kept=3, dropped=1, first_time=True)),
        ({"share": 0.333}, Practice(kept=0, dropped=0, first_time=True)),
        ({"candidates": 1, "share": 1.0}, Practice(kept=0, dropped=0, first_time=True)),
        ({"share": 1.0, "repairs": 1}, Practice(kept=3, dropped=1, first_time=False)),
        ({"share": 1.0, "attempts": 2}, Practice(kept=3, dropped=1, first_time=False)),
    ],
)
def test_what_one_agreement_shows(agreement: dict[str, Any], practice: Practice) -> None:
    whole: dict[str, Any] = {
        "candidates": 3, "suites": 3, "share": 1.0, "passed": 0.75, "alike": 2,
        "kept": (0, 1, 2), "dropped": (3,),
    }  # fmt: skip
    assert practice_of(Agreement.model_validate({**whole, **agreement})) == practice


async def test_a_record_for_a_synthesis_needs_both_writers_calibrated(settings: Settings) -> None:
    records = ModelRecords(settings.home)
    two = settings.model_copy(update={"model": "openai/a"})
    models = RoleModels(two).open()
    assert await records.record_for(models) is None
    await records.practise("openai/a", "openai/a", Practice(kept=5, dropped=0, first_time=True))
    assert await records.record_for(models) is None
    await records.begin("openai/a", "v1")
    await records.add(
        "openai/a", "task", TaskResult(right=True, tests_right=8, tests_wrong=2, agreed=True), 1
    )
    record = await records.record_for(models)
    assert record is not None
    assert record.candidates == Tally(right=1)
    assert record.tests == Tally(right=13, wrong=2)
    assert record.misread == Tally(right=1)


async def test_a_tool_that_is_gone_by_then_is_no_practice(
    bench: OpenBench, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench(Script()) as made:
        gone = Created(tool="gone", version=1, trust="provisional", tests="1/1", report="")
        await practised(context_of(made), made.smith._models.open(), gone)  # type: ignore[union-attr]
        assert await record_of(made) is None
    assert "is not kept" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(("right", "trust"), [(48, "verified"), (20, "provisional")])
async def test_what_agreement_at_once_proves_depends_on_the_models_record(
    bench: OpenBench, right: int, trust: str
) -> None:
    async with bench(Script()) as made:
        records = context_of(made).records
        await records.begin(MODEL, "tasks")
        for number in range(50):
            done = TaskResult(right=number < right, tests_right=15, tests_wrong=1, agreed=number < right)
            await records.add(MODEL, f"task_{number}", done, 50)
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        report = (await made.library.read("digit_sum")).report
    assert outcome.trust == trust
    assert report.usage is not None
    assert report.usage.calls == 4
    assert report.agreement is not None
    assert report.agreement.on_record
    assert ((report.agreement.probability or 0) >= 0.95) is (trust == "verified")
