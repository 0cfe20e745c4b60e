"""A whole synthesis by models: the real litellm over HTTP, the real gates, the embedded sandbox."""

from __future__ import annotations

import json
from typing import Any

import pytest

from alita_mcp.errors import SandboxError
from alita_mcp.library.library import Library
from alita_mcp.models.roles import RoleModels
from alita_mcp.sandbox.interface import Broker, Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import Created, NeedsCode, Rejected
from alita_mcp.toolsmith.toolsmith import Toolsmith
from tests.models.openai_server import openai_server
from tests.scripted_sandbox import ScriptedSandbox
from tests.toolsmith.authors import (
    COUNT,
    EDGES,
    GOOD,
    LISTED,
    PLAIN,
    ROOT,
    SIGNED,
    SLOW,
    SPEC,
    WRONG,
    Script,
    suite_of,
)
from tests.toolsmith.bench import Bench, OpenBench

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("embedded")]

OWN = suite_of((4321, 10), (0, 0), (-989, 26))["tests"]
"""Examples of the caller's, an edge case among them."""


async def test_an_update_without_code_asks_the_caller_for_it_and_no_model(bench: OpenBench) -> None:
    script = Script(candidates=[PLAIN], suites=[GOOD])
    async with bench(script) as made:
        await made.make(name="digit_sum", code=PLAIN, tests=OWN)
        outcome = await made.make(name="digit_sum", update=True, description="Wrong for negative numbers.")
    assert isinstance(outcome, NeedsCode), outcome
    assert "inspect_tool with source=true" in outcome.rules[0]
    assert outcome.template["update"] is True
    assert script.asked == []


async def test_the_right_one_of_three_is_published_though_a_candidate_and_a_suite_are_wrong(
    bench: OpenBench,
) -> None:
    script = Script(candidates=[ROOT, PLAIN, LISTED], suites=[GOOD, WRONG, EDGES])
    async with bench(script) as made:
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        stored = await made.library.read("digit_sum")
    assert stored.code in (PLAIN, LISTED)
    agreement = stored.report.agreement
    assert agreement is not None
    assert (agreement.candidates, agreement.suites, agreement.share) == (3, 3, 0.667)
    assert len(agreement.dropped) == 6
    assert {"number": 456} in [test.test["arguments"] for test in agreement.contradicting]
    assert outcome.trust == "provisional"
    assert stored.report.usage is not None
    assert (stored.report.usage.calls, stored.report.usage.prompt_tokens) == (7, 49)


async def test_when_no_candidate_is_right_nothing_is_published_and_the_answer_says_why(
    bench: OpenBench,
) -> None:
    script = Script(candidates=[ROOT, SIGNED, COUNT])
    async with bench(script) as made:
        outcome = await made.make()
        assert isinstance(outcome, Rejected), outcome
        assert outcome.stage == "examples"
        assert "no candidate can be trusted: 1 of 3 behave alike" in outcome.reason
        assert outcome.fix
        assert made.is_empty
    assert (script.count("tests"), script.count("code"), script.count("repair")) == (3, 3, 2)


async def test_a_mistake_that_all_candidates_share_is_caught_by_the_tests(bench: OpenBench) -> None:
    async with bench(Script(candidates=[COUNT], suites=[GOOD, EDGES])) as made:
        outcome = await made.make(mode="standard")
        assert isinstance(outcome, Rejected), outcome
        assert made.is_empty


async def test_one_candidate_alone_is_provisional_and_says_what_would_raise_it(bench: OpenBench) -> None:
    script = Script(candidates=[PLAIN])
    async with bench(script) as made:
        outcome = await made.make(mode="quick")
        assert isinstance(outcome, Created), outcome
        assert outcome.trust == "provisional"
        report = (await made.library.read("digit_sum")).report
    assert script.count("tests") == script.count("code") == 1
    check = next(check for check in report.checks if check.stage == "agreement")
    assert not check.passed
    assert not check.hard
    assert "three examples of your own" in check.fix


@pytest.mark.sample(1)
@pytest.mark.parametrize("mode", ["quick", "standard"])
async def test_the_callers_own_examples_can_say_verified(bench: OpenBench, mode: str) -> None:
    async with bench(Script(candidates=[LISTED, PLAIN, PLAIN])) as made:
        outcome = await made.make(mode=mode, tests=OWN)
        assert isinstance(outcome, Created), outcome
        assert outcome.trust == "verified"
        stored = await made.library.read("digit_sum")
    assert [example.as_json() for example in stored.examples[:3]] == OWN


