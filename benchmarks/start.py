"""`make bench NAME=start`: how soon a cold server answers its first request, against a minimal server of the same SDK.

Both servers are started in turn, a process each time, over stdio; timed from the start of the process to the
first line of its answer to `initialize` (2025 protocol) and to `server/discover` (2026). `--load N` keeps N other
processes busy meanwhile; the impatient clients give a server 3 s.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

GOAL = 1.2
"""Our median may be at most this many times the minimal server's."""
GOAL_S = 2.0
"""Our median may be at most this, also under load."""
ANSWER_WITHIN_S = 60
CLIENT = {"name": "benchmark start", "version": "1"}
REQUESTS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
    "server/discover": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": CLIENT,
        }
    },
}
MINIMAL = """
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(context, params):
    tool = types.Tool(name="tool", description="A tool", input_schema={"type": "object", "properties": {}})
    return types.ListToolsResult(tools=[tool])


async def main():
    server = Server("minimal", version="1", on_list_tools=list_tools)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


anyio.run(main)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "-n", "--starts", type=_at_least_one, default=15, help="timed starts of each (default 15)"
    )
    parser.add_argument(
        "--load",
        type=_at_least_one,
        default=0,
        metavar="N",
        help="keep N processes busy meanwhile (default none)",
    )


def run(options: argparse.Namespace) -> dict[str, object]:
    """Measures; medians in seconds, and the ratio for each request."""
    with tempfile.TemporaryDirectory() as folder:
        minimal = Path(folder) / "minimal.py"
        minimal.write_text(MINIMAL, encoding="utf-8")
        commands = {
            "minimal": [sys.executable, str(minimal)],
            "alita": [sys.executable, "-m", "alita_mcp.server.transports.entry"],
        }
        env = {**_without_settings(), "ALITA_HOME": str(Path(folder) / "home")}
        with busy(options.load):
            answers = {method: _measure(method, commands, env, options.starts) for method in REQUESTS}
    return {
        "starts": options.starts,
        "load": options.load,
        "processors": os.cpu_count(),
        "goal": GOAL,
        "goal_s": GOAL_S,
        "met": all(answer["ratio"] <= GOAL and answer["alita_s"] <= GOAL_S for answer in answers.values()),
        "python": platform.python_version(),
        "mcp": version("mcp"),
        "answers": answers,
    }


def table(result: dict[str, object]) -> str:
    """The result for people."""
    lines = [f"{'first answer to':17} {'minimal':>9} {'alita':>9} {'slowest':>9} {'ratio':>7}"]
    answers: dict[str, dict[str, float]] = result["answers"]  # type: ignore[assignment]
    for method, answer in answers.items():
        lines.append(
            f"{method:17} {answer['minimal_s']:7.3f} s {answer['alita_s']:7.3f} s {answer['slowest_s']:7.3f} s "
            f"{answer['ratio']:6.2f}x"
        )
    verdict = "met" if result["met"] else "NOT met"
    goal = f"Goal ≤ {result['goal']}x and ≤ {result['goal_s']:g} s"
    lines.append(f"{goal}: {verdict}; medians of {result['starts']} cold starts each,")
    lines.append(f"interleaved; {result['load']} busy processes on {result['processors']} processors;")
    lines.append(f"Python {result['python']}, mcp {result['mcp']}.")
    return "\n".join(lines)


def _measure(
    method: str, commands: dict[str, list[str]], env: dict[str, str], starts: int
) -> dict[str, float]:
    """Medians of interleaved starts; the first start of each fills the byte-code caches and is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(starts + 1):
        for name, command in commands.items():
            seconds[name].append(first_answer_s(command, method, env))
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    return {
        "minimal_s": round(medians["minimal"], 4),
        "alita_s": round(medians["alita"], 4),
        "slowest_s": round(max(seconds["alita"][1:]), 4),
        "ratio": round(medians["alita"] / medians["minimal"], 3),
    }


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keeps so many processes computing during the block; they end with this one, however it ends."""
    program = "import os, sys\nparent = int(sys.argv[1])\nwhile os.getppid() == parent: sum(range(100_000))"
    command = [sys.executable, "-S", "-c", program, str(os.getpid())]
    processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def first_answer_s(command: list[str], method: str, env: dict[str, str]) -> float:
    """Seconds from the start of the process to its first answer, which must be a result."""
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": REQUESTS[method]}
    started = time.perf_counter()
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        line = server.stdout.readline()
        took = time.perf_counter() - started
        server.stdin.close()
        server.stdout.close()
        try:
            server.wait(ANSWER_WITHIN_S)
        finally:
            server.kill()
    if "result" not in json.loads(line or "{}"):
        raise RuntimeError(f"{command} did not answer {method}: {line!r}")
    return took


def _without_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ALITA_")}  # noqa: TID251


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)
