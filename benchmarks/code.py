"""`alita bench code`: a ten-line script through `run_code` beside the same lines as a published tool, both warm.

In turns, through the flows that clients use: request to recorded answer. Every call has other arguments, so that no
kept result answers it. Ratios of medians, which is what a noisy machine leaves.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from alita_mcp.app import App, open_app
from alita_mcp.app.learning import ClientIdentity
from alita_mcp.interpreter.code_run import CodeRequest
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings, read_settings
from alita_mcp.synthesis.requests.request import read_request

GOAL = 2.0
SPACED_SECONDS = 0.05
"""Between two calls, for a client that is not a loop."""
BODY = """\
counts = {}
for word in text.split():
    key = word.lower().strip(".,")
    if key in counts:
        counts[key] += 1
    else:
        counts[key] = 1
ordered = sorted(counts, key=lambda key: (-counts[key], key))
top = ordered[:3]
"""
SCRIPT = f"{BODY}top\n"
NAME = "top_words"
TOOL = {
    "name": NAME,
    "description": "The three words that a text holds most often.",
    "code": f"def {NAME}(text: str) -> list[str]:\n"
    + "".join(f"    {line}\n" for line in BODY.splitlines())
    + "    return top\n",
    "tests": [
        {"arguments": {"text": "b a a"}, "expected": ["a", "b"]},
        {"arguments": {"text": ""}, "expected": []},
        {"arguments": {"text": "d, D. c c a b"}, "expected": ["c", "d", "a"]},
    ],
}
Call = Callable[[str], Awaitable[Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's own options."""
    parser.add_argument("--calls", type=int, default=60, metavar="N", help="of each kind; default: 60")
    parser.add_argument("--sandbox", metavar="KIND", help="default: as ALITA_SANDBOX says")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Medians in milliseconds, and their ratios to the tool's."""
    with tempfile.TemporaryDirectory() as home:
        ours: dict[str, Any] = {"home": Path(home), "learn": False}
        ours |= {"sandbox": options.sandbox} if options.sandbox else {}
        return anyio.run(_measured, read_settings().model_copy(update=ours), options.calls)


async def _measured(settings: Settings, calls: int) -> dict[str, Any]:
    async with open_app(settings, admit=admit) as app:
        made = await app.synthesize(read_request(TOOL), _silent)
        if made.status != "created":
            raise AssertionError(f"the tool was not made: {made}")
        kinds = _kinds(app)
        rows = {
            name: await _in_turns(kinds, calls, gap)
            for name, gap in (("back to back", 0.0), ("spaced", SPACED_SECONDS))
        }
        return {"sandbox": app.sandbox.kind, "calls": calls, "rows": rows, "goal": GOAL}


def _kinds(app: App) -> dict[str, Call]:
    """What is measured, each given a text."""
    identity = ClientIdentity("bench", "bench")

    async def tool(text: str) -> Any:
        return (await app.run(NAME, {"text": text}, identity=identity)).result.value

    async def script(text: str, **more: Any) -> Any:
        request = CodeRequest(code=SCRIPT, arguments={"text": text}, **more)
        return (await app.code.run(request, identity, _silent)).run.result  # type: ignore[union-attr]

    async def step(text: str) -> Any:
        return await script(text, session="bench")

    return {"tool": tool, "run_code": script, "session step": step}


async def _in_turns(kinds: dict[str, Call], calls: int, gap: float) -> dict[str, Any]:
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(-3, calls):
        for name, call in kinds.items():
            text = f"a{number} b a{number} {gap}"
            started = time.perf_counter()
            value = await call(text)
            took = time.perf_counter() - started
            if value != [f"a{number}", str(gap), "b"]:
                raise AssertionError(f"{name} gave {value}")
            if number >= 0:
                seconds[name].append(took)
            await anyio.sleep(gap)
    medians = {name: statistics.median(each) * 1000 for name, each in seconds.items()}
    ratios = {name: median / medians["tool"] for name, median in medians.items()}
    return {"ms": medians, "ratio": ratios}


def table(result: dict[str, Any]) -> str:
    """The medians as a reader wants them."""
    lines = [f"{result['sandbox']}, medians of {result['calls']} calls in turns"]
    for name, row in result["rows"].items():
        told = ", ".join(
            f"{kind} {row['ms'][kind]:.1f} ms ({row['ratio'][kind]:.2f} x)" for kind in row["ms"]
        )
        lines.append(f"{name:14}{told}")
    worst = max(row["ratio"]["run_code"] for row in result["rows"].values())
    verdict = "met" if worst <= result["goal"] else "NOT met"
    return "\n".join([*lines, f"Goal: run_code at most {result['goal']:g} x a tool's warm call: {verdict}."])


async def _silent(_stage: str) -> None:
    return None
