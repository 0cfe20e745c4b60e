"""The embedded sandbox: what comes back from code of every kind, and what its limits do."""

from __future__ import annotations

import datetime
import math
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.monty import MontySandbox
from alita_mcp.sandbox.seam import Environment, Job, RunResult
from alita_mcp.settings import Settings
from alita_mcp.values import Limits, Lock
from tests.sandbox.contract import SandboxContract
from tests.sandbox.interpreters import interpreters
from tests.sandbox.leftovers import Leftovers


@pytest.fixture
async def monty(settings: Settings) -> AsyncIterator[MontySandbox]:
    sandbox = MontySandbox(settings)
    with anyio.fail_after(180):
        yield sandbox
    await sandbox.aclose()


class TestMonty(SandboxContract):
    @pytest.fixture
    def sandbox(self, monty: MontySandbox) -> MontySandbox:
        return monty

    @pytest.fixture
    def left(self) -> Leftovers:
        return lambda pid: [str(worker) for worker in interpreters(pid)]


async def run(sandbox: MontySandbox, code: str, limits: Limits | None = None, **arguments: Any) -> RunResult:
    job = Job(code=code, function="tool", arguments=arguments, limits=limits or Limits(wall_seconds=20))
    return await sandbox.run(job)


async def returned(sandbox: MontySandbox, expression: str, **arguments: Any) -> RunResult:
    return await run(sandbox, f"def tool({', '.join(arguments)}):\n    return {expression}\n", **arguments)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[1, 2.5, True, None, 'é\\u2028']", [1, 2.5, True, None, "é\u2028"]),
        ("(1, (2, 3))", [1, [2, 3]]),
        ("{'a': {'b': [()]}}", {"a": {"b": [[]]}}),
        ("2 ** 200", 2**200),
        ("1e22", 1e22),
        ("-0.0", -0.0),
        ("''", ""),
    ],
)
async def test_json_comes_back_as_it_is(monty: MontySandbox, expression: str, value: Any) -> None:
    result = await returned(monty, expression)

    assert (result.status, result.value) == ("ok", value)
    assert type(result.value) is type(value)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8")), parts),
    max_leaves=20,
)


def test_every_json_value_survives_the_way_in_and_out() -> None:
    sandbox = MontySandbox(Settings())

    @hypothesis_settings(max_examples=60, deadline=None)
    @given(value=json_values)
    def check(value: Any) -> None:
        result = portal.call(lambda: returned(sandbox, "value", value=value))
        assert result.status == "ok"
        assert result.value == value

    with start_blocking_portal() as portal:
        check()
        portal.call(sandbox.aclose)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("{1, 2}", "type 'set'"),
        ("b'x'", "type 'bytes'"),
        ("1j", "type 'complex'"),
        ("[lambda: 1]", "type 'function'"),
        ("int", "type 'type'"),
        ("range(3)", "type 'range'"),
        ("{'a': ...}", "type 'ellipsis'"),
        ("{1: 2}", "key is a int"),
        ("{None: 2}", "key is a NoneType"),
        ("float('nan')", "NaN"),
        ("[1e999]", "Infinity"),
        ("10 ** 5000", "4300 digits"),
        ("list(range(500_001))", "500000 parts"),
        ("['x' * 100] * 20_000", "result_bytes"),
    ],
)
async def test_what_is_no_strict_json_is_a_bad_result(
    monty: MontySandbox, expression: str, reason: str
) -> None:
    result = await returned(monty, expression)

    assert (result.status, result.value) == ("bad_result", None)
    assert reason in result.message


async def test_a_result_may_be_64_levels_deep_and_no_deeper(monty: MontySandbox) -> None:
    nested = "def tool(levels):\n    value = 1\n    for _ in range(levels):\n        value = [value]\n    return value"

    assert (await run(monty, nested, levels=64)).status == "ok"
    assert "deeper than the limit of 64" in (await run(monty, nested, levels=65)).message


async def test_a_cycle_is_a_bad_result(monty: MontySandbox) -> None:
    result = await run(monty, "def tool():\n    a = []\n    a.append(a)\n    return a")

    assert (result.status, result.message) == ("bad_result", "the result is nested deeper than 64")


async def test_a_result_of_exactly_the_limit_is_kept(monty: MontySandbox) -> None:
    code = "def tool(count):\n    return 'é' * count"
    limits = Limits(result_bytes=12)

    assert (await run(monty, code, limits, count=5)).ok  # two quotes and five times two bytes
    assert (await run(monty, code, limits, count=6)).status == "bad_result"


