"""Trust by agreement: what the journal says of the models that wrote a tool, before it and after it."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import USER
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.jobs.journal import EVENT, mark_request, writers_of
from alita_mcp.toolsmith.requests.outcomes import Created
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.toolsmith.track_record import read_agreed_before
from tests.toolsmith.authors import COUNT, PLAIN, SPEC, Script, suite_of
from tests.toolsmith.bench import Bench, OpenBench

MODELS = {"coder": "openai/a at http://localhost/v1", "tester": "openai/a at http://localhost/v1"}
COUNTS = suite_of((123, 3), (0, 1), (-45, 2), (99, 2), (5, 1), (1000, 4), (-100, 3))


async def add_rows(library: Library, agreed: str, models: dict[str, str] = MODELS, prefix: str = "") -> None:
    """Journals a synthesis for each digit, 1 where it agreed fully."""
    for number, each in enumerate(agreed):
        mark = mark_request(f"{prefix} request {number}")
        detail = {"status": "created", "models": models, "agreed": each == "1", "request": mark}
        await library.record(EVENT, f"tool_{number}", detail, 1)


def models_of(bench: Bench) -> dict[str, str]:
    models = bench.library.journal(1, EVENT)[0].detail["models"]
    assert isinstance(models, dict)
    return models


async def test_only_syntheses_of_the_same_models_that_drew_candidates_count(bench: OpenBench) -> None:
    async with bench(Script()) as made:
        library = made.library
        await add_rows(library, "110")
        await add_rows(library, "111", MODELS | {"coder": "openai/a"}, "elsewhere")
        await library.record(EVENT, "quick", {"status": "created", "models": MODELS}, 1)
        await library.record(EVENT, "old", {"status": "created", "agreed": True, "request": "x"}, 1)
        strangers = {"status": "created", "models": MODELS, "agreed": True, "request": "y", "owner": "anyone"}
        await library.record(EVENT, "theirs", strangers, 1)
        assert await read_agreed_before(library, MODELS, "none", USER) == (False, True, True)
        assert await read_agreed_before(library, {}, "none", USER) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "trust"), [("11011", "verified"), ("11010", "provisional"), ("111", "provisional")]
)
async def test_full_agreement_verifies_a_tool_where_four_of_the_last_five_agreed(
    bench: OpenBench, before: str, trust: str
) -> None:
    async with bench(Script()) as made:
        models = made.smith._models
        assert models is not None
        await add_rows(made.library, before, writers_of(models.open_models()))
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        report = (await made.library.read("digit_sum")).report
    assert outcome.trust == trust
    assert report.usage is not None
    assert report.usage.calls == 4
    said = next(check for check in report.checks if check.stage == "agreement")
    assert f"as {before[-5:].count('1')} of the last {len(before)} tools" in said.message
    assert ("once 4 of the next 5" in said.fix) is (trust == "provisional")


@pytest.mark.slow
async def test_a_tool_without_a_record_is_raised_by_the_synthesis_that_completes_it(bench: OpenBench) -> None:
    script = Script()
    async with bench(script) as made:
        first = await made.make()
        assert isinstance(first, Created), first
        assert first.trust == "provisional"
        await add_rows(made.library, "101", models_of(made))
        await made.make(description="a request that agrees with nothing", mode="quick")
        assert made.library.entry("digit_sum").manifest.trust == "provisional"
        await add_rows(made.library, "1", models_of(made), "another")
        code = COUNT.replace("digit_sum", "count_digits").replace("Adds up", "Counts")
        script.spec = SPEC | {
            "name": "count_digits", "description": "Counts the decimal digits of a whole number.",
            "signature": "def count_digits(number: int) -> int", "use_when": ["how many digits"],
        }  # fmt: skip
        script.candidates, script.suites = [code], [COUNTS]
        second = await made.make(description="Count the digits of a whole number.")
        assert isinstance(second, Created), second
        stored = await made.library.read("digit_sum")
    assert stored.report.trust == stored.manifest.trust == "verified"
    assert all(check.passed for check in stored.report.checks)
    assert (stored.code, stored.manifest.version) == (PLAIN, 1)


@pytest.mark.slow
async def test_models_that_a_client_lends_have_no_record(bench: OpenBench, settings: Settings) -> None:
    async with bench(Script()) as made:
        smith = made.smith
        assert smith._models is not None
        own = smith._models.open_models()

        class Lent(ScriptedModel):
            async def complete(self, messages: Any, **options: Any) -> Any:
                return await own.role("coder").complete(messages, **options)

        await add_rows(made.library, "11111", writers_of(own))
        lent = RoleModels(settings, source=lambda _role: Lent([], name="openai/scripted"))
        made.smith = Toolsmith(made.library, smith._sandbox, settings, lambda _manifest: (), lent)
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        row = made.library.journal(1, EVENT)[0]
    assert outcome.trust == "provisional"
    assert "models" not in row.detail
