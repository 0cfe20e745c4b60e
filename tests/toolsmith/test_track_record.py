"""Trust by agreement: what the journal says of the models that wrote a tool, before it and after it."""

from __future__ import annotations

from typing import Any

import pytest

from alita_mcp.library.library import Library
from alita_mcp.models.roles import RoleModels
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.owners import USER
from alita_mcp.settings import ModelChoice, Settings
from alita_mcp.toolsmith.jobs.journal import EVENT, writers_of
from alita_mcp.toolsmith.requests.outcomes import Created, Exists
from alita_mcp.toolsmith.toolsmith import Toolsmith
from alita_mcp.toolsmith.track_record import mark_request, mark_shape, read_agreed_before
from tests.toolsmith.authors import COUNT, PLAIN, REQUEST, ROOT, SPEC, Script, suite_of
from tests.toolsmith.bench import Bench, OpenBench

MODELS = {"coder": "openai/a at http://localhost/v1", "tester": "openai/a at http://localhost/v1"}
COUNTS = suite_of((123, 3), (0, 1), (-45, 2), (99, 2), (5, 1), (1000, 4), (-100, 3))


async def add_rows(library: Library, agreed: str, models: dict[str, str] = MODELS, prefix: str = "") -> None:
    """Journals a synthesis for each digit, 1 where it agreed fully."""
    for number, each in enumerate(agreed):
        mark = mark_request(f"{prefix}{number}")
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


ADD, TIMES = "def f(a, b):\n    return a + b\n", "def g(x, y):\n    return x * y\n"


@pytest.mark.parametrize(
    ("rows", "agreed"),
    [
        ([{"said": "Add two numbers."}, {"said": "adds up two NUMBERS"}], (True,)),
        ([{"said": "Add two numbers."}, {"said": "Add two numbers", "agreed": False}], (False,)),
        ([{"said": "Reverse a text."}, {"said": "Add two numbers."}], (True, True)),
        ([{"said": "Add two.", "code": ADD}, {"said": "Square of one", "code": TIMES}], (True,)),
        ([{"said": "Digits", "code": PLAIN}, {"said": "Root", "code": ROOT}], (True, True)),
        ([{"said": "one", "status": "exists"}, {"said": "two", "status": "failed"}], ()),
        ([{"said": "one", "status": "rejected"}, {"said": "two", "agreed": False}], (False, False)),
        ([{"said": f"Request {REQUEST}"}, {"said": REQUEST.upper()}], ()),
    ],
    ids=["worded alike", "alike, and one disagreed", "unlike", "code of one shape", "code of two shapes",
         "nothing new", "refuted by a gate", "like the request itself"],
)  # fmt: skip
async def test_easy_requests_repeated_make_no_record(
    library: Library, rows: list[dict[str, Any]], agreed: tuple[bool, ...]
) -> None:
    for row in rows:
        marks = {"request": mark_request(row["said"])} | (
            {"shape": mark_shape(row["code"])} if "code" in row else {}
        )
        counted = {"status": row.get("status", "created"), "agreed": row.get("agreed", True)}
        await library.record(EVENT, "tool", {"models": MODELS, **counted, **marks}, 1)
    assert await read_agreed_before(library, MODELS, REQUEST, USER) == agreed


@pytest.mark.parametrize(
    ("changes", "variables"),
    [
        ({"model": "openai/renamed"}, {}),
        ({"model_base_url": "http://elsewhere/v1"}, {}),
        ({"model_base_url": None}, {"OPENAI_BASE_URL": "http://elsewhere/v1"}),
        ({"model_base_url": None}, {"OPENAI_API_BASE": "http://elsewhere/v1"}),
    ],
)
def test_another_name_or_address_has_another_record(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], variables: dict[str, str]
) -> None:
    known = settings.model_copy(update={"model": "openai/a", "model_base_url": None})
    before = writers_of(RoleModels(known).open_models())
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    after = writers_of(RoleModels(known.model_copy(update=changes)).open_models())
    assert before.keys() == after.keys() == {"planner", "coder", "tester"}
    assert not set(before.values()) & set(after.values())


@pytest.mark.parametrize("role", ["planner", "coder", "tester"])
def test_another_model_of_one_role_has_another_record(settings: Settings, role: str) -> None:
    roles = {f"model_{each}": ModelChoice(name="openai/a") for each in ("planner", "coder", "tester")}
    known = settings.model_copy(update=roles)
    other = known.model_copy(update={f"model_{role}": ModelChoice(name="openai/weak")})
    assert writers_of(RoleModels(known).open_models()) != writers_of(RoleModels(other).open_models())


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
    count = before.count("1")
    if trust == "verified":
        assert outcome.rests_on == said.message
        assert outcome.rests_on.endswith(f"agreed fully, as did {count} of 5 before it")
    else:
        assert f"this model has {count} of 5; three examples of your own would verify it now" in said.fix
        assert said.fix in outcome.to_raise_trust


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
        second = await made.make(description="How long is it, written out?")
        assert isinstance(second, Created), second
        stored = await made.library.read("digit_sum")
    assert stored.report.trust == stored.manifest.trust == "verified"
    assert all(check.passed for check in stored.report.checks)
    assert (stored.code, stored.manifest.version) == (PLAIN, 1)


@pytest.mark.slow
async def test_only_a_callers_own_examples_raise_what_blind_tests_could_not(bench: OpenBench) -> None:
    wrong = suite_of((12, 3), (0, 0), (18, 9), (5, 5), (10, 1), (1, 1))
    async with bench(Script(suites=[wrong], candidates=[ROOT, ROOT])) as made:
        first = await made.make()
        assert isinstance(first, Created), first
        assert first.trust == "provisional"
        one = await made.make(name="digit_sum", description="", tests=[suite_of((9, 9))["tests"][0]])
        assert isinstance(one, Exists), one
        assert (one.trust_before, one.trust) == ("provisional", "provisional")
        assert (
            "hold, but prove too little alone"
            in (await made.library.read("digit_sum")).report.checks[-1].message
        )
        refuting = await made.make(name="digit_sum", description="", tests=suite_of((99, 18))["tests"])
        assert refuting.status == "rejected"
        own = suite_of((0, 0), (18, 9), (-3, 3), (11, 2))["tests"]
        three = await made.make(name="digit_sum", description="", tests=own)
        assert isinstance(three, Exists), three
        assert (three.trust_before, three.trust) == ("provisional", "verified")


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