async def test_a_tool_that_replaces_the_harness_gains_nothing(monty: MontySandbox) -> None:
    forged = (
        "import json\n"
        "def len(x): return 0\n"
        "def type(x): return str\n"
        "def tool():\n"
        "    global _alita_encoded\n"
        "    _alita_encoded = lambda value: ['value', 'NaN']\n"
        "    return {1}\n"
    )

    assert (await run(monty, forged)).status in {"bad_result", "error"}


async def test_arguments_are_data_and_never_source(monty: MontySandbox) -> None:
    hostile = '\'); import os; (\'"""\n{x!r} %s \\'

    assert (await returned(monty, "text", text=hostile)).value == hostile


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"x": float("nan")}, "NaN"),
        ({"x": "\ud800"}, "surrogate"),
        ({"x": {1: 2}}, "key is a int"),
        ({"x": {1}}, "type 'set'"),
    ],
)
async def test_arguments_that_are_no_json_are_refused(
    monty: MontySandbox, arguments: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SandboxRefused, match=reason):
        await returned(monty, "x", **arguments)


async def test_arguments_too_deep_for_any_interpreter_are_refused(monty: MontySandbox) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(SandboxRefused, match="they are nested deeper than the limit of 64"):
        await returned(monty, "1", x=deep)


@pytest.mark.parametrize(
    ("body", "error_type", "message"),
    [
        ("raise ValueError('no')", "ValueError", "no"),
        ("return {}['a']", "KeyError", "'a'"),
        ("return 1 / 0", "ZeroDivisionError", "division by zero"),
        ("assert 1 == 2, 'unequal'", "AssertionError", "unequal"),
        ("raise NotImplementedError('later')", "NotImplementedError", "later"),
        (
            "raise NotImplementedError('The monty syntax parser does not yet support it')",
            "NotImplementedError",
            "it",
        ),
        ("raise ModuleNotFoundError(\"No module named 'statistics'\")", "ModuleNotFoundError", "statistics"),
        ("raise TimeoutError('remote is slow')", "TimeoutError", "remote is slow"),
        ("return None.missing", "AttributeError", "missing"),
        ("return undefined_name", "NameError", "undefined_name"),
        ("raise SystemExit", "SystemExit", ""),
        ("return [].nothing_like_it", "AttributeError", "nothing_like_it"),
        ("import json\n    return json.loads('{')", "JSONDecodeError", "char 1"),
        ("return tool(1)", "TypeError", "positional"),
        ("return tool()", "RecursionError", "recursion"),
    ],
)
async def test_what_the_tool_raises_is_an_error_with_its_name_and_line(
    monty: MontySandbox, body: str, error_type: str, message: str
) -> None:
    result = await run(monty, f"def tool():\n    {body}\n")

    assert (result.status, result.error_type) == ("error", error_type)
    assert message in result.message
    assert 1 <= len(result.trace) <= 10
    assert result.trace[0].startswith("tool.py:")
    assert not any("_alita" in line for line in result.trace)


async def test_a_wrong_argument_is_the_tools_error(monty: MontySandbox) -> None:
    result = await run(monty, "def tool(a):\n    return a\n", b=1)

    assert (result.status, result.error_type) == ("error", "TypeError")


async def test_a_long_message_is_cut(monty: MontySandbox) -> None:
    result = await run(monty, "def tool():\n    raise ValueError('x' * 100_000)\n")

    assert len(result.message) == 2_000
    assert len(result.trace[0]) < 400


