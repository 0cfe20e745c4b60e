"""`make bench NAME=calls`: cost of one warm call, against a container per call and a no-op server.

All that is compared takes turns in one run. Everything that is started ends with it, also on Ctrl-C.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.errors import SandboxError, SandboxUnavailable
from alita_mcp.sandbox.interface import Sandbox
from alita_mcp.settings import Settings, read_settings
from alita_mcp.values import Value
from benchmarks.calls import baselines, crowd, goals, latency, memory, over_stdio, timing, work

KINDS = ("docker", "bubblewrap", "wasm")
PARTS = ("seam", "crowd", "memory", "start", "compute", "get", "stdio")
DISTRIBUTIONS = ("alita-mcp-server", "mcp", "anyio", "docker", "wasmtime")
LONG_CALLS = 10_000
FIRST_CALLS = 6

OpenSandbox = Callable[[str, Settings], Any]
"""An opened sandbox of a kind, as a context manager; raises SandboxUnavailable where there is none."""


class Plan(Value):
    """Plan of a run: the selected measurements and their sizes."""

    kinds: tuple[str, ...] = KINDS
    required: bool = False
    """Whether a kind that does not isolate here is an error."""
    parts: tuple[str, ...] = PARTS
    rounds: int = 20
    memory_calls: int = 1000
    memory_within_s: float = 20.0

    @property
    def window_s(self) -> float:
        """Seconds of one window of calls."""
        return min(1.5, 0.075 * self.rounds)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument(
        "-n", metavar="ROUNDS", type=_positive, default=20, dest="rounds",
        help="rounds in which all take turns (default 20); the other parts shrink with it",
    )  # fmt: skip
    parser.add_argument(
        "--sandbox",
        choices=("all", *KINDS),
        default="all",
        help="only this one; default: each that isolates here",
    )
    parser.add_argument(
        "--long", action="store_true", help=f"watch the server's memory over {LONG_CALLS:,} calls"
    )
    parser.add_argument("--only", choices=PARTS, nargs="+", default=[], help="only these parts")


def plan(options: argparse.Namespace) -> Plan:
    """The options as a plan."""
    return Plan(
        kinds=KINDS if options.sandbox == "all" else (options.sandbox,),
        required=options.sandbox != "all",
        parts=tuple(part for part in PARTS if not options.only or part in options.only),
        rounds=options.rounds,
        memory_calls=LONG_CALLS if options.long else min(1000, 50 * options.rounds),
        memory_within_s=1800.0 if options.long else min(20.0, float(options.rounds)),
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All figures: each back end under its kind, `stdio`, `baselines`, `goals`, and the versions used.

    Raises:
        SandboxUnavailable: the back end that was asked for does not isolate here, or none does.
    """
    return anyio.run(partial(measure, plan(options), read_settings()))


def table(result: dict[str, Any]) -> str:
    """The goals, each with its verdict, and the figures behind them."""
    return goals.table(result)


