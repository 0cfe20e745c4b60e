"""`make bench NAME=calls`: cost of one warm call, against a container per call, other sandboxes and a no-op server.

All that is compared takes turns in one run. Everything that is started ends with it, also on Ctrl-C.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
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
from benchmarks.calls import (
    baselines,
    beside_plain,
    crowd,
    goals,
    latency,
    memory,
    over_stdio,
    peers,
    small_gets,
    timing,
    work,
)

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
    with_peers: bool = False
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
        "--peers", action="store_true", help="install other sandboxes beside us and measure them too"
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
        with_peers=options.peers,
        memory_calls=LONG_CALLS if options.long else min(1000, 50 * options.rounds),
        memory_within_s=1800.0 if options.long else min(20.0, float(options.rounds)),
    )


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All figures: each back end under its kind, `stdio`, `baselines`, `peers`, `goals`, and the versions used.

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
    open_broker: small_gets.OpenBroker | None = None,
) -> dict[str, Any]:
    """One run; the openers are for sandboxes that are none of ours."""
    watch = timing.Stopwatch()
    result: dict[str, Any] = {"kinds": [], "missing": {}}
    with tempfile.TemporaryDirectory(prefix="alita-bench-", ignore_cleanup_errors=True) as folder:
        at_home = settings.model_copy(update={"home": Path(folder) / "home"})
        run_parts = _Run(
            wanted,
            at_home,
            Path(folder),
            open_sandbox or opened_sandbox,
            open_broker or small_gets.loopback_broker,
        )
        await run_parts.at_the_seam(result)
        if "start" in wanted.parts:
            await run_parts.starts(result)
        if "stdio" in wanted.parts:
            await run_parts.over_stdio(result)
    result["goals"] = [goal.as_json() for goal in goals.goals(result)]
    result["met"] = all(goal["met"] is True for goal in result["goals"])
    result["rounds"] = wanted.rounds
    result["versions"] = _versions() | result.pop("peer_versions", {})
    result["date"] = datetime.now(UTC).date().isoformat()
    result["seconds"] = round(watch.seconds, 1)
    return result


class _Run:
    """The parts of one run, in the order in which they are measured."""

    def __init__(
        self, wanted: Plan, settings: Settings, folder: Path, open_sandbox: OpenSandbox,
        open_broker: small_gets.OpenBroker,
    ) -> None:  # fmt: skip
        self._plan = wanted
        self._settings = settings
        self._folder = folder
        self._open_sandbox = open_sandbox
        self._open_broker = open_broker

    async def at_the_seam(self, result: dict[str, Any]) -> None:
        """Calls, crowds, memory, computing and GETs, all by `Sandbox.run` in this process."""
        async with AsyncExitStack() as stack:
            sandboxes = await self._sandboxes(stack, result)
            parts = {
                "seam": self._latency, "crowd": self._crowds, "compute": self._beside_plain,
                "get": self._small_gets,
            }  # fmt: skip
            for part, measure_part in parts.items():
                if part in self._plan.parts:
                    await measure_part(sandboxes, result)
        if "memory" in self._plan.parts:
            for kind in result["kinds"]:
                opener = partial(self._open_sandbox, kind, self._settings)
                bound = self._settings.max_workers
                result[kind]["memory"] = await memory.measure(kind, opener, bound, _teller("memory"))

    async def starts(self, result: dict[str, Any]) -> None:
        """First calls in back ends of which nothing runs yet."""
        from alita_mcp.sandbox.choose import load_sandbox

        for kind in result["kinds"]:
            _tell(f"start: first calls, {kind}")
            sandbox = load_sandbox(kind, self._settings)
            try:
                found = await work.first_calls(sandbox, min(FIRST_CALLS, self._settings.max_workers - 1))
                result[kind]["first_call"] = timing.spread(found)
            except (SandboxError, timing.ContenderFailed) as failed:
                result[kind]["first_call"] = {"missing": str(failed)}
            finally:
                with anyio.CancelScope(shield=True):
                    await sandbox.aclose()

    async def over_stdio(self, result: dict[str, Any]) -> None:
        """Measures whole calls of server processes."""
        extent = over_stdio.Extent(self._plan.rounds, self._plan.memory_calls, self._plan.memory_within_s)
        kinds = tuple(result["kinds"])
        result["stdio"] = await over_stdio.measure(kinds, self._folder, extent, _teller("stdio"))

    async def _sandboxes(self, stack: AsyncExitStack, result: dict[str, Any]) -> dict[str, Sandbox]:
        sandboxes: dict[str, Sandbox] = {}
        for kind in self._plan.kinds:
            _tell(f"trying {kind}")
            try:
                sandboxes[kind] = await stack.enter_async_context(self._open_sandbox(kind, self._settings))
            except SandboxError as unavailable:
                if self._plan.required:
                    raise
                _tell(f"{kind} is left out: {unavailable.message}")
                result["missing"][kind] = unavailable.message
                result[kind] = {"missing": unavailable.message} | dict.fromkeys(latency.RATIOS)
                continue
            result["kinds"].append(kind)
            result[kind] = {}
        if not sandboxes:
            raise SandboxUnavailable("No sandbox isolates here.", hint="`alita doctor` says what to install.")
        return sandboxes

    async def _latency(self, sandboxes: dict[str, Sandbox], result: dict[str, Any]) -> None:
        rivals = peers.PEERS if self._plan.with_peers else ()
        image, tell = self._settings.docker_image, _teller("seam")
        async with peers.opened(rivals, image, _cache(), tell) as found:
            measured = await latency.measure(sandboxes, image, found.calls, self._plan.rounds, tell)
        for kind in sandboxes:
            result[kind] |= latency.figures(measured, kind)
        result["baselines"] = latency.baseline_figures(measured)
        result["peers"] = peers.figures(measured, found, rivals)
        result["peer_versions"] = found.versions

    async def _crowds(self, sandboxes: dict[str, Sandbox], result: dict[str, Any]) -> None:
        image, window_s = self._settings.docker_image, self._plan.window_s
        found = await crowd.measure(sandboxes, image, window_s, _teller("crowd"))
        result["docker_run_crowd"] = found.pop(latency.DOCKER_RUN, {})
        for kind, figures in found.items():
            result[kind]["crowd"] = figures

    async def _beside_plain(self, sandboxes: dict[str, Sandbox], result: dict[str, Any]) -> None:
        rounds = max(1, self._plan.rounds // 2)
        found = await beside_plain.measure(sandboxes, rounds, _teller("compute"))
        for kind, figures in found.items():
            result[kind]["compute"] = figures

    async def _small_gets(self, sandboxes: dict[str, Sandbox], result: dict[str, Any]) -> None:
        found = await small_gets.measure(sandboxes, self._open_broker, self._plan.rounds, _teller("get"))
        for kind, figures in found.items():
            result[kind]["small_get"] = figures


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


def _cache() -> Path:
    """Where the peers' environments are kept from run to run."""
    import platformdirs

    return platformdirs.user_cache_path("alita-mcp", appauthor=False) / "bench-peers"


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
        try:
            found[distribution] = version(distribution)
        except PackageNotFoundError:
            continue
    said = {
        "docker engine": ["docker", "version", "--format", "{{.Server.Version}}"],
        "bubblewrap": ["bwrap", "--version"],
    }
    for name, argv in said.items():
        if words := _words(argv):
            found[name] = words[-1]
    return found


def _words(argv: Sequence[str]) -> list[str]:
    return baselines.client_output(argv).split()