@pytest.mark.parametrize(
    ("code", "error_type"),
    [
        ("def tool(:\n    pass", "SyntaxError"),
        ("def tool():\n    return 1\n  x = 2", "IndentationError"),
        ("break", "SyntaxError"),
        ("def tool(a, a):\n    pass", "SyntaxError"),
        ("x = 1\x00", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError"),
        ("raise NotImplementedError('does not yet support')", "NotImplementedError"),
        ("import no_such_package", "ModuleNotFoundError"),
        ("from math import nothing_like_it", "ImportError"),
        ("other = 1", "AttributeError"),
    ],
)
async def test_code_that_does_not_load_says_why(monty: MontySandbox, code: str, error_type: str) -> None:
    result = await run(monty, code)

    assert (result.status, result.error_type) == ("load_failed", error_type)
    assert result.message


async def test_an_invalid_escape_is_only_a_warning(monty: MontySandbox) -> None:
    assert (await run(monty, "def tool():\n    return '\\d'\n")).value == "\\d"


async def test_output_is_captured_apart_and_never_reaches_ours(
    monty: MontySandbox, capfd: pytest.CaptureFixture[str]
) -> None:
    code = (
        "import sys\nprint('loading')\n"
        "def tool():\n    print('out')\n    print('err', file=sys.stderr)\n    return 1"
    )
    result = await run(monty, code)

    assert (result.value, result.stdout, result.stderr) == (1, "loading\nout\n", "err\n")
    assert capfd.readouterr() == ("", "")


async def test_the_first_bytes_of_much_output_are_kept(monty: MontySandbox) -> None:
    limits = Limits(output_bytes=9)
    result = await run(monty, "def tool():\n    print('éé' * 15)\n    return 1", limits)

    assert (result.status, result.stdout) == ("ok", "éééé")  # half a character is dropped


async def test_a_flood_of_output_ends_the_call_long_before_its_time(monty: MontySandbox) -> None:
    limits = Limits(wall_seconds=600, cpu_seconds=600, output_bytes=1_000)
    code = (
        "def tool():\n    while True:\n        try:\n            print('x' * 500)\n        except BaseException:\n"
        "            pass"
    )
    result = await run(monty, code, limits)

    assert result.status == "output_flood"
    assert "16000 bytes" in result.message
    assert len(result.stdout) == 1_000


@pytest.mark.parametrize(
    "code",
    [
        "def tool():\n    while True:\n        pass",
        "def tool():\n    return sum(range(10 ** 15))",
        "import time\ndef tool():\n    time.sleep(500)",
        "import time\ndef tool():\n    while True:\n        time.sleep(0.05)",
        "import asyncio\nasync def tool():\n    await asyncio.sleep(500)",
        "def tool():\n    while True:\n        try:\n            1/0\n        except BaseException:\n            pass",
    ],
)
async def test_a_call_past_its_time_ends_and_names_the_limit(monty: MontySandbox, code: str) -> None:
    result = await run(monty, code, Limits(wall_seconds=0.4))

    assert (result.status, result.message) == ("timeout", "took more than 0.4 s (wall_seconds)")


async def test_work_and_sleep_count_together(monty: MontySandbox) -> None:
    code = (
        "import time\n"
        "def tool():\n"
        "    started = time.time()\n"
        "    while time.time() < started + 0.7:\n"
        "        pass\n"
        "    time.sleep(0.7)\n"
    )

    assert (await run(monty, code, Limits(wall_seconds=1))).status == "timeout"


async def test_the_cpu_limit_is_named_when_it_is_the_smaller_one(monty: MontySandbox) -> None:
    limits = Limits(wall_seconds=60, cpu_seconds=0.3)

    result = await run(monty, "def tool():\n    while True:\n        pass", limits)

    assert (result.status, result.message) == ("timeout", "took more than 0.3 s (cpu_seconds)")


async def test_a_loop_at_import_ends_too(monty: MontySandbox) -> None:
    result = await run(monty, "while True:\n    pass", Limits(wall_seconds=0.3))

    assert result.status == "timeout"
    assert "while the module was imported" in result.message


@pytest.mark.parametrize(
    "expression",
    ["'x' * (1 << 31)", "[0] * (1 << 28)", "9 ** (9 ** 9)", "list(map(str, range(10 ** 9)))"],
)
async def test_too_much_memory_ends_the_call_and_names_the_limit(
    monty: MontySandbox, expression: str
) -> None:
    code = f"def tool():\n    return len(str({expression}))"
    result = await run(monty, code, Limits(memory_bytes=32 << 20))

    assert result.status == "memory"
    assert f"{32 << 20} bytes" in result.message
    assert (await returned(monty, "1")).ok


async def test_nothing_lasts_from_one_call_to_the_next(monty: MontySandbox) -> None:
    code = "seen = []\ndef tool():\n    seen.append(1)\n    return len(seen)"

    assert [(await run(monty, code)).value for _ in range(3)] == [1, 1, 1]


async def test_host_files_and_variables_are_out_of_reach(monty: MontySandbox) -> None:
    code = "import os\ndef tool(path):\n    return [os.getenv('PATH'), os.getenv('X', 'd'), dict(os.environ)]"
    assert (await run(monty, code, path=__file__)).value == [None, "d", {}]

    read = await run(monty, "def tool(path):\n    return open(path).read()", path=__file__)
    assert (read.status, read.error_type) == ("error", "PermissionError")
    assert "Docker and bubblewrap have" in read.message


async def test_random_bytes_are_offered(monty: MontySandbox) -> None:
    assert (await run(monty, "import os\ndef tool():\n    return len(os.urandom(8))")).value == 8
    refused = await run(monty, "import os\ndef tool():\n    return len(os.urandom(2 << 20))")
    assert refused.error_type == "RuntimeError"


async def test_the_clock_can_be_moved_and_still_runs(monty: MontySandbox) -> None:
    code = (
        "import time\nfrom datetime import datetime, date, timezone\n"
        "def tool():\n"
        "    started = time.time()\n"
        "    while time.time() <= started:\n"
        "        pass\n"
        "    now = datetime.now(timezone.utc)\n"
        "    return [started, now.timestamp(), date.today().isoformat(), datetime.now().isoformat()]"
    )
    offset = 40 * 86_400
    job = Job(code=code, function="tool", arguments={}, clock_offset_s=offset)
    started, now, today, naive = (await monty.run(job)).value

    expected = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=offset)
    assert math.isclose(started, expected.timestamp(), abs_tol=600)
    assert math.isclose(now, expected.timestamp(), abs_tol=600)
    assert abs(datetime.date.fromisoformat(today) - expected.date()) <= datetime.timedelta(days=1)
    assert abs(datetime.datetime.fromisoformat(naive) - expected.replace(tzinfo=None)).total_seconds() < 600


