"""The host's side of one call in the embedded interpreter, without the interpreter: output, clock, endings."""

from __future__ import annotations

import datetime
import math
import time

import pytest

from alita_mcp.sandbox.monty_call import Ending, Flood, Output, World
from alita_mcp.sandbox.seam import Job
from alita_mcp.values import Limits

JOB = Job(code="", function="tool", arguments={}, limits=Limits(result_bytes=20, output_bytes=4))
NOT_HANDLED = object()


@pytest.fixture
def ending() -> Ending:
    return Ending(JOB, Output(JOB.limits.output_bytes))


def test_output_is_kept_per_stream_and_counted_in_all() -> None:
    output, floods = Output(4), []
    output.on_flood = lambda: floods.append(1)
    output("stdout", "abcdef")
    output("stderr", "é" * 29)

    assert (output.text("stdout"), output.text("stderr"), output.flooded) == ("abcd", "éé", False)
    with pytest.raises(Flood):
        output("stdout", "x")
    assert (floods, output.flooded) == ([1], True)


def test_the_world_is_a_clock_and_an_empty_environment() -> None:
    world = World(JOB.model_copy(update={"clock_offset_s": 1_000}), NOT_HANDLED)
    now = time.time() + 1_000
    local = world(name="datetime.now", args=(None,), kwargs={}, is_async=True)
    aware = world(name="datetime.now", args=(datetime.timezone(datetime.timedelta(hours=5)),), kwargs={})

    assert math.isclose(world(name="time.time", args=("time.monotonic",)), now, abs_tol=60)
    assert math.isclose(local.replace(tzinfo=datetime.UTC).timestamp(), now, abs_tol=60)
    assert math.isclose(aware.timestamp(), now, abs_tol=60)
    assert aware.utcoffset() == datetime.timedelta(hours=5)
    assert isinstance(world(name="date.today", args=()), datetime.date)
    assert world(name="os.getenv", args=("HOME", None)) is None
    assert world(name="os.getenv", args=("HOME", "x")) == "x"
    assert world(name="os.environ", args=()) == {}
    assert len(world(name="os.urandom", args=(5,))) == 5


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("open", ("/etc/passwd", "r")),
        ("os.urandom", (1 << 40,)),
        ("os.urandom", (-1,)),
        ("os.listdir", ("/",)),
    ],
)
def test_everything_else_is_not_handled(name: str, args: tuple[object, ...]) -> None:
    assert World(JOB, NOT_HANDLED)(name=name, args=args) is NOT_HANDLED


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        ["value"],
        ["value", 1],
        ["value", "1", "2"],
        ["value", "{'a': 1}"],
        ["value", "NaN"],
        ["value", "[" * 100 + "]" * 100],
        ["value", '"' + "x" * 30 + '"'],
        ["other", "1"],
        {"value": "1"},
    ],
)
def test_a_forged_answer_is_a_bad_result(ending: Ending, answer: object) -> None:
    result = ending.of_value(answer)

    assert (result.status, result.value) == ("bad_result", None)
    assert result.message


def test_a_flood_is_told_whatever_error_it_ends_in(ending: Ending) -> None:
    with pytest.raises(Flood):
        ending._output("stdout", "x" * 100)

    assert ending.of_error(ValueError("x"), [], loading=False).status == "output_flood"


def test_a_dead_process_is_a_crash(ending: Ending) -> None:
    assert ending.crashed("signal 9").message == "the interpreter's process died: signal 9"
