"""A small GET from inside a sandbox, through the broker's egress policy, against the same GET without a sandbox."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio.lowlevel

from alita_mcp.sandbox.interface import Broker, Job, Sandbox
from alita_mcp.values import Grants
from benchmarks.calls import baselines, timing, work

HOST = "127.0.0.1"
SITE_NAME = "site.test"
"""What the web server is called inside a sandbox."""
GETS = 10
DIRECT = "direct"
ANSWER_WITHIN_S = 60
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
FROM_STDIN = f"import json, sys\n{GET}\nprint(json.dumps(get(**json.load(sys.stdin))))\n"
SITE = f"""
import http.server, os, sys, threading

class Page(http.server.BaseHTTPRequestHandler):
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


async def measure(
    sandboxes: Mapping[str, Sandbox], open_broker: OpenBroker, rounds: int, tell: timing.Tell
) -> dict[str, dict[str, Any]]:
    """For each kind the seconds of a GET, and as many of a direct one."""
    async with site() as port:
        turns: dict[str, timing.Turn] = {DIRECT: _direct(f"http://{HOST}:{port}/")}
        for kind, sandbox in sandboxes.items():
            turns[kind] = _brokered(sandbox, port, open_broker)
        measured = await timing.interleaved(turns, rounds, tell)
    return {
        kind: {
            "brokered": measured.figures(kind),
            "direct": measured.figures(DIRECT),
            "ratio_to_direct": measured.ratio(kind, DIRECT),
        }
        for kind in sandboxes
    }


@asynccontextmanager
async def site() -> AsyncIterator[int]:
    """The port of a small web server on this machine."""
    process = await anyio.open_process([sys.executable, "-I", "-c", SITE], start_new_session=True)
    try:
        assert process.stdout
        yield int(await process.stdout.receive())
    finally:
        with anyio.CancelScope(shield=True):
            process.kill()
            await process.aclose()


def _direct(url: str) -> timing.Turn:
    async def turn() -> list[float]:
        await anyio.lowlevel.checkpoint()
        return direct_gets(url)

    return turn


def direct_gets(url: str) -> list[float]:
    """Seconds of GETs by an interpreter without a sandbox, while nothing else runs."""
    words = json.dumps({"url": url, "times": GETS + 1}).encode()
    argv = [baselines.interpreter()[0], "-I", "-S", "-c", FROM_STDIN]
    try:
        # without our environment: it may name a proxy
        done = subprocess.run(
            argv, input=words, capture_output=True, env={}, timeout=ANSWER_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired as late:
        raise timing.ContenderFailed("the direct GETs did not end") from late
    if done.returncode:
        raise timing.ContenderFailed(f"a direct GET failed: {baselines.last_line(done.stderr)}")
    return _seconds(work.parsed(DIRECT, done.stdout))


def loopback_broker(job: Job) -> Broker:
    """The broker of a server's calls, but it may reach this machine, which a tool of a library may not."""
    from alita_mcp.sandbox.broker.granted import GrantedBroker
    from alita_mcp.sandbox.broker.host_services import HostServices

    async def resolve(_host: str, _port: int) -> list[str]:
        return [HOST]

    return GrantedBroker(job.grants, job.limits, HostServices(resolve=resolve, reachable=frozenset({HOST})))


def _brokered(sandbox: Sandbox, port: int, open_broker: OpenBroker) -> timing.Turn:
    address = f"{SITE_NAME}:{port}"
    arguments = {"url": f"http://{address}/", "times": GETS + 1}
    request = Job(code=GET, function="get", arguments=arguments, grants=Grants(network=(address,)))

    async def turn() -> list[float]:
        result = await sandbox.run(request, open_broker(request))
        if not result.ok:
            raise timing.ContenderFailed(
                f"{sandbox.kind}: {result.error_type or result.status}: {result.message}"
            )
        return _seconds(result.value)

    return turn


def _seconds(answer: Any) -> list[float]:
    """The first one also imports what it needs, and is not counted."""
    return [float(each) for each in answer[1:]]