async def test_a_coroutine_function_is_awaited(monty: MontySandbox) -> None:
    code = (
        "import asyncio\n"
        "async def _double(x):\n    await asyncio.sleep(0.001)\n    return 2 * x\n"
        "async def tool(x):\n    return await asyncio.gather(_double(x), _double(x + 1))"
    )

    assert (await run(monty, code, x=3)).value == [6, 8]


async def test_dataclasses_come_in_as_objects_and_go_out_as_dicts(monty: MontySandbox) -> None:
    code = (
        "from dataclasses import dataclass\n"
        "from typing import Optional\n"
        "@dataclass\nclass Point:\n    x: int\n    y: int = 0\n"
        "@dataclass\nclass Path:\n    points: list[Point]\n    by_name: dict[str, Point]\n"
        "    last: 'Point | None' = None\n"
        "def tool(path: Path, shift: Optional[Point] = None, more: list['Point'] = ()) -> Path:\n"
        "    moved = [Point(p.x + shift.x, p.y) for p in path.points + list(more)]\n"
        "    return Path(moved, {'a': path.by_name['a']}, path.last)\n"
    )
    path = {"points": [{"x": 1}], "by_name": {"a": {"x": 5, "y": 6}}, "last": {"x": 9}}
    result = await run(monty, code, path=path, shift={"x": 10}, more=[{"x": 2, "y": 3}])

    assert result.value == {
        "points": [{"x": 11, "y": 0}, {"x": 12, "y": 3}],
        "by_name": {"a": {"x": 5, "y": 6}},
        "last": {"x": 9, "y": 0},
    }


async def test_a_dataclass_with_an_unknown_field_is_the_tools_error(monty: MontySandbox) -> None:
    code = (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef tool(p: P):\n    return p.x"
    )

    assert (await run(monty, code, p={"z": 1})).error_type == "TypeError"


async def test_packages_are_refused_with_the_way_out(monty: MontySandbox) -> None:
    async def silent(_line: str) -> None:
        return None

    job = Job(
        code="", function="tool", arguments={}, environment=Environment(digest="d", location="somewhere")
    )
    for attempt in (
        lambda: monty.run(job),
        lambda: monty.resolve(("numpy",), silent),
        lambda: monty.prepare(Lock(), silent),
    ):
        with pytest.raises(
            SandboxRefused, match=r"packages need Docker or bubblewrap.*apt install bubblewrap"
        ):
            await attempt()


async def test_it_proves_its_isolation(monty: MontySandbox) -> None:
    report = await monty.probe()

    assert [(probe.name, probe.detail) for probe in report.probes if not probe.passed] == []
    assert report.isolates
    assert {"network refused", "files unreadable", "memory cap bites", "time cap bites"} <= {
        probe.name for probe in report.probes
    }


async def test_a_closed_sandbox_runs_nothing(settings: Settings) -> None:
    sandbox = MontySandbox(settings)
    await sandbox.aclose()
    await sandbox.aclose()

    with pytest.raises(SandboxError, match="closed"):
        await returned(sandbox, "1")
    report = await sandbox.probe()
    assert (report.isolates, len(report.probes)) == (False, 1)
    assert report.hint
