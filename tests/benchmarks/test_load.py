"""The benchmark of load: it counts what is lost, wrong and busy, and measures both servers."""

from __future__ import annotations

import argparse
import itertools
import json
from contextlib import suppress

import anyio
import anyio.abc
import psutil
import pytest

from benchmarks import load
from benchmarks.load.client import Address
from benchmarks.load.crowd import Crowd, run_window
from benchmarks.load.servers import NOOP, MeasuredServer

BUSY = {"isError": True, "content": [], "_meta": {"alita/retry_after_s": 0.01}}
WRONG = {"result": {"structuredContent": {"result": -1}}}
LAST = itertools.cycle([{"error": {"code": -32603}}, None])
"""How a connection ends: with a refusal, or without any answer."""


async def serve(stream: anyio.abc.SocketStream) -> None:
    """Answers wrongly, then `busy`, and ends the connection in one of two ways."""
    async with stream:
        for answer in (WRONG, {"result": BUSY}, next(LAST)):
            with suppress(anyio.EndOfStream):
                await stream.receive()
                if answer is not None:
                    body = json.dumps({"jsonrpc": "2.0", "id": 1, **answer}).encode()
                    await stream.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


async def test_what_is_wrong_busy_or_lost_is_counted_and_nothing_of_it_as_done() -> None:
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    crowd = Crowd(clients=2)
    with anyio.fail_after(60):
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve)
            while len(set(crowd.lost)) < 2:
                await run_window(crowd, MeasuredServer("alita", Address(port), psutil.Process()), 0.2)
            tasks.cancel_scope.cancel()
    figures = crowd.figures()
    assert (figures["operations"], figures["fairness"], figures["cpu_ms"]) == (0, 0.0, None)
    assert figures["wrong"] > 0
    assert figures["busy_p50_s"] > 0
    assert any("-32603" in lost for lost in crowd.lost)
    assert any("broke" in lost for lost in crowd.lost)


@pytest.mark.process
async def test_both_servers_answer_rightly_and_their_processor_time_and_memory_are_measured() -> None:
    parser = argparse.ArgumentParser()
    load.add_arguments(parser)
    words = ["--clients", "3", "--seconds", "1", "--sandbox", "wasm", "--memory", "2", "1"]
    with anyio.fail_after(300):
        result = await load.measure(parser.parse_args(words))
    figures = result["crowds"]["3"]
    for name in ("alita", NOOP):
        assert (figures[name]["lost"], figures[name]["wrong"]) == (0, 0), figures[name]["first_failures"]
        assert figures[name]["operations"] > 0
        assert figures[name]["cpu_ms"] > 0
    assert result["memory"]["calls"]["resident_bytes"][0] > 10_000_000
    assert result["memory"]["syntheses"]["amount"] == 1
    assert json.loads(json.dumps(result)) == result
