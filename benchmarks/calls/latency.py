"""Latency of a warm call by `Sandbox.run`, and of the same work in plain CPython and through the broker's GET."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread

from alita_mcp.sandbox.interface import Broker, Job, Sandbox
from alita_mcp.values import Grants
from benchmarks.calls import baselines, timing, work

DOCKER_RUN = "docker run --rm"
INTERPRETER = "fresh interpreter, no sandbox"
FRESH_BUBBLEWRAP = "fresh bubblewrap and interpreter"
BURST = " back to back"
IMPORT = " with an import of 20 ms"
IMPORT_SPACE_S = 0.05


async def measure_calls(
    sandboxes: Mapping[str, Sandbox],
    image: str,
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
    programs = {INTERPRETER: baselines.interpreter()}
    missing = {}
    if shutil.which("bwrap"):
        programs[FRESH_BUBBLEWRAP] = baselines.fresh_bubblewrap()
    else:
        missing[FRESH_BUBBLEWRAP] = "bubblewrap is not installed"
    if why := baselines.missing_engine(image):
        missing[DOCKER_RUN] = why
    else:
        programs[DOCKER_RUN] = baselines.docker_run(image)
    contenders |= {name: timing.once(baselines.program(name, argv)) for name, argv in programs.items()}
    measured = await timing.interleaved(contenders, rounds, tell)
    measured.failures |= missing
    return measured


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
        "ratio_to_fresh_interpreter": measured.ratio(kind, INTERPRETER),
    }
    if kind == "bubblewrap":
        found["ratio_to_fresh_bubblewrap"] = measured.ratio(kind, FRESH_BUBBLEWRAP)
        found["ratio_to_fresh_bubblewrap_back_to_back"] = measured.ratio(burst, FRESH_BUBBLEWRAP)
    return found


def baseline_figures(measured: timing.Measured) -> dict[str, Any]:
    """The baselines' part of the result."""
    return {name: measured.figures(name) for name in (DOCKER_RUN, FRESH_BUBBLEWRAP, INTERPRETER)}


LOADS = {"loop": 7_000_000, "json": 1_046_670, "regex": 40_000}
"""What is computed, with the right result: 2 million steps, 1 MB of JSON, a regular expression over 1 MB."""
COMPUTE = '''
import json, re, time

def _loop() -> int:
    total = 0
    for step in range(2_000_000):
        total += step & 7
    return total

def _json() -> int:
    rows = [{"id": number, "name": f"row {number}", "values": [number, 0.5, None, True]} for number in range(15_000)]
    return len(json.dumps(json.loads(json.dumps(rows))))

def _regex() -> int:
    text = "On 2026-11-22 ann@example.org wrote 17 lines to bob. " * 20_000
    return len(re.findall(r"[a-z]+@([a-z]+)\\.org|\\d{4}-(\\d\\d)-\\d\\d", text))

def compute(load: str) -> list:
    """What came out, and how many seconds it took."""
    work = {"loop": _loop, "json": _json, "regex": _regex}[load]
    started = time.perf_counter()
    result = work()
    return [result, time.perf_counter() - started]
'''


async def measure_compute(sandboxes: Mapping[str, Sandbox], rounds: int, tell: timing.Tell) -> dict[str, Any]:
    """For each kind and each load: the seconds inside, those of plain CPython, and the ratio."""

    def seconds(name: str, load: str, answer: Any) -> list[float]:
        result, took = answer
        if result != LOADS[load]:
            raise timing.ContenderFailed(f"{name} answered {result!r} to {load}")
        return [float(took)]

    def plain(load: str) -> timing.Turn:
        async def turn() -> list[float]:
            return seconds("plain CPython", load, await anyio.to_thread.run_sync(plain_answer, load))

        return turn

    def inside(sandbox: Sandbox, load: str) -> timing.Turn:
        job = Job(code=COMPUTE, function="compute", arguments={"load": load})

        async def turn() -> list[float]:
            return seconds(sandbox.kind, load, await work.value_of(sandbox, job))

        return turn

    turns: dict[str, timing.Turn] = {}
    for load in LOADS:
        turns[f"plain {load}"] = plain(load)
        turns |= {f"{kind} {load}": inside(sandbox, load) for kind, sandbox in sandboxes.items()}
    measured = await timing.interleaved(turns, rounds, tell)
    return {
        kind: {
            load: {
                "inside": measured.figures(f"{kind} {load}"),
                "plain": measured.figures(f"plain {load}"),
                "ratio": measured.ratio(f"{kind} {load}", f"plain {load}"),
            }
            for load in LOADS
        }
        for kind in sandboxes
    }


