"""The benchmark of calls: it starts, measures rightly, compares with its goals, and leaves nothing behind."""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from benchmarks import calls
from benchmarks.calls import baselines, crowd, goals, latency, memory, over_stdio, timing
from tests.scripted_sandbox import ScriptedSandbox


def adds(job: Job) -> RunResult:
    if job.function == "get":
        return RunResult(status="ok", value=[0.5] + [0.002] * (job.arguments["times"] - 1))
    if job.function == "compute":
        return RunResult(status="ok", value=[latency.LOADS[job.arguments["load"]], 0.5])
    return RunResult(status="ok", value=job.arguments["a"] + job.arguments["b"])


def opener(
    answer: Callable[[Job], RunResult] = adds, missing: tuple[str, ...] = ()
) -> Callable[[str, Settings], Any]:
    """Opens scripted sandboxes under the names of real ones."""

    @asynccontextmanager
    async def opened(kind: str, _settings: Settings) -> AsyncIterator[Sandbox]:
        if kind in missing:
            raise SandboxUnavailable(f"{kind} is not here")
        yield ScriptedSandbox(answer, kind)

    return opened


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")


def test_the_options_become_a_plan() -> None:
    parser = argparse.ArgumentParser()
    calls.add_arguments(parser)
    plain = calls.plan(parser.parse_args([]))
    assert (plain.kinds, plain.parts, plain.required) == (calls.KINDS, calls.PARTS, False)
    words = ["-n", "3", "--sandbox", "bubblewrap", "--long", "--only", "stdio", "seam"]
    chosen = calls.plan(parser.parse_args(words))
    assert (chosen.kinds, chosen.required) == (("bubblewrap",), True)
    assert (chosen.rounds, chosen.memory_calls, chosen.parts) == (3, 10_000, ("seam", "stdio"))
    for refused in (["-n", "0"], ["--sandbox", "cellar"], ["--only", "cellar"]):
        with pytest.raises(SystemExit):
            parser.parse_args(refused)


