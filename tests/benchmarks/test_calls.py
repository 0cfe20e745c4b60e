from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from alita_mcp.errors import SandboxUnavailable
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import Job, RunResult, Sandbox
from alita_mcp.sandbox.variants.scripted import ScriptedSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Limits
from benchmarks import calls
from benchmarks.calls import baselines, beside_plain, crowd, memory, over_stdio, small_gets, timing, work

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "unix:///nowhere/docker.sock"


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    calls.add_arguments(parser)
    return parser.parse_args(words)


def silent(_line: str) -> None:
    pass


def adds(job: Job) -> RunResult:
    if job.function == "get":
        return RunResult(status="ok", value=[0.5] + [0.002] * (job.arguments["times"] - 1))
    if job.function == "compute":
        return RunResult(status="ok", value=beside_plain.plain_answer(job.arguments["load"]))
    return RunResult(status="ok", value=job.arguments["a"] + job.arguments["b"])


class Opener:
    """Opens scripted sandboxes under the names of real ones, and remembers them."""

    def __init__(self, answer: Callable[[Job], RunResult] = adds, missing: tuple[str, ...] = ()) -> None:
        self.opened: list[ScriptedSandbox] = []
        self._answer = answer
        self._missing = missing

    @asynccontextmanager
    async def __call__(self, kind: str, _settings: Settings) -> AsyncIterator[Sandbox]:
        if kind in self._missing:
            raise SandboxUnavailable(f"{kind} is not here")
        sandbox = ScriptedSandbox(self._answer, kind)
        self.opened.append(sandbox)
        try:
            yield sandbox
        finally:
            await sandbox.aclose()


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", NOWHERE)


def test_the_options_become_a_plan() -> None:
    plain = calls.plan(options())
    assert plain.kinds == ("docker", "bubblewrap", "wasm")
    assert (plain.required, plain.with_peers, plain.rounds, plain.memory_calls) == (False, False, 20, 1000)
    assert plain.parts == calls.PARTS
    words = ["-n", "3", "--sandbox", "bubblewrap", "--peers", "--long", "--only", "stdio", "seam"]
    chosen = calls.plan(options(*words))
    assert (chosen.kinds, chosen.required, chosen.with_peers) == (("bubblewrap",), True, True)
    assert (chosen.rounds, chosen.memory_calls, chosen.parts) == (3, 10_000, ("seam", "stdio"))
    assert calls.plan(options("-n", "3")).memory_calls == 150
    assert chosen.memory_within_s > 60 >= plain.memory_within_s


@pytest.mark.parametrize("words", [["-n", "0"], ["-n", "x"], ["--sandbox", "cellar"], ["--only", "peers"]])
def test_options_that_make_no_sense_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options(*words)
    assert words[1] in capsys.readouterr().err