def plain_answer(load: str) -> Any:
    """The output of a fresh interpreter without a sandbox."""
    program = f"import sys\n{COMPUTE}\nprint(json.dumps(compute(**json.load(sys.stdin))))\n"
    return baselines.answer_of("plain CPython", baselines.interpreter(program), {"load": load}, env={})[0]


HOST = "127.0.0.1"
SITE_NAME = "site.test"
"""What the web server is called inside a sandbox."""
GETS = 10
GET = '''
import time, urllib.request

def get(url: str, times: int) -> list:
    """Seconds of each GET."""
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        with urllib.request.urlopen(url) as answer:
            if answer.read() != b"small":
                raise ValueError("another page")
        seconds.append(time.perf_counter() - started)
    return seconds
'''
SITE = f"""
import http.server, os, sys, threading

class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"small")

    def log_message(self, *words):
        pass

server = http.server.ThreadingHTTPServer(("{HOST}", 0), Page)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
os._exit(0)
"""
"""A web server in a process of its own, which ends when our end of its stdin is closed."""
OpenBroker = Callable[[Job], Broker]
"""The broker of one call, which may reach this machine under the name `SITE_NAME`."""


async def measure_gets(
    sandboxes: Mapping[str, Sandbox], open_broker: OpenBroker, rounds: int, tell: timing.Tell
) -> dict[str, Any]:
    """For each kind the seconds of a small GET through the broker, and those of a direct one."""

    def brokered(sandbox: Sandbox, port: int) -> timing.Turn:
        address = f"{SITE_NAME}:{port}"
        arguments = {"url": f"http://{address}/", "times": GETS + 1}
        job = Job(code=GET, function="get", arguments=arguments, grants=Grants(network=(address,)))

        async def turn() -> Sequence[float]:
            seconds: list[float] = await work.value_of(sandbox, job, open_broker(job))
            return seconds[1:]  # the first one also imports what it needs

        return turn

    async with site() as port:

        async def direct() -> Sequence[float]:
            await anyio.lowlevel.checkpoint()
            return direct_gets(f"http://{HOST}:{port}/")

        turns = {"direct": direct} | {kind: brokered(sandbox, port) for kind, sandbox in sandboxes.items()}
        measured = await timing.interleaved(turns, rounds, tell)
    return {
        kind: {
            "brokered": measured.figures(kind),
            "direct": measured.figures("direct"),
            "ratio_to_direct": measured.ratio(kind, "direct"),
        }
        for kind in sandboxes
    }


@asynccontextmanager
async def site() -> AsyncIterator[int]:
    """The port of a small web server on this machine."""
    words = [sys.executable, "-I", "-c", SITE]
    process = await anyio.open_process(words, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert process.stdout
        yield int(await process.stdout.receive())
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await process.aclose()


def direct_gets(url: str) -> list[float]:
    """Seconds of GETs by an interpreter without a sandbox and without our environment: it may name a proxy."""
    program = f"import json, sys\n{GET}\nprint(json.dumps(get(**json.load(sys.stdin))))\n"
    arguments = {"url": url, "times": GETS + 1}
    seconds: list[float] = baselines.answer_of(
        "a direct GET", baselines.interpreter(program), arguments, env={}
    )[0]
    return seconds[1:]


def loopback_broker(job: Job) -> Broker:
    """The broker of a server's calls, but it may reach this machine, which a tool of a library may not."""
    from alita_mcp.sandbox.broker.granted import GrantedBroker
    from alita_mcp.sandbox.broker.host_services import HostServices

    async def resolve(_host: str, _port: int) -> list[str]:
        return [HOST]

    return GrantedBroker(job.grants, job.limits, HostServices(resolve=resolve, reachable=frozenset({HOST})))
