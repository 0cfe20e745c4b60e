"""Latency of a warm call against a container per call; back ends, baselines and peers take turns."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from alita_mcp.sandbox.interface import Sandbox
from benchmarks.calls import baselines, timing, work

DOCKER_RUN = "docker run --rm"
DOCKER_EXEC = "docker exec"
INTERPRETER = "fresh interpreter, no sandbox"
FRESH_BUBBLEWRAP = "fresh bubblewrap and interpreter"
BURST = " back to back"
IMPORT = " with an import of 20 ms"
IMPORT_SPACE_S = 0.05
RATIOS = ("ratio_to_docker_run", "ratio_to_docker_run_back_to_back")


async def measure(
    sandboxes: Mapping[str, Sandbox],
    image: str,
    peers: Mapping[str, timing.Call],
    rounds: int,
    tell: timing.Tell,
) -> timing.Measured:
    """The seconds of every contender's calls, ours under `kind` (spaced) and `kind back to back`."""
    contenders: dict[str, timing.Turn] = {}
    for kind, sandbox in sandboxes.items():
        call = work.at_the_seam(sandbox)
        contenders[kind] = timing.spaced(call)
        contenders[kind + BURST] = timing.back_to_back(call)
        slow = work.at_the_seam(sandbox, source=work.SLOW_IMPORT)
        contenders[kind + IMPORT] = timing.spaced(slow, space_s=IMPORT_SPACE_S)
        contenders[kind + IMPORT + BURST] = timing.back_to_back(slow)
    async with _baselines(image) as (calls, missing):
        contenders |= {name: timing.once(call) for name, call in calls.items()}
        contenders |= {name: timing.spaced(call) for name, call in peers.items()}
        measured = await timing.interleaved(contenders, rounds, tell)
    measured.failures |= missing
    return measured


@asynccontextmanager
async def _baselines(image: str) -> AsyncIterator[tuple[dict[str, timing.Call], dict[str, str]]]:
    """The calls of the baselines that are here, and why the others are not."""
    calls = {INTERPRETER: baselines.program(INTERPRETER, baselines.interpreter())}
    missing: dict[str, str] = {}
    if shutil.which("bwrap"):
        calls[FRESH_BUBBLEWRAP] = baselines.program(FRESH_BUBBLEWRAP, baselines.fresh_bubblewrap())
    else:
        missing[FRESH_BUBBLEWRAP] = "bubblewrap is not installed"
    if why := baselines.missing_engine(image):
        yield calls, missing | {DOCKER_RUN: why, DOCKER_EXEC: why}
        return
    calls[DOCKER_RUN] = baselines.program(DOCKER_RUN, baselines.docker_run(image))
    async with baselines.held_container(image) as command:
        calls[DOCKER_EXEC] = baselines.program(DOCKER_EXEC, command)
        yield calls, missing


def figures(measured: timing.Measured, kind: str) -> dict[str, Any]:
    """One back end's part of the result."""
    burst = kind + BURST
    found: dict[str, Any] = {
        "spaced": measured.figures(kind),
        "back_to_back": measured.figures(burst),
        "slow_import_spaced": measured.figures(kind + IMPORT),
        "slow_import_back_to_back": measured.figures(kind + IMPORT + BURST),
        "ratio_to_docker_run": measured.ratio(kind, DOCKER_RUN),
        "ratio_to_docker_run_back_to_back": measured.ratio(burst, DOCKER_RUN),
        "ratio_to_docker_exec": measured.ratio(kind, DOCKER_EXEC),
        "ratio_to_fresh_interpreter": measured.ratio(kind, INTERPRETER),
    }
    if kind == "bubblewrap":
        found["ratio_to_fresh_bubblewrap"] = measured.ratio(kind, FRESH_BUBBLEWRAP)
        found["ratio_to_fresh_bubblewrap_back_to_back"] = measured.ratio(burst, FRESH_BUBBLEWRAP)
    if DOCKER_RUN in measured.failures:
        found["note"] = f"no `docker run` to compare with: {measured.failures[DOCKER_RUN]}"
    return found


def baseline_figures(measured: timing.Measured) -> dict[str, Any]:
    """The baselines' part of the result."""
    return {name: measured.figures(name) for name in (DOCKER_RUN, DOCKER_EXEC, FRESH_BUBBLEWRAP, INTERPRETER)}