@pytest.mark.usefixtures("no_engine")
async def test_the_result_has_the_promised_shape_and_is_plain_json(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    opener = Opener()
    plan = calls.Plan(rounds=2, parts=("seam", "crowd", "compute", "get"), memory_calls=5)
    with anyio.fail_after(120):
        result = await calls.measure(plan, settings, opener, lambda _job: None)  # type: ignore[arg-type, return-value]
    assert result["kinds"] == list(calls.KINDS)
    for kind in calls.KINDS:
        figures = result[kind]
        assert figures["ratio_to_docker_run"] is None
        assert figures["ratio_to_docker_run_back_to_back"] is None
        assert figures["spaced"]["n"] == 2 * timing.SPACED_CALLS
        assert (
            figures["back_to_back"]["n"] == figures["slow_import_back_to_back"]["n"] == 2 * timing.BURST_CALLS
        )
        assert set(figures["compute"]) == {"loop", "json", "regex"}
        assert all(found["ratio"] > 0 for found in figures["compute"].values())
        assert set(figures["spaced"]) == {"n", "median_s", "p10_s", "p90_s"}
        assert "no Docker engine answers" in figures["note"]
        assert figures["crowd"]["many"]["lost"] == 0
        assert figures["small_get"]["brokered"] == {
            "n": 20, "median_s": 0.002, "p10_s": 0.002, "p90_s": 0.002,
        }  # fmt: skip
        assert figures["small_get"]["ratio_to_direct"] > 0
    assert result["baselines"]["docker run --rm"] == {"missing": "no Docker engine answers"}
    assert result["baselines"]["fresh interpreter, no sandbox"]["n"] == 2
    assert result["peers"] == {}
    assert (result["met"], result["rounds"]) == (False, 2)
    assert {"python", "mcp"} <= set(result["versions"])
    assert json.loads(json.dumps(result)) == result
    assert "docker: warm call, spaced" in calls.table(result)
    assert all(sandbox.closed for sandbox in opener.opened)
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "seam: round 2 of 2" in streams.err


@pytest.mark.usefixtures("no_engine")
async def test_every_call_has_arguments_of_its_own_and_back_ends_take_turns(settings: Settings) -> None:
    turns: list[str] = []

    def answer(job: Job) -> RunResult:
        turns.append(str(job.arguments["a"]))
        return adds(job)

    plan = calls.Plan(rounds=1, parts=("seam",))
    with anyio.fail_after(60):
        await calls.measure(plan, settings, Opener(answer))
    assert len(set(turns)) == len(turns) == 3 * 2 * 2 * (timing.SPACED_CALLS + timing.BURST_CALLS + 1)


@pytest.mark.usefixtures("no_engine")
async def test_wrong_answers_are_never_counted(settings: Settings) -> None:
    plan = calls.Plan(kinds=("docker",), rounds=1, parts=("seam", "crowd", "memory"))
    wrong = RunResult(status="ok", value=-1)
    with anyio.fail_after(60):
        result = await calls.measure(plan, settings, Opener(lambda _job: wrong))
    assert "answered -1" in result["docker"]["spaced"]["missing"]
    many = result["docker"]["crowd"]["many"]
    assert many["calls"] == 0
    assert many["lost"] >= crowd.TURNS * crowd.CALLERS
    assert "answered -1" in many["first_lost"]
    assert result["docker"]["memory"]["missing"]
    assert result["met"] is False
    assert "answered -1" in calls.table(result)


async def test_first_calls_are_those_of_different_tools_after_one_more() -> None:
    codes: list[str] = []

    def answer(job: Job) -> RunResult:
        codes.append(job.code)
        return adds(job)

    found = await work.first_calls(ScriptedSandbox(answer), 3)
    assert len(found) == 3
    assert len(set(codes)) == len(codes) == 4


async def test_a_back_end_that_is_not_here_is_named_with_the_reason(settings: Settings) -> None:
    plan = calls.Plan(rounds=1, parts=())
    with anyio.fail_after(60):
        result = await calls.measure(plan, settings, Opener(missing=("docker",)))
        assert result["kinds"] == ["bubblewrap", "wasm"]
        assert result["docker"]["missing"] == "docker is not here"
        assert result["docker"]["ratio_to_docker_run"] is None
        assert "docker: not measured: docker is not here" in calls.table(result)
        required = calls.Plan(kinds=("docker",), required=True)
        with pytest.raises(SandboxUnavailable, match="docker is not here"):
            await calls.measure(required, settings, Opener(missing=("docker",)))
        with pytest.raises(SandboxUnavailable, match="No sandbox isolates"):
            await calls.measure(plan, settings, Opener(missing=calls.KINDS))


async def test_a_window_lets_all_call_at_once_counts_each_and_reports_what_was_lost() -> None:
    inside = most = made = 0

    async def call() -> float:
        nonlocal inside, most, made
        inside, made = inside + 1, made + 1
        most = max(most, inside)
        number = made
        await anyio.sleep(0.001)
        inside -= 1
        if number == 5:
            raise timing.ContenderFailed("gone")
        return 0.001

    many = crowd.Crowd(callers=4)
    with anyio.fail_after(60):
        await crowd.window(many, call, 0.05)
        await crowd.window(many, call, 0.05)
    assert most == 4
    assert many.calls == made - 1
    figures = many.figures()
    assert (figures["callers"], figures["lost"], figures["first_lost"]) == (4, 1, "gone")
    assert 0 < figures["fewest_per_caller"] <= figures["most_per_caller"]
    assert figures["p50_s"] == figures["p99_s"] == 0.001
    assert many.seconds >= 0.1  # both windows
    assert figures["per_second"] == round(many.calls / many.seconds, 1)


def test_a_crowd_without_any_call_has_no_throughput() -> None:
    assert crowd.Crowd(callers=2).figures() == {
        "callers": 2, "calls": 0, "per_second": 0.0, "lost": 0,
        "fewest_per_caller": 0, "most_per_caller": 0, "fairness": 0.0,
    }  # fmt: skip


def test_a_size_is_read_as_the_engine_prints_it() -> None:
    assert memory.size_in_bytes("17.5MiB / 256MiB") == int(17.5 * (1 << 20))
    assert memory.size_in_bytes("512B / 1GiB") == 512
    with pytest.raises(ValueError, match="not a size"):
        memory.size_in_bytes("a lot")


async def test_process_trees_are_found_and_weighed() -> None:
    before = memory.descendants()
    program = "import subprocess, sys; subprocess.run(['sleep', '60'])"
    async with await anyio.open_process([sys.executable, "-c", program]) as process:
        with anyio.fail_after(60):
            while len(new := memory.descendants() - before) < 2:  # noqa: ASYNC110 - nobody tells
                await anyio.sleep(0.01)
        try:
            assert process.pid in new
            found = memory.trees(new)
            assert found["workers"] == 1
            assert found["bytes"] > 100_000
            assert (memory.resident_bytes(process.pid) or 0) > 1_000_000
        finally:
            for pid in new:
                os.kill(pid, signal.SIGKILL)
    assert memory.resident_bytes(process.pid) is None
    assert memory.trees(set()) == {}


@pytest.mark.usefixtures("no_engine")
async def test_where_no_worker_is_kept_its_memory_is_said_to_be_missing(settings: Settings) -> None:
    for kind in calls.KINDS:
        with anyio.fail_after(60):
            found = await memory.measure(kind, lambda kind=kind: Opener()(kind, settings), 2, silent)
        assert found["idle_worker"] == {"missing": "no worker is kept between calls"}
        assert found["pool"]["bound"] == 2


@pytest.mark.process
async def test_whole_calls_over_stdio_are_measured_against_a_server_that_does_nothing(tmp_path: Path) -> None:
    extent = over_stdio.Extent(rounds=1, memory_calls=3, memory_within_s=60)
    with anyio.fail_after(300):
        found = await over_stdio.measure(("wasm", "cellar"), tmp_path, extent, silent)
    assert found["wasm"]["spaced"]["n"] == timing.SPACED_CALLS
    assert found["noop"]["back_to_back"]["n"] == timing.BURST_CALLS
    assert found["wasm"]["ratio_to_noop"] > 0
    grown = found["wasm"]["server_memory"]
    assert (grown["calls"], grown["asked_calls"]) == (3, 3)
    assert grown["start_bytes"] > 10_000_000
    assert "cellar" in found["cellar"]["spaced"]["missing"]
    assert found["ratio_to_noop"] is None


def test_the_worst_back_end_stands_for_all() -> None:
    seconds = {"noop": [1.0], "noop back to back": [1.0], "docker": [3.0], "docker back to back": [4.0]}
    measured = timing.Measured(seconds | {"bubblewrap": [2.0], "bubblewrap back to back": [5.0]})
    found = over_stdio.figures(measured, ("docker", "bubblewrap"), {"docker": {"calls": 3}})
    assert (found["ratio_to_noop"], found["ratio_to_noop_back_to_back"]) == (3.0, 5.0)
    assert found["docker"]["server_memory"] == {"calls": 3}
    assert over_stdio.figures(timing.Measured(), (), {})["ratio_to_noop"] is None


@pytest.mark.process
async def test_a_server_that_ends_in_the_middle_is_a_failed_contender(tmp_path: Path) -> None:
    with anyio.fail_after(120):
        async with over_stdio.noop(tmp_path) as server:
            assert server.pid
            os.kill(server.pid, signal.SIGKILL)
            with pytest.raises(timing.ContenderFailed, match="noop broke off"):
                await server.call()


async def test_the_web_server_ends_with_the_measurement_and_a_page_that_is_not_there_is_an_error() -> None:
    with anyio.fail_after(60):
        async with small_gets.site() as port:
            assert len(small_gets.direct_gets(f"http://127.0.0.1:{port}/")) == small_gets.GETS
        with pytest.raises(timing.ContenderFailed, match="a direct GET failed"):
            small_gets.direct_gets(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (["/no/such/program"], "No such file"),
        ([sys.executable, "-c", "import sys; sys.exit('on purpose')"], "on purpose"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "exit status 3"),
        ([sys.executable, "-c", "print('words')"], "printed"),
        ([sys.executable, "-c", "print(0)"], "answered 0"),
    ],
)
def test_a_baseline_that_does_not_do_the_work_is_no_baseline(argv: list[str], reason: str) -> None:
    with pytest.raises(timing.ContenderFailed, match=reason):
        baselines.blocking_call("it", argv)


