"""What back ends promise that only the host can see, and what a job decides: clocks, seeds, objects.

Each back end's test module subclasses it and gives the fixtures. `SandboxContract` holds for every back end,
`ConfinedContract` adds what only a process in a sandbox can try.
"""

from __future__ import annotations

import os

import anyio
import pytest

from alita_mcp.errors import SandboxRefused
from alita_mcp.sandbox.interface import Job, Sandbox
from alita_mcp.values import Limits
from tests.sandbox.leftovers import Leftovers, nothing_left

WAIT_SECONDS = 120


ADDS = Job(code="def f(a, b):\n    return a + b\n", function="f", arguments={"a": 2, "b": 40})


class SandboxContract:
    """Subclasses give the fixtures `sandbox` and `left`."""

    async def test_it_says_what_code_can_do_in_it(self, sandbox: Sandbox) -> None:
        with anyio.fail_after(WAIT_SECONDS):
            told = await sandbox.abilities()
        assert sandbox.kind in told.offers[0]
        if not told.lacks:
            version = await sandbox.run(
                Job(code="import sys\ndef f():\n    return sys.version\n", function="f", arguments={})
            )
            assert f"CPython {'.'.join(version.value.split('.')[:2])}, its whole" in told.offers[0]
        else:
            assert all(each.instead and each.instead in " ".join(told.in_words()) for each in told.lacks)
            assert "Docker" in told.elsewhere

    async def test_closing_twice_is_fine(self, sandbox: Sandbox) -> None:
        await sandbox.aclose()
        await sandbox.aclose()


class ConfinedContract(SandboxContract):
    """For back ends whose tools are processes: programs that attack the sandbox, each in its own."""

    async def test_calls_that_are_given_up_at_any_moment_leave_nothing(
        self, sandbox: Sandbox, left: Leftovers
    ) -> None:
        loop = Job(code="def f():\n    while True:\n        pass\n", function="f", arguments={})
        with anyio.fail_after(WAIT_SECONDS):
            for delay in (0, 0.02, 0.2, 0.5):
                with anyio.move_on_after(delay):
                    await sandbox.run(loop)
            await nothing_left(left, os.getpid())
            assert (await sandbox.run(ADDS)).value == 42

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

    async def test_the_hash_seed_decides_the_order_of_sets(self, sandbox: Sandbox) -> None:
        code = "def f():\n    return [hash(word) for word in ('a', 'b', 'c')]\n"
        first, again, *others = [
            (await sandbox.run(Job(code=code, function="f", arguments={}, hash_seed=number))).value
            for number in (0, 0, 1, 4_294_967_295)
        ]
        assert first == again
        assert len({str(hashes) for hashes in (first, *others)}) == 3

    async def test_a_hash_seed_that_no_job_names_tells_nobody_a_rehearsal_from_a_call(
        self, sandbox: Sandbox
    ) -> None:
        code = "import os\ndef f():\n    return [os.environ['PYTHONHASHSEED'], hash('a')]\n"
        job = Job(code=code, function="f", arguments={})
        moved = job.model_copy(update={"clock_offset_s": 400 * 86_400})
        other = job.model_copy(update={"code": code + "# other code\n"})
        call, again, second, foreign = [
            (await sandbox.run(each)).value for each in (job, job.model_copy(), moved, other)
        ]
        assert call == again, "a worker can be kept, and a result means something in this process"
        assert len({seed for seed, _ in (call, second, foreign)}) == 3
        assert not {seed for seed, _ in (call, second, foreign)} & {"0", "20011"}

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

    async def test_the_clock_of_a_rehearsal_begins_each_call_at_its_moment(self, sandbox: Sandbox) -> None:
        code = (
            "import datetime, time\ndef f(wait):\n    began = time.time()\n"
            "    while wait and time.time() == began:\n        pass\n"
            "    return [began, time.time() - began, time.time_ns(), datetime.datetime.now().year]\n"
        )
        moment = 1_893_456_000  # 2030-01-01
        job = Job(code=code, function="f", arguments={"wait": False}, moment=moment)
        for _ in range(2):
            result = await sandbox.run(job)
            assert result.value == [moment, 0, moment * 1_000_000_000, 2030], result
        waited = await sandbox.run(job.model_copy(update={"arguments": {"wait": True}}))
        assert waited.value[:2] == [moment, 1], "a loop that waits for a later time ends"

    async def test_random_numbers_come_again_with_their_seed_only(self, sandbox: Sandbox) -> None:
        code = "import os\ndef f():\n    return os.urandom(16).hex()\n"
        job = Job(code=code, function="f", arguments={})
        seeded = job.model_copy(update={"random_seed": 7})
        first, again, other = [
            (await sandbox.run(each)).value
            for each in (seeded, seeded, job.model_copy(update={"random_seed": 8}))
        ]
        assert first == again != other
        assert len({(await sandbox.run(job)).value for _ in range(3)} - {first, other}) == 3

    async def test_dataclasses_go_in_and_come_out_as_objects(self, sandbox: Sandbox) -> None:
        arguments = {"point": {"x": 1, "y": 2}, "more": {"points": [{"x": 3, "y": 4}]}, "none": None}
        result = await sandbox.run(Job(code=DATACLASSES, function="f", arguments=arguments))
        assert result.value == {"sum": {"x": 4, "y": 6}, "kinds": ["Point", "Point"]}

    async def test_the_module_is_called_tool(self, sandbox: Sandbox) -> None:
        code = (
            "import sys\nNAME = __name__\ndef f():\n    return [NAME, sys.modules['tool'].NAME, __file__]\n"
        )
        result = await sandbox.run(Job(code=code, function="f", arguments={}))
        assert result.value == ["tool", "tool", "tool.py"]


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
from typing import NotRequired, TypedDict

@dataclass
class Point:
    x: int
    y: int

class More(TypedDict):
    points: NotRequired[list[Point]]

@dataclass
class Answer:
    sum: Point
    kinds: list[str]

def f(point: Point, more: More, none: Point | None) -> Answer:
    (second,) = more["points"]
    total = Point(point.x + second.x, point.y + second.y)
    return Answer(total, [type(point).__name__, type(second).__name__])
"""
