"""Whatever one client sends, a second one is answered meanwhile: its slowest ping, beside those of a quiet time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.server.connections import Connection, client_of, http_process

pytestmark = pytest.mark.process

QUIET_S = 0.5
MOST = 25
"""How many times the quiet gap may grow: a loop that is held for seconds makes it hundreds."""
FLOOR_S = 0.02
"""A gap below this is the machine's own."""

HALVES = "    return [n + 0.5 for n in range(count)]\n"
WRONG = "    return [n if count != 99_999 else n + 0.5 for n in range(count)]\n"

PINGER = """
import http.client, json, sys, threading, time
host, _, port = sys.argv[1].partition(":")
line = http.client.HTTPConnection(host, int(port), timeout=300)
heads = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
def ask(method, **more):
    line.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", "method": method, **more}), heads)
    answer = line.getresponse()
    answer.read()
    return answer
began = ask("initialize", id=0, params={
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "pinger", "version": "1"}})
heads |= {"Mcp-Session-Id": began.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
ask("notifications/initialized")
asked = threading.Semaphore(0)
threading.Thread(target=lambda: [asked.release() for _ in sys.stdin], daemon=True).start()
worst = 0.0
while True:
    started = time.perf_counter()
    assert ask("ping", id=1).status == 200
    worst = max(worst, time.perf_counter() - started)
    if asked.acquire(blocking=False):
        print(worst, flush=True)
        worst = 0.0
    time.sleep(0.005)
"""


class Pings:
    """A second client in a process of its own, which pings without a pause."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    async def worst(self) -> float:
        """Seconds that the slowest ping took since the last time that this was asked."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("?\n")
        self._process.stdin.flush()
        return float(await anyio.to_thread.run_sync(self._process.stdout.readline))


@asynccontextmanager
async def pinging(url: str) -> AsyncIterator[Pings]:
    address = url.removeprefix("http://").partition("/")[0]
    command = [sys.executable, "-I", "-c", PINGER, address]
    with subprocess.Popen(  # noqa: ASYNC220 - starts in no time
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Pings(process)
        finally:
            process.kill()


async def published(connection: Connection, name: str, result: str, code: str, examples: list[Any]) -> None:
    tests = [{"arguments": {"count": n}, "expected": expected} for n, expected in enumerate(examples)]
    whole = f'def {name}(count: int) -> {result}:\n    """Gives many.\n\n    Args:\n        count: How many.\n    """\n'
    request = {"name": name, "description": f"Gives many, as {result}.", "code": whole + code, "tests": tests}
    assert (await connection.make(request))["status"] == "created"


def nested_finally(depth: int) -> str:
    lines = ["def twice(text: str) -> str:", '    """Says it twice."""']
    lines += [f"{' ' * (4 + n)}try:" for n in range(depth)] + [" " * (4 + depth) + "text += text"]
    for n in reversed(range(depth)):
        lines += [f"{' ' * (4 + n)}finally:", f"{' ' * (5 + n)}text += ''"]
    return "\n".join([*lines, "    return text", ""])


def hostile_code(code: str) -> dict[str, Any]:
    tests = [{"arguments": {"text": text}, "expected": text * 2} for text in ("a", "bc", "")]
    return {"name": "twice", "description": "Says it twice.", "code": code, "tests": tests}


def calls(connection: Connection) -> dict[str, tuple[Callable[[], Awaitable[Any]], str]]:
    """What a hostile or careless client sends, and a word of the answer, by which it got as far as it should."""
    call = connection.client.call_tool
    rows = "a,b\n" + "".join(f"{n},{n}\n" for n in range(10_000))
    other = hostile_code("") | {"name": "other"}
    dense = "def other(text: str) -> str:\n    x = [" + "1," * 31_000 + "]\n    return text + text\n"
    many = {"name": "many_numbers", "arguments": {"count": [1] * 300_000}}
    tests = [{"arguments": {"a": [0] * 1_000}, "expected": 1}] * 200
    return {
        "100,000 numbers": (lambda: call("many_numbers", {"count": 100_000}), "are left out"),
        "one wrong number": (lambda: call("wrong_numbers", {"count": 99_999}), "not an integer"),
        "records of a table": (lambda: call("csv_to_records", {"text": rows}), "are left out"),
        "a long text": (lambda: call("long_text", {"count": 450_000}), "are left out"),
        "many arguments": (lambda: call("run_tool", many), "not an integer"),
        "unknown arguments": (lambda: call("many_numbers", {f"x{n}": n for n in range(60_000)}), "and more"),
        "nested finally": (lambda: call("synthesize_tool", hostile_code(nested_finally(17))), "Published"),
        "dense code": (lambda: call("synthesize_tool", other | {"code": dense}), "names, numbers and signs"),
        "many tests": (
            lambda: call("synthesize_tool", other | {"code": "def other(): 1", "tests": tests}),
            "Rejected",
        ),
    }


@pytest.fixture
async def held(home: Path) -> AsyncIterator[tuple[Connection, Pings]]:
    async with (
        http_process(home) as (url, _),
        client_of(url, "modern") as connection,
        pinging(url) as pings,
    ):
        await published(connection, "many_numbers", "list[float]", HALVES, [[], [0.5], [0.5, 1.5]])
        await published(connection, "wrong_numbers", "list[int]", WRONG, [[], [0], [0, 1]])
        await published(connection, "long_text", "str", "    return 'ab' * count\n", ["", "ab", "abab"])
        yield connection, pings


@pytest.mark.parametrize(
    "names",
    [
        ("100,000 numbers", "many arguments", "nested finally", "many tests"),
        pytest.param((), marks=pytest.mark.exhaustive),
    ],
    ids=["one of each kind", "all"],
)
async def test_nothing_that_a_client_sends_holds_up_the_others(
    held: tuple[Connection, Pings], names: tuple[str, ...]
) -> None:
    connection, pings = held
    grown = {}
    for name, (call, word) in calls(connection).items():
        if names and name not in names:
            continue
        await pings.worst()
        await anyio.sleep(QUIET_S)
        quiet = max(await pings.worst(), FLOOR_S)
        with anyio.fail_after(300):
            answer = await call()
        assert word in answer.content[0].text, (name, answer.content[0].text[:300])
        grown[name] = round((await pings.worst()) / quiet, 1)
    print(grown)
    assert max(grown.values()) < MOST, grown
