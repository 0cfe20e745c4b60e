"""The contract of the sandbox seam as one suite: each back end's test module subclasses it and gives the fixtures.

`SandboxContract` holds for every back end, `ConfinedContract` adds what only a process in a sandbox can try.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.seam import Job, RunResult, Sandbox
from alita_mcp.values import Limits
from tests.sandbox.hostile import Hostile
from tests.sandbox.hostile_endings import ENDINGS
from tests.sandbox.hostile_isolation import ISOLATION
from tests.sandbox.hostile_resources import RESOURCES
from tests.sandbox.hostile_tampering import TAMPERING
from tests.sandbox.leftovers import Leftovers, busy_host, nothing_left

WAIT_SECONDS = 120
HOSTILE = (*RESOURCES, *ENDINGS, *TAMPERING, *ISOLATION)


ADDS = Job(code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40})


class Call(NamedTuple):
    """One program, how it is called and what must come of it; the function is always `f`."""

    name: str
    code: str
    expected: Callable[[RunResult], bool]
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    limits: Limits = Limits()


def ok(value: Any) -> Callable[[RunResult], bool]:
    return lambda result: (
        result.status == "ok" and result.value == value and type(result.value) is type(value)
    )


def ends(*statuses: str) -> Callable[[RunResult], bool]:
    return lambda result: result.status in statuses


def fails(kind: str, message: str = "") -> Callable[[RunResult], bool]:
    return lambda result: (
        result.status == "error"
        and result.error_type == kind
        and message in result.message
        and bool(result.trace)
    )


def hits(status: str, limit: str) -> Callable[[RunResult], bool]:
    return lambda result: result.status == status and limit in result.message


CALLS = (
    Call("adds", "def f(a, b):\n    return a + b\n", ok(5), {"a": 2, "b": 3}),
    Call("returns_text", "def f(text):\n    return text.upper()\n", ok("GRÜßE ✓".upper()), {"text": "Grüße ✓"}),
    Call("returns_nested", "def f():\n    return {'a': [1, 2.5, None, True, {'b': 'c'}]}\n",
         ok({"a": [1, 2.5, None, True, {"b": "c"}]})),
    Call("returns_nothing", "def f():\n    pass\n", ok(None)),
    Call("returns_a_tuple_as_a_list", "def f():\n    return (1, 2)\n", ok([1, 2])),
    Call("returns_a_big_integer", "def f():\n    return 10 ** 4000\n", ok(10**4000)),
    Call("awaits", "async def f(a):\n    return a + 1\n", ok(2), {"a": 1}),
    Call("uses_a_constant", "LIMIT = 3\ndef f():\n    return LIMIT\n", ok(3)),
    Call("raises", "def f():\n    raise ValueError('no such day')\n", fails("ValueError", "no such day")),
    Call("wrong_arguments", "def f(a):\n    return a\n", lambda r: r.status == "error" and r.error_type == "TypeError",
         {"b": 1}),
    Call("recurses_forever", "def f(n=0):\n    return f(n + 1)\n",
         lambda r: (r.status, r.error_type) == ("error", "RecursionError") and len(r.trace) <= 10),
    Call("does_not_parse", "def f(:\n", lambda r: r.status == "load_failed" and r.error_type == "SyntaxError"),
    Call("raises_at_import", "raise KeyError('early')\n",
         lambda r: r.status == "load_failed" and r.error_type == "KeyError"),
    Call("lacks_the_function", "def g():\n    return 1\n", hits("load_failed", "'f'")),
    Call("returns_nan", "def f():\n    return [float('nan')]\n", ends("bad_result")),
    Call("returns_infinity", "def f():\n    return {'x': float('inf')}\n", ends("bad_result")),
    Call("returns_a_set", "def f():\n    return {1, 2}\n", ends("bad_result")),
    Call("returns_odd_keys", "def f():\n    return {1: 2}\n", ends("bad_result")),
    Call("returns_too_deep", "def f():\n    x = []\n    for _ in range(100):\n        x = [x]\n    return x\n",
         ends("bad_result")),
    Call("returns_too_much", "def f():\n    return 'x' * 5000\n", hits("bad_result", "4096"), {},
         Limits(result_bytes=4096)),
    Call("returns_too_many_digits", "def f():\n    return 10 ** 4400\n", ends("bad_result")),
    Call("loops_forever", "def f():\n    while True:\n        pass\n", hits("timeout", "1 s"), {},
         Limits(wall_seconds=1)),
    Call("loops_at_import", "while True:\n    pass\n", hits("timeout", "1 s"), {}, Limits(wall_seconds=1)),
    Call("takes_all_memory", "def f():\n    x = 'x'\n    while True:\n        x = x + x\n",
         hits("memory", str(64 << 20)), {}, Limits(memory_bytes=64 << 20)),
    Call("prints", "def f():\n    print('hello')\n    return 1\n",
         lambda r: r.status == "ok" and r.stdout == "hello\n"),
    Call("prints_much", "def f():\n    for _ in range(300):\n        print('x' * 99)\n    return 1\n",
         lambda r: r.status == "ok" and len(r.stdout) == 4096, {}, Limits(output_bytes=4096)),
    Call("floods", "def f():\n    while True:\n        print('x' * 1000)\n", hits("output_flood", "65536"), {},
         Limits(output_bytes=4096)),
)  # fmt: skip
"""What every back end must do."""


class SandboxContract:
    """Subclasses give the fixtures `sandbox` and `left`."""

    @pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
    async def test_a_call_ends_in_the_result_that_the_seam_promises(
        self, sandbox: Sandbox, call: Call
    ) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            job = Job(code=call.code, function="f", arguments=call.arguments, limits=call.limits)
            result = await sandbox.run(job)
        assert call.expected(result), result

    async def test_a_trace_names_the_tools_own_lines_only(self, sandbox: Sandbox) -> None:
        code = "def g(x):\n    return 1 / x\n\ndef f():\n    return g(0)\n"
        result = await sandbox.run(Job(code=code, function="f", arguments={}))
        assert result.error_type == "ZeroDivisionError"
        assert [line.partition(" ")[0].rstrip(":,") for line in result.trace][-1].startswith("tool.py:2")
        assert all(line.startswith("tool.py:") for line in result.trace)
        assert str(Path.cwd()) not in "".join(result.trace)
        assert sys.prefix not in "".join(result.trace)

    async def test_calls_at_once_do_not_mix(self, sandbox: Sandbox) -> None:
        results: dict[int, Any] = {}

        async def square(number: int) -> None:
            code = "def f(n):\n    return n * n\n"
            results[number] = (await sandbox.run(Job(code=code, function="f", arguments={"n": number}))).value

        with anyio.fail_after(WAIT_SECONDS):
            async with anyio.create_task_group() as tasks:
                for number in range(12):
                    tasks.start_soon(square, number)
        assert results == {number: number * number for number in range(12)}

    async def test_a_cancelled_call_is_killed_and_leaves_nothing(
        self, sandbox: Sandbox, left: Leftovers
    ) -> None:
        code = "def f():\n    while True:\n        pass\n"
        with anyio.fail_after(WAIT_SECONDS):
            with anyio.move_on_after(1.5):
                await sandbox.run(Job(code=code, function="f", arguments={}, limits=Limits(wall_seconds=600)))
                pytest.fail("the call ended by itself")
            assert left(os.getpid()) == []

    async def test_probes_pass_where_it_isolates(self, sandbox: Sandbox) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            report = await sandbox.probe()
        assert report.isolates, report
        assert report.kind == sandbox.kind

    async def test_closing_twice_is_fine(self, sandbox: Sandbox) -> None:
        await sandbox.aclose()
        await sandbox.aclose()


class ConfinedContract(SandboxContract):
    """For back ends whose tools are processes: programs that attack the sandbox, each in its own."""

    @pytest.mark.parametrize("program", HOSTILE, ids=lambda program: program.name)
    async def test_a_hostile_program_ends_in_a_result_and_leaves_nothing(
        self, sandbox: Sandbox, left: Leftovers, program: Hostile
    ) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            result = await sandbox.run(
                Job(code=program.code, function="f", arguments=program.arguments, limits=program.limits)
            )
            assert program.expected(result), result
            assert (await sandbox.run(ADDS)).value == 42
            await sandbox.aclose()
            await nothing_left(left, os.getpid())

    @pytest.mark.parametrize("delay", [0, 0.02, 0.1, 0.3])
    async def test_cancelling_while_it_starts_leaves_nothing(
        self, sandbox: Sandbox, left: Leftovers, delay: float
    ) -> None:
        await sandbox.run(ADDS.model_copy(update={"fresh": True}))
        with anyio.fail_after(WAIT_SECONDS):
            with anyio.move_on_after(delay):
                job = Job(code="def f():\n    while True:\n        pass\n", function="f", arguments={})
                await sandbox.run(job)
            assert left(os.getpid()) == []

    async def test_a_host_process_that_is_killed_leaves_nothing_running(
        self, sandbox: Sandbox, left: Leftovers, tmp_path: Path
    ) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            async with await busy_host(sandbox.kind, tmp_path / "other") as host:
                assert left(host.pid) != []
                host.kill()
            await nothing_left(left, host.pid)

    async def test_a_memory_limit_too_small_for_python_is_refused(self, sandbox: Sandbox) -> None:
        job = Job(
            code="def f(): return 1\n", function="f", arguments={}, limits=Limits(memory_bytes=16 << 20)
        )
        try:
            result = await sandbox.run(job)
            outcome = result.status if result.status in {"ok", "memory"} else str(result)
        except SandboxRefused as refused:
            outcome = refused.message
        assert outcome in {"ok", "memory"} or str(16 << 20) in outcome

    @pytest.mark.parametrize(("seed", "other"), [(0, 1), (1, 4_294_967_295)])
    async def test_the_hash_seed_decides_the_order_of_sets(
        self, sandbox: Sandbox, seed: int, other: int
    ) -> None:
        code = "def f():\n    return [hash(word) for word in ('a', 'b', 'c')]\n"
        first, again, different = [
            (await sandbox.run(Job(code=code, function="f", arguments={}, hash_seed=number))).value
            for number in (seed, seed, other)
        ]
        assert first == again != different

    async def test_the_clock_can_be_moved_without_the_code_noticing(self, sandbox: Sandbox) -> None:
        job = Job(code=CLOCKS, function="f", arguments={})
        now = await sandbox.run(job)
        moved = await sandbox.run(job.model_copy(update={"clock_offset_s": 400 * 86_400}))
        assert now.ok, now
        assert moved.ok, moved
        days = {name: (moved.value["at"][name] - now.value["at"][name]) / 86_400 for name in now.value["at"]}
        assert days == {name: pytest.approx(400, abs=2) for name in days}
        assert moved.value["facts"] == now.value["facts"]

    async def test_a_clock_that_is_not_moved_is_the_real_module(self, sandbox: Sandbox) -> None:
        code = "import datetime, time\ndef f():\n    return [str(type(datetime.datetime)), str(time.time)]\n"
        result = await sandbox.run(Job(code=code, function="f", arguments={}))
        assert result.value == ["<class 'type'>", "<built-in function time>"]

    @pytest.mark.parametrize(
        ("use", "grant"),
        [
            ("alita_tool.complete('x')", "model"),
            ("alita_tool.call_tool('x', a=1)", "tools"),
            ("alita_tool.secret('x')", "secrets"),
            ("alita_tool.workspace / 'x'", "workspace"),
        ],
    )
    async def test_a_tool_without_grants_is_told_which_one_it_lacks(
        self, sandbox: Sandbox, use: str, grant: str
    ) -> None:
        result = await sandbox.run(
            Job(code=f"import alita_tool\ndef f():\n    return {use}\n", function="f", arguments={})
        )
        assert (result.status, result.error_type) == ("error", "PermissionError")
        assert repr(grant) in result.message

    async def test_dataclasses_go_in_and_come_out_as_objects(self, sandbox: Sandbox) -> None:
        arguments = {"point": {"x": 1, "y": 2}, "more": [{"x": 3, "y": 4}], "none": None}
        result = await sandbox.run(Job(code=DATACLASSES, function="f", arguments=arguments))
        assert result.value == {"sum": {"x": 4, "y": 6}, "kinds": ["Point", "Point"]}

    async def test_the_module_is_called_tool(self, sandbox: Sandbox) -> None:
        code = (
            "import sys\nNAME = __name__\ndef f():\n    return [NAME, sys.modules['tool'].NAME, __file__]\n"
        )
        result = await sandbox.run(Job(code=code, function="f", arguments={}))
        assert result.value == ["tool", "tool", "tool.py"]

    async def test_arguments_that_are_not_json_never_reach_the_sandbox(self, sandbox: Sandbox) -> None:
        with pytest.raises(SandboxRefused, match="not JSON"):
            await sandbox.run(Job(code="def f(x): return x", function="f", arguments={"x": float("nan")}))
        with pytest.raises(SandboxRefused, match="bytes of input"):
            await sandbox.run(Job(code="def f(x): return x", function="f", arguments={"x": "y" * (65 << 20)}))


CLOCKS = """
import copy, datetime, pickle, time

