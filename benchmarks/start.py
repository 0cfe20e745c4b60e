"""`make bench NAME=start`: how soon a client has its answers, against a minimal server of the same SDK.

A process is started each time, over stdio, and timed from its start: to the first line of its answer to `initialize`
(2025 protocol) and to `server/discover` (2026), and to its list of tools after the handshake. Three contenders take
turns: the minimal server, the first client of ours (no server runs: it starts one), and a later client, which shares
the server of another. `--load N` keeps N other processes busy meanwhile; the impatient clients give a server 3 s.
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

from alita_mcp.server.transports.local.clients import memory_bytes
from alita_mcp.server.transports.local.servers import stop_servers

GOALS = {
    ("initialize", "first"): 1.2,
    ("server/discover", "first"): 1.2,
    ("tools/list", "first"): 1.3,
    ("tools/list", "later"): 0.5,
}
"""The median of a contender may be at most this many times the minimal server's."""
GOAL_S = 2.0
"""The median of a first answer may be at most this, also under load."""
LATER_LIST_S = 0.5
LATER_BYTES = 10e6
"""Memory of a later client's process, its proportional share."""
CONTENDERS = ("minimal", "first", "later")
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
LIST = "tools/list"
_HANDSHAKE = "initialize"
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
    """Measures; medians in seconds, ratios to the minimal server, and the memory of a later client."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        minimal = Path(folder) / "minimal.py"
        minimal.write_text(MINIMAL, encoding="utf-8")
        home = Path(folder) / "home"
        env = {**_without_settings(), "ALITA_HOME": str(home)}
        with busy(options.load):
            answers = {
                method: _measure(method, minimal, home, env, options.starts) for method in (*REQUESTS, LIST)
            }
            memory = _memory_of_later_client(home, env)
    ratios = {
        (method, contender): round(answers[method][contender] / answers[method]["minimal"], 3)
        for method in answers
        for contender in CONTENDERS[1:]
    }
    missed = [
        f"{method}, {who}: {ratios[method, who]}x"
        for (method, who), most in GOALS.items()
        if ratios[method, who] > most
    ]
    missed += [
        f"{method}, first: {answers[method]['first']:.2f} s"
        for method in REQUESTS
        if answers[method]["first"] > GOAL_S
    ]
    if answers[LIST]["later"] > LATER_LIST_S:
        missed.append(f"{LIST}, later: {answers[LIST]['later']:.2f} s")
    if memory > LATER_BYTES:
        missed.append(f"later client: {memory / 1e6:.1f} MB")
    return {
        "starts": options.starts,
        "load": options.load,
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "mcp": version("mcp"),
        "answers": {
            method: {
                **{f"{contender}_s": round(seconds[contender], 4) for contender in CONTENDERS},
                **{f"{contender}_ratio": ratios[method, contender] for contender in CONTENDERS[1:]},
            }
            for method, seconds in answers.items()
        },
        "later_client_bytes": memory,
        "missed": missed,
        "met": not missed,
    }


def table(result: dict[str, object]) -> str:
    """The result for people."""
    lines = [f"{'answer to':17} {'minimal':>9} {'first client':>18} {'later client':>18}"]
    answers: dict[str, dict[str, float]] = result["answers"]  # type: ignore[assignment]
    for method, answer in answers.items():
        lines.append(
            f"{method:17} {answer['minimal_s']:7.3f} s {answer['first_s']:8.3f} s {answer['first_ratio']:6.2f}x "
            f"{answer['later_s']:8.3f} s {answer['later_ratio']:6.2f}x"
        )
    lines.append(f"memory of a later client: {result['later_client_bytes'] / 1e6:.1f} MB")  # type: ignore[operator]
    missed: list[str] = result["missed"]  # type: ignore[assignment]
    lines.append(f"NOT met: {'; '.join(missed)}" if missed else "All goals met.")
    lines.append(
        f"Medians of {result['starts']} starts each, taking turns; {result['load']} busy processes on"
    )
    lines.append(f"{result['processors']} processors; Python {result['python']}, mcp {result['mcp']}.")
    return "\n".join(lines)


def _measure(method: str, minimal: Path, home: Path, env: dict[str, str], starts: int) -> dict[str, float]:
    """Medians of starts that take turns; the first of each fills the byte-code caches and is not counted."""
    ours = [sys.executable, "-m", "alita_mcp.server.transports.entry"]
    seconds: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    for _ in range(starts + 1):
        stop_servers(home)
        seconds["minimal"].append(answer_s([sys.executable, str(minimal)], method, env))
        seconds["first"].append(answer_s(ours, method, env))
        answer_s(ours, LIST, env)  # by then the server is there
        seconds["later"].append(answer_s(ours, method, env))
    stop_servers(home)
    return {contender: statistics.median(times[1:]) for contender, times in seconds.items()}


def _memory_of_later_client(home: Path, env: dict[str, str]) -> int:
    """The proportional share, in bytes, of a process that shares the server of another client."""
    ours = [sys.executable, "-m", "alita_mcp.server.transports.entry"]
    with _started(ours, env) as first, _started(ours, env) as later:
        for server in (first, later):
            _ask(server, LIST)
        memory = memory_bytes(later.pid)
    stop_servers(home)
    return memory


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


def answer_s(command: list[str], method: str, env: dict[str, str]) -> float:
    """Seconds from the start of the process to its answer, which must be a result."""
    started = time.perf_counter()
    with _started(command, env) as server:
        _ask(server, method)
        return time.perf_counter() - started


@contextmanager
def _started(command: list[str], env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process over stdio, whose input ends with the block."""
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        yield server
        server.communicate(timeout=ANSWER_WITHIN_S)


def _ask(server: subprocess.Popen[bytes], method: str) -> None:
    """Asks for the first answer, or for the list of tools after the handshake."""
    assert server.stdin
    assert server.stdout
    first = _HANDSHAKE if method == LIST else method
    requests = [{"id": 1, "method": first, "params": REQUESTS[first]}]
    if method == LIST:
        requests += [{"method": "notifications/initialized"}, {"id": 2, "method": LIST}]
    for request in requests:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **request}).encode() + b"\n")
        server.stdin.flush()
        if "id" in request:
            line = server.stdout.readline()
            if "result" not in json.loads(line or "{}"):
                raise RuntimeError(f"no answer to {request['method']}: {line!r}")


def _without_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("ALITA_")}  # noqa: TID251


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count")
    return int(text)