def test_a_fresh_interpreter_does_the_work() -> None:
    assert baselines.blocking_call("it", baselines.interpreter()) > 0


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("bubblewrap")
def test_a_fresh_bubblewrap_does_the_work() -> None:
    assert baselines.blocking_call("it", baselines.fresh_bubblewrap()) > 0


def test_without_an_image_there_is_no_engine_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert baselines.missing_engine("image") == "the docker command is not installed"


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
async def test_a_container_per_call_is_as_hardened_as_ours(settings: Settings) -> None:
    image = settings.docker_image
    assert baselines.missing_engine(image) == ""
    assert "is not here" in baselines.missing_engine("alita-bench-no-such:image")
    assert baselines.blocking_call("it", baselines.docker_run(image)) > 0
    with anyio.fail_after(120):
        async with baselines.held_container(image) as command:
            name = command[3]
            assert baselines.blocking_call("exec", command) > 0
            host = await anyio.to_thread.run_sync(inspected, name)
        assert await anyio.to_thread.run_sync(baselines.client_output, ["docker", "inspect", name]) == ""
    ours = DockerSandbox(settings).parameters(Limits(), None)
    assert host["NetworkMode"] == ours["network_mode"]
    assert host["CapDrop"] == ours["cap_drop"]
    assert host["ReadonlyRootfs"] is ours["read_only"] is True
    assert (host["Memory"], host["MemorySwap"]) == (ours["mem_limit"], ours["memswap_limit"])
    assert (host["NanoCpus"], host["PidsLimit"]) == (ours["nano_cpus"], ours["pids_limit"])
    assert set(host["Tmpfs"]) == set(ours["tmpfs"])
    assert host["LogConfig"]["Type"] == "none"
    assert any("no-new-privileges" in word for word in host["SecurityOpt"])