def f():
    D, T = datetime.date, datetime.datetime
    birthday = T(2020, 2, 29, 12)
    at = {
        "time": time.time(), "ns": time.time_ns() / 1e9, "clock": time.clock_gettime(time.CLOCK_REALTIME),
        "clock_ns": time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9,
        "local": time.mktime(time.localtime()), "gm": time.mktime(time.gmtime()),
        "ctime": time.mktime(time.strptime(time.ctime())), "asctime": time.mktime(time.strptime(time.asctime())),
        "strftime": time.mktime(time.strptime(time.strftime("%Y-%m-%d"), "%Y-%m-%d")),
        "now": T.now().timestamp(), "utc": T.now(datetime.timezone.utc).timestamp(),
        "utcnow": T.utcnow().timestamp(), "today": T.today().timestamp(),
        "date": time.mktime(D.today().timetuple()),
    }
    facts = [
        repr(birthday), str([D(2020, 1, 1)]), T.__name__, T.__module__, str(type(birthday)),
        isinstance(birthday, T), isinstance(birthday, D), isinstance(D(2020, 1, 1), T),
        isinstance(T.min, T), issubclass(T, D), isinstance(3, T),
        repr(birthday + datetime.timedelta(days=366)), repr(birthday - T(2019, 1, 1)),
        repr(birthday.date()), repr(T.strptime("2021-03-04", "%Y-%m-%d")), repr(T.fromisoformat("2021-03-04")),
        repr(T.combine(D(2020, 1, 1), datetime.time(3))), birthday == copy.deepcopy(birthday),
        pickle.loads(pickle.dumps(birthday)) == birthday, birthday.isoformat(),
        hash(birthday) == hash(copy.copy(birthday)),
        time.strftime("%Y", time.gmtime(0)), time.ctime(0), sorted([T(2021, 1, 1), birthday])[0] == birthday,
    ]
    class Own(T):
        pass
    facts += [isinstance(birthday, Own), repr(Own(2020, 1, 1))[:4], isinstance(Own.now(), Own), issubclass(Own, D)]
    return {"at": at, "facts": facts}
"""

DATACLASSES = """
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Point:
    x: int
    y: int

@dataclass
class Answer:
    sum: Point
    kinds: list[str]

def f(point: Point, more: list[Point], none: Point | None) -> Answer:
    total = Point(point.x + more[0].x, point.y + more[0].y)
    return Answer(total, [type(point).__name__, type(more[0]).__name__])
"""