async def measure(
    wanted: Plan,
    settings: Settings,
    open_sandbox: OpenSandbox | None = None,
    open_broker: latency.OpenBroker = latency.loopback_broker,
) -> dict[str, Any]:
    """One run; the openers are for sandboxes that are none of ours."""
    watch, opener = timing.Stopwatch(), open_sandbox or opened_sandbox
    result: dict[str, Any] = {"kinds": [], "missing": {}}
    with tempfile.TemporaryDirectory(prefix="alita-bench-", ignore_cleanup_errors=True) as folder:
        settings = settings.model_copy(update={"home": Path(folder) / "home"})
        async with AsyncExitStack() as stack:
            sandboxes = await _sandboxes(wanted, settings, opener, stack, result)
            if "seam" in wanted.parts:
                measured = await latency.measure_calls(
                    sandboxes, settings.docker_image, wanted.rounds, _teller("seam")
                )
                for kind in sandboxes:
                    result[kind] |= latency.figures(measured, kind)
                result["baselines"] = latency.baseline_figures(measured)
            if "crowd" in wanted.parts:
                found = await crowd.measure(
                    sandboxes, settings.docker_image, wanted.window_s, _teller("crowd")
                )
                result["docker_run_crowd"] = found.pop(latency.DOCKER_RUN)
                _add(result, "crowd", found)
            if "compute" in wanted.parts:
                rounds = max(1, wanted.rounds // 2)
                _add(result, "compute", await latency.measure_compute(sandboxes, rounds, _teller("compute")))
            if "get" in wanted.parts:
                gets = await latency.measure_gets(sandboxes, open_broker, wanted.rounds, _teller("get"))
                _add(result, "small_get", gets)
        kinds = tuple(result["kinds"])
        for kind in kinds:  # in back ends of which nothing runs yet
            if "memory" in wanted.parts:
                opened = partial(opener, kind, settings)
                tell, bound = _teller("memory"), settings.max_workers
                result[kind]["memory"] = await memory.measure(kind, opened, bound, tell)
            if "start" in wanted.parts:
                result[kind]["first_call"] = await _first_calls(kind, settings)
        if "stdio" in wanted.parts:
            extent = over_stdio.Extent(wanted.rounds, wanted.memory_calls, wanted.memory_within_s)
            result["stdio"] = await over_stdio.measure(kinds, Path(folder), extent, _teller("stdio"))
    result["goals"] = [goal.as_json() for goal in goals.goals(result)]
    result["met"] = all(goal["met"] is True for goal in result["goals"])
    result["rounds"] = wanted.rounds
    result["versions"] = _versions()
    result["date"] = datetime.now(UTC).date().isoformat()
    result["seconds"] = round(watch.seconds, 1)
    return result


def _add(result: dict[str, Any], part: str, by_kind: dict[str, Any]) -> None:
    for kind, figures in by_kind.items():
        result[kind][part] = figures


async def _sandboxes(
    wanted: Plan, settings: Settings, opener: OpenSandbox, stack: AsyncExitStack, result: dict[str, Any]
) -> dict[str, Sandbox]:
    """The back ends that isolate here; why another does not stands in the result."""
    sandboxes: dict[str, Sandbox] = {}
    for kind in wanted.kinds:
        try:
            sandboxes[kind] = await stack.enter_async_context(opener(kind, settings))
        except SandboxError as unavailable:
            if wanted.required:
                raise
            _tell(f"{kind} is left out: {unavailable.message}")
            result["missing"][kind] = unavailable.message
            result[kind] = {"missing": unavailable.message}
            continue
        result["kinds"].append(kind)
        result[kind] = {}
    if not sandboxes:
        raise SandboxUnavailable("No sandbox isolates here.", hint="`alita doctor` says what to install.")
    return sandboxes


async def _first_calls(kind: str, settings: Settings) -> dict[str, object]:
    from alita_mcp.sandbox.choose import load_sandbox

    _tell(f"start: first calls, {kind}")
    sandbox = load_sandbox(kind, settings)
    try:
        return timing.spread(await work.first_calls(sandbox, min(FIRST_CALLS, settings.max_workers - 1)))
    except (SandboxError, timing.ContenderFailed) as failed:
        return {"missing": str(failed)}
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()


@asynccontextmanager
async def opened_sandbox(kind: str, settings: Settings) -> AsyncIterator[Sandbox]:
    """A back end that was seen to isolate, tended as in a server.

    Raises:
        SandboxUnavailable: it does not isolate here.
    """
    from alita_mcp.sandbox.choose import open_sandbox

    sandbox = await open_sandbox(settings.model_copy(update={"sandbox": kind}))
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sandbox.tend)
            try:
                yield sandbox
            except Exception as failed:  # noqa: BLE001 - raised again below, where no group wraps it
                failure = failed
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
    if failure is not None:
        raise failure


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _teller(part: str) -> timing.Tell:
    return lambda line: _tell(f"{part}: {line}")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    for distribution in DISTRIBUTIONS:
        with suppress(PackageNotFoundError):
            found[distribution] = version(distribution)
    engines = {
        "docker engine": ["docker", "version", "--format", "{{.Server.Version}}"],
        "bubblewrap": ["bwrap", "--version"],
    }
    for name, argv in engines.items():
        if words := baselines.client_output(argv).split():
            found[name] = words[-1]
    return found