def inspected(name: str) -> dict[str, Any]:
    words = ["docker", "inspect", "--format", "{{json .HostConfig}}", name]
    found: dict[str, Any] = json.loads(baselines.client_output(words))
    return found


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
async def test_a_container_that_does_not_start_is_a_failed_contender() -> None:
    with anyio.fail_after(120):
        with pytest.raises(timing.ContenderFailed, match="docker run"):
            async with baselines.held_container("alita-bench-no-such:image"):
                pass


@pytest.mark.docker
@pytest.mark.bubblewrap
@pytest.mark.usefixtures("docker_engine", "bubblewrap")
async def test_a_small_real_run_measures_both_back_ends(settings: Settings) -> None:
    plan = calls.Plan(rounds=2, parts=("seam",))
    with anyio.fail_after(300):
        result = await calls.measure(plan, settings)
    for kind in calls.KINDS:
        assert result[kind]["ratio_to_docker_run"] > 0
        assert result[kind]["ratio_to_docker_run_back_to_back"] > 0
    assert result["baselines"]["docker exec"]["n"] == 2
    assert result["baselines"]["fresh bubblewrap and interpreter"]["n"] == 2


async def workers_during_a_call(kind: str, settings: Settings) -> dict[str, Any]:
    slow = Job(code="import time\ndef wait() -> None:\n    time.sleep(25)\n", function="wait", arguments={})
    with anyio.fail_after(120):
        async with calls.opened_sandbox(kind, settings) as sandbox, anyio.create_task_group() as tasks:
            before = await anyio.to_thread.run_sync(memory.present, kind)
            tasks.start_soon(sandbox.run, slow)
            found: dict[str, Any] = {}
            while found.get("bytes", 0) < 10_000_000:
                await anyio.sleep(0.05)
                found = await anyio.to_thread.run_sync(memory.workers, kind, before)
            tasks.cancel_scope.cancel()
    return found


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("bubblewrap")
async def test_the_process_tree_of_a_bubblewrap_worker_is_weighed(settings: Settings) -> None:
    found = await workers_during_a_call("bubblewrap", settings)
    assert (found["workers"], found["how"]) == (1, "PSS")


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("bubblewrap")
async def test_a_sandbox_that_was_opened_is_closed_with_all_its_workers(settings: Settings) -> None:
    before = memory.descendants()
    with anyio.fail_after(120):
        async with calls.opened_sandbox("bubblewrap", settings) as sandbox:
            await work.at_the_seam(sandbox)()
    assert memory.descendants() - before == set()