@pytest.mark.slow
@pytest.mark.usefixtures("no_engine")
async def test_the_result_has_the_promised_shape_and_is_plain_json(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = calls.Plan(rounds=1, parts=("seam", "crowd", "get", "memory"))
    with anyio.fail_after(120):
        result = await calls.measure(plan, settings, opener(missing=("docker",)), lambda _job: None)  # type: ignore[arg-type, return-value]
    assert result["kinds"] == ["bubblewrap", "wasm"]
    assert result["docker"] == {"missing": "docker is not here"}
    for kind in result["kinds"]:
        figures = result[kind]
        assert figures["ratio_to_docker_run"] is None
        assert figures["spaced"]["n"] == timing.SPACED_CALLS
        assert set(figures["spaced"]) == {"n", "median_s", "p10_s", "p90_s"}
        assert figures["crowd"]["many"]["lost"] == 0
        assert figures["small_get"]["brokered"]["median_s"] == 0.002
        assert figures["small_get"]["ratio_to_direct"] > 0
        assert figures["memory"]["idle_worker"] == {"missing": "no worker is kept between calls"}
    assert result["baselines"]["docker run --rm"] == {"missing": "no Docker engine answers"}
    assert result["baselines"]["fresh interpreter, no sandbox"]["n"] == 1
    assert (result["met"], result["rounds"]) == (False, 1)
    assert {"python", "mcp"} <= set(result["versions"])
    assert json.loads(json.dumps(result)) == result
    assert "docker: not measured: docker is not here" in calls.table(result)
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "seam: round 1 of 1" in streams.err


@pytest.mark.slow
@pytest.mark.usefixtures("no_engine")
async def test_wrong_answers_are_never_counted(settings: Settings) -> None:
    plan = calls.Plan(kinds=("docker",), rounds=1, parts=("seam", "crowd", "memory"))
    with anyio.fail_after(60):
        wrong = RunResult(status="ok", value=-1)
        result = await calls.measure(plan, settings, opener(lambda _job: wrong))
    assert "answered -1" in result["docker"]["spaced"]["missing"]
    many = result["docker"]["crowd"]["many"]
    assert (many["calls"], "answered -1" in many["first_lost"]) == (0, True)
    assert many["lost"] >= crowd.TURNS * crowd.CALLERS
    assert result["met"] is False


async def test_a_back_end_that_is_not_here_ends_a_run_that_asks_for_it(settings: Settings) -> None:
    for plan, said in (
        (calls.Plan(kinds=("docker",), required=True), "docker is not here"),
        (calls.Plan(parts=()), "No sandbox isolates"),
    ):
        with pytest.raises(SandboxUnavailable, match=said):
            await calls.measure(plan, settings, opener(missing=calls.KINDS))


async def test_contenders_take_turns_and_one_that_fails_drops_out() -> None:
    order: list[str] = []

    def contender(name: str, fails_at: int = 99) -> timing.Turn:
        async def turn() -> list[float]:
            order.append(name)
            if order.count(name) == fails_at:
                raise timing.ContenderFailed("gone")
            return [float(order.count(name))]

        return turn

    with anyio.fail_after(60):
        measured = await timing.interleaved(
            {"a": contender("a"), "b": contender("b", 2)}, 3, lambda _line: None
        )
    assert order == ["a", "b", "a", "b", "a", "a"], "the first round warms"
    assert measured.figures("a") == {"n": 3, "median_s": 3.0, "p10_s": 2.2, "p90_s": 3.8}
    assert (measured.figures("b"), measured.ratio("a", "b")) == ({"missing": "gone"}, None)
    assert timing.ratio([1.0, 2.0, 4.0], [8.0]) == 0.25


async def test_a_window_lets_all_call_at_once_counts_each_and_reports_what_was_lost() -> None:
    inside = most = made = 0

    async def call() -> float:
        nonlocal inside, most, made
        inside, made = inside + 1, made + 1
        most, number = max(most, inside), made
        await anyio.sleep(0.001)
        inside -= 1
        if number == 5:
            raise timing.ContenderFailed("gone")
        return 0.001

    many = crowd.Crowd(callers=4)
    with anyio.fail_after(60):
        await crowd.window(many, call, 0.05)
    figures = many.figures()
    assert (most, many.calls) == (4, made - 1)
    assert (figures["lost"], figures["first_lost"], figures["p99_s"]) == (1, "gone", 0.001)
    assert figures["per_second"] == round(many.calls / many.seconds, 1)


@pytest.mark.process
async def test_whole_calls_over_stdio_are_measured_against_a_server_that_does_nothing(tmp_path: Path) -> None:
    extent = over_stdio.Extent(rounds=1, memory_calls=3, memory_within_s=60)
    with anyio.fail_after(300):
        found = await over_stdio.measure(("wasm", "cellar"), tmp_path, extent, lambda _line: None)
    assert found["wasm"]["spaced"]["n"] == timing.SPACED_CALLS
    assert found["noop"]["back_to_back"]["n"] == timing.BURST_CALLS
    assert found["wasm"]["ratio_to_noop"] > 0
    assert found["wasm"]["server_memory"]["calls"] == 3
    assert found["wasm"]["server_memory"]["start_bytes"] > 10_000_000
    assert "cellar" in found["cellar"]["spaced"]["missing"]
    assert found["ratio_to_noop"] is None


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("bubblewrap")
async def test_a_run_with_bubblewrap_measures_it_and_leaves_no_worker(settings: Settings) -> None:
    before = memory.descendants()
    plan = calls.Plan(kinds=("bubblewrap",), rounds=1, parts=("seam",))
    with anyio.fail_after(120):
        result = await calls.measure(plan, settings)
    assert result["bubblewrap"]["ratio_to_fresh_bubblewrap"] > 0
    assert memory.descendants() - before == set()


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
def test_a_container_per_call_is_as_hardened_as_ours(settings: Settings) -> None:
    image = settings.docker_image
    assert baselines.missing_engine(image) == ""
    assert "is not here" in baselines.missing_engine("alita-bench-no-such:image")
    assert baselines.blocking_call("it", baselines.docker_run(image)) > 0
    words, ours = baselines.docker_run(image), DockerSandbox(settings).parameters(Limits(), None)
    given = dict(pairwise(words))
    assert (given["--network"], given["--cap-drop"]) == (ours["network_mode"], ours["cap_drop"][0])
    assert (given["--memory"], given["--memory-swap"]) == (str(ours["mem_limit"]), str(ours["memswap_limit"]))
    assert given["--pids-limit"] == str(ours["pids_limit"])
    assert {"--read-only", "no-new-privileges"} <= set(words)


def test_each_promised_figure_gets_its_verdict_and_the_table_says_why_one_is_missing() -> None:
    spread = {"n": 5, "median_s": 0.005, "p10_s": 0.004, "p90_s": 0.007}
    figures = {
        "spaced": spread, "back_to_back": spread | {"median_s": 0.0061}, "ratio_to_docker_run": 0.02,
        "ratio_to_docker_run_back_to_back": None, "small_get": {"missing": "no broker"},
        "crowd": {"times_one_caller": 1.31, "times_docker_run": 29.0, "many": {"lost": 1}},
        "memory": {"idle_worker": {"private_mb_each": 19.0}},
    }  # fmt: skip
    result = {
        "kinds": ["wasm"], "missing": {"docker": "it is not installed"}, "wasm": figures,
        "stdio": {"noop": {"spaced": spread}, "wasm": {"ratio_to_noop": 2.1, "server_memory": {"growth": 0.06}}},
        "rounds": 5, "date": "2026-01-01", "seconds": 12.3, "versions": {"python": "3.11"},
    }  # fmt: skip
    assert {goal.what: goal.met for goal in goals.goals(result)} == {
        "wasm: warm call, spaced, against docker run": True,
        "wasm: warm call, back to back, against docker run": None,
        "wasm: warm call, s": True,
        "wasm: warm call, back to back, s": False,
        "wasm: 16 callers against one": True,
        "wasm: idle warm worker, private MB": True,
        "wasm: 16 callers against docker run": False,
        "wasm: lost calls": False,
        "wasm: small GET through the broker against direct": None,
        "wasm: tools/call over stdio against a no-op": True,
        "wasm: growth of the server's memory": False,
    }
    lines = goals.table(result).splitlines()
    assert any("back to back, s" in line and "0.0061" in line and "NOT met" in line for line in lines)
    assert any("small GET" in line and "not measured: no broker" in line for line in lines)
    assert any(line.startswith("stdio, noop, spaced  5.00 ms (4.00-7.00)") for line in lines)
    assert "docker: not measured: it is not installed" in lines
    assert lines[-1] == "2026-01-01, 5 rounds, 12 s: python 3.11"
