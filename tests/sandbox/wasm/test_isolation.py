"""Nothing survives a call, nothing of the machine is seen, and what the inside says is bounded before it is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from wasmtime import WasmtimeError

from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.wasm.worker.engine import OsCallbacks
from alita_mcp.values import Grants, Limits
from tests.sandbox.arena import Arena, Fussy
from tests.sandbox.leftovers import wasm_leftovers
from tests.tables import each_case

SURROUNDINGS = """
import os, sys, glob, platform, socket
def f():
    seen = {"environment": dict(os.environ), "argv": sys.argv, "path": sys.path, "files": [], "open": []}
    for place in ("/", ".", "..", "/proc/self", "/python", "/etc", "C:/", "/dev", "/tmp", "/home", "/root"):
        try:
            seen["files"] += os.listdir(place)
        except OSError:
            pass
    for number in range(256):
        try:
            os.fstat(number)
            seen["open"].append(number)
        except OSError:
            pass
    return seen
"""
OWN = ["dev", "tmp", "dev", "tmp", "null"]
"""What lies at the root, where the tool is, and below `/dev`: nothing but the scratch folder in its memory."""
SPOILS = """
import builtins, os, sys, json, random
count = 0
def f(how):
    global count
    count += 1
    before = [count, getattr(builtins, "left", 0), len(os.environ), sys.getrecursionlimit() > 100_000]
    builtins.left = 1
    os.environ["LEFT"] = "1"
    if how == "trap":
        sys.setrecursionlimit(10**9)
        g = lambda n: g(n + 1) + 1
        g(0)
    if how == "exit":
        os._exit(3)
    if how == "flood":
        while True:
            print("x" * 1000)
    if how == "loop":
        while True:
            pass
    if how == "memory":
        hoard = bytearray(3 << 30)
    if how == "forge":
        json.dumps = json.loads = sum = None
        builtins.open = builtins.__import__ = None
    return before
"""
INSIDE = """
def world():
    waiting = [object]
    while waiting:
        kind = waiting.pop()
        if kind.__name__ == "WitWorld" and kind.__module__ != "wit_world":
            return kind
        waiting += type.__subclasses__(kind)
World = world()
"""
"""The class behind the exports: whoever looks for it finds it, and answers in its place."""


@pytest.fixture
def warm_workers() -> None:
    """None: these workers are started as they are for a user."""


def answers(arena: Arena, answer: str, **words: Any) -> RunResult:
    """A tool that answers in the place of the code that would call it."""
    code = INSIDE + f"def f():\n    return 1\nWorld.call = lambda self, arguments: {answer}\n"
    return arena.run(Job(code=code, function="f", arguments={}, **words))


def test_nothing_of_the_machine_is_seen_from_inside(arena: Arena) -> None:
    result = arena.run(Job(code=SURROUNDINGS, function="f", arguments={}))
    assert result.value == {"environment": {}, "argv": ["tool"], "path": [], "files": OWN, "open": [0, 1, 2]}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["return", "trap", "exit", "flood", "loop", "memory", "forge"])
def test_nothing_survives_a_call_however_it_ended(arena: Arena, how: str) -> None:
    limits = Limits(wall_seconds=5, cpu_seconds=1)
    for _ in range(2):
        arena.run(Job(code=SPOILS, function="f", arguments={"how": how}, limits=limits))
        after = arena.run(Job(code=SPOILS, function="f", arguments={"how": "return"}, limits=limits))
        assert after.value == [1, 0, 0, False], after
    assert arena.add() == 42


@pytest.mark.slow
@each_case(
    "answer",
    [
        "''", "'x'", "'{}'", "'null\\n1'", "'[' * 100000", "'{\"status\": 1}\\n1'", "'{\"status\": \"timeout\"}\\n'",
        "'{\"status\": \"output_flood\"}\\n'", "7", "None",
        "'{\"status\": \"' + 'x' * 200000 + '\"}\\n1'", "'{\"status\": \"ok\"}\\n'", "'{\"status\": \"ok\"}\\nNaN'",
        "'{\"status\": \"ok\"}\\n' + '[' * 5000", "'{\"status\": \"error\", \"error_kinds\": 5}\\n'",
        "'{\"status\": \"error\", \"message\": [1]}\\n'", "'{\"status\": \"error\", \"trace\": {\"a\": 1}}\\n'",
        "'{\"status\": \"ok\"}\\n' + '1' * 5_000_000", "'\\ud800'", "1 / 0",
    ],
)  # fmt: skip
def test_a_forged_answer_is_judged_and_never_believed(arena: Arena, answer: str) -> None:
    result = answers(arena, answer)
    assert result.status in {"crashed", "bad_result", "error"}, result
    assert len(result.message) < 10_000
    assert arena.add() == 42


def test_what_may_be_forged_is_a_result_that_the_tool_could_have_returned(arena: Arena) -> None:
    assert answers(arena, '\'{"status": "ok"}\\n7\'').value == 7


def peak_mb() -> float:
    """The most memory that a worker of this process ever had."""
    peaks = []
    for number in wasm_leftovers(os.getpid()):
        lines = Path(f"/proc/{number}/status").read_text().splitlines()
        peaks += [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")]
    return max(peaks)


@pytest.mark.skipif(not psutil.LINUX, reason="reads the peak from /proc")
def test_a_huge_answer_is_refused_before_it_becomes_text(arena: Arena) -> None:
    result = answers(arena, "'x' * 100_000_000", limits=Limits(memory_bytes=300 << 20, result_bytes=1_000))
    assert result.status == "crashed"
    assert "it gave 100000000 bytes where" in result.message
    assert peak_mb() < 550, "the text and its bytes in the instance, one copy, and the worker itself"
    assert arena.add() == 42


def test_a_huge_question_is_refused_before_it_becomes_text(arena: Arena) -> None:
    code = INSIDE + (
        "def f(size):\n    ask = World.call.__globals__['wit_world'].ask\n"
        "    return len(ask(*['x' * size] * ask.__code__.co_argcount))\n"
    )
    broker = Fussy()
    job = Job(
        code=code, function="f", arguments={"size": 50_000_000}, limits=Limits(memory_bytes=400 << 20),
        grants=Grants(model=True),
    )  # fmt: skip
    result = arena.run(job, broker)
    assert result.status == "crashed"
    assert broker.asked == 0
    assert arena.add() == 42


def test_a_rehearsal_draws_no_more_random_bytes_at_once_than_it_may() -> None:
    callbacks = OsCallbacks(random_seed=1)
    assert len(callbacks.draw_bytes(1 << 20)) == 1 << 20
    with pytest.raises(WasmtimeError, match="random bytes"):
        callbacks.draw_bytes((1 << 20) + 1)