async def test_the_majority_is_overruled_by_the_callers_examples(bench: OpenBench) -> None:
    suites = [suite_of((123, 6), (0, 0), (5, 5), (12, 3), (1000, 1), (7, 7))]
    own = suite_of((989, 26))["tests"]
    async with bench(Script(candidates=[ROOT], suites=suites), synthesis_mode="standard") as made:
        assert isinstance(await made.make(), Created)
        await made.library.delete("digit_sum")
        outcome = await made.make(tests=own, name="digits_added")
        assert isinstance(outcome, Rejected)
    own_spec = {**SPEC, "name": "digits_added", "signature": "def digits_added(number: int) -> int"}
    renamed = ROOT.replace("digit_sum", "digits_added")
    script = Script(candidates=[renamed], suites=suites, spec=own_spec)
    async with bench(script) as made:
        outcome = await made.make(tests=own, name="digits_added")
        assert isinstance(outcome, Rejected), outcome
        assert "an example of the caller's own" in outcome.reason
    asked = "".join(request.text for _, request in script.asked)
    assert "989" not in asked
    assert "26" not in "".join(script.texts("repair"))


async def test_writers_are_blind_to_one_another(bench: OpenBench) -> None:
    script = Script(candidates=[PLAIN, LISTED, PLAIN])
    async with bench(script) as made:
        await made.make(tests=OWN)
    for_code, for_tests = "".join(script.texts("code")), "".join(script.texts("tests"))
    assert "989" not in for_code
    assert "4321" not in for_code + for_tests + "".join(script.texts("spec"))
    assert "rest // 10" not in for_tests
    seeds = [request.seed for _, request in script.asked if request.seed is not None]
    drawn = [(kind, request.seed) for kind, request in script.asked if kind in ("code", "tests")]
    assert seeds
    assert len(set(drawn)) == len(drawn)


async def test_an_endless_loop_is_told_apart_and_mended(
    bench: OpenBench, sandbox: WasmSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sandbox.run

    async def run_shortly(job: Job, broker: Broker | None = None) -> RunResult:
        limits = job.limits.model_copy(update={"wall_seconds": 3.0, "cpu_seconds": 3.0})
        return await run(job.model_copy(update={"limits": limits}), broker)

    monkeypatch.setattr(sandbox, "run", run_shortly)
    script = Script(candidates=[SLOW], repairs=lambda _: LISTED)
    async with bench(script) as made:
        outcome = await made.make(mode="quick")
    assert isinstance(outcome, Created), outcome
    assert "out of time" in script.texts("repair")[0]
    assert outcome.trust == "provisional"


class _Asked(list[Any]):
    """Candidates that a function writes."""

    def __init__(self, write: Any) -> None:
        super().__init__([None])
        self._write = write

    def __getitem__(self, _index: Any) -> Any:
        return self._write(None)


async def test_a_candidate_that_this_sandbox_cannot_run_does_not_stop_the_others(bench: OpenBench) -> None:
    packed = "import bz2\n\n\n" + PLAIN.replace("sum(int", "sum(0 * len(bz2.compress(b'')) + int")
    script = Script(candidates=[json.dumps({"code": packed}), PLAIN, LISTED])
    async with bench(script) as made:
        outcome = await made.make()
        assert isinstance(outcome, Created), outcome
        agreement = (await made.library.read("digit_sum")).report.agreement
    assert agreement is not None
    assert (agreement.candidates, agreement.share) == (3, 0.667)
    assert "bz2" in script.texts("repair")[0]


async def test_a_sandbox_that_fails_is_an_error_and_not_a_verdict(
    library: Library, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_job: Job) -> RunResult:
        raise SandboxError("the engine went away")

    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
    with openai_server(Script(candidates=[PLAIN])) as (url, _asked):
        served = settings.model_copy(update={"model": "openai/x", "model_base_url": url})
        smith = Toolsmith(
            library, ScriptedSandbox(broken, kind="wasm"), served, lambda _: (), RoleModels(served)
        )
        with pytest.raises(SandboxError, match="went away"):
            await Bench(library, smith, Script()).make()
    assert library.journal(1)[0].detail["status"] == "failed"
