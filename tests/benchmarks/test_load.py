"""The benchmark of load measures both servers, and reads what each answers."""

from __future__ import annotations

import argparse
import json

import anyio
import anyio.abc
import pytest

from benchmarks import load
from benchmarks.load.servers import NOOP


@pytest.mark.process
async def test_both_servers_answer_rightly_and_their_processor_time_and_memory_are_measured() -> None:
    parser = argparse.ArgumentParser()
    load.add_arguments(parser)
    words = [
        "--clients",
        "3",
        "--seconds",
        "1",
        "--sandbox",
        "wasm",
        "--shared-seconds",
        "1",
        "--memory",
        "2",
        "1",
    ]
    with anyio.fail_after(300):
        result = await load.measure(parser.parse_args(words))
    figures = result["crowds"]["3"]
    for name in ("alita", NOOP):
        assert (figures[name]["lost"], figures[name]["wrong"]) == (0, 0), figures[name]["first_failures"]
        assert figures[name]["operations"] > 0
        assert figures[name]["cpu_ms"] > 0
    assert result["memory"]["calls"]["resident_bytes"][0] > 10_000_000
    assert result["memory"]["syntheses"]["amount"] == 1
    shared = result["shared"]
    assert (shared["errors"], shared["servers"]) == (0, 1), shared["first_errors"]
    assert shared["operations"] > 0
    assert shared["relay_bytes"] < shared["memory_bytes"]
    assert json.loads(json.dumps(result)) == result