@pytest.mark.docker
@pytest.mark.usefixtures("docker_engine")
async def test_the_containers_of_this_process_are_weighed_by_the_engine(settings: Settings) -> None:
    found = await workers_during_a_call("docker", settings)
    assert (found["workers"], found["how"]) == (1, "docker stats")
    assert found["pss_bytes"] > 1_000_000


@pytest.mark.bubblewrap
@pytest.mark.usefixtures("bubblewrap")
async def test_what_fails_inside_an_opened_sandbox_comes_out_as_it_is(settings: Settings) -> None:
    with anyio.fail_after(120), pytest.raises(timing.ContenderFailed, match="on purpose"):
        async with calls.opened_sandbox("bubblewrap", settings):
            raise timing.ContenderFailed("on purpose")


@pytest.mark.process
@pytest.mark.bubblewrap
@pytest.mark.usefixtures("bubblewrap")
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "alita_mcp.cli.main",
        "bench",
        "calls",
        "-n",
        "500",
        "--sandbox",
        "bubblewrap",
    ]
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as bench:
        assert bench.stderr
        try:
            for line in bench.stderr:
                if "round 1 of" in line:
                    break
            started = memory.descendants(bench.pid)
            bench.send_signal(signal.SIGINT)
            assert bench.wait(180) != 0
        finally:
            bench.kill()
    assert started
    deadline = time.monotonic() + 180
    while any(memory.resident_bytes(pid) for pid in started) and time.monotonic() < deadline:
        time.sleep(0.01)  # whom their parent left is reaped when init gets to it
    assert not any(memory.resident_bytes(pid) for pid in started)
    assert list(tmp_path.glob("alita-bench*")) == []
    own = ["docker", "ps", "--all", "--quiet", "--filter", f"label={baselines.LABEL}={bench.pid}"]
    assert baselines.client_output(own) == ""


def test_the_work_is_checked() -> None:
    arguments = work.new_arguments()
    assert arguments != work.new_arguments()
    work.check("it", arguments, arguments["a"] + arguments["b"])
    with pytest.raises(timing.ContenderFailed, match="it answered None"):
        work.check("it", arguments, None)


@pytest.mark.process
def test_it_also_works_from_inside_another_package_as_in_an_installation(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(ROOT / "benchmarks", elsewhere / "benchmarks")
    (elsewhere / "__init__.py").touch()
    program = (
        "import sys; import elsewhere.benchmarks.calls as found;"
        "print(found.peers.__name__, any(name.split('.')[0] == 'benchmarks' for name in sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["elsewhere.benchmarks.calls.peers", "False"]
