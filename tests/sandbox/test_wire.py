"""The wire: frames, strict JSON, attestation and calls against an inside that lies."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alita_mcp.errors import SandboxError, SandboxRefused
from alita_mcp.sandbox.interface import Environment, Job
from alita_mcp.sandbox.wire import bundle, frames
from alita_mcp.sandbox.wire.attestation import Demands
from alita_mcp.sandbox.wire.frames import MAX_PAYLOAD, Decoder, Frame, FrameError, Kind, encode
from alita_mcp.sandbox.wire.link import WorkerLost, WorkerStale
from alita_mcp.sandbox.wire.strict_json import NotJson, decode_strict, encode_strict
from alita_mcp.sandbox.workers import calls
from alita_mcp.sandbox.workers.calls import call
from alita_mcp.sandbox.workers.pooled import key_of
from alita_mcp.values import Grants, Limits
from tests.sandbox.in_memory import FACTS, Answer, Played, greeted, result
from tests.tables import each_case

JOB = Job(
    code="def f(): return 1\n", function="f", arguments={}, limits=Limits(result_bytes=1000, output_bytes=10)
)
TOKENS = st.binary(min_size=0, max_size=frames.TOKEN_BYTES)
FRAMES = st.builds(Frame, st.sampled_from(Kind), st.integers(0, 2**32 - 1), st.binary(max_size=300))
LOADED = (Kind.LOADED, 0, b'{"status": "ok", "seconds": 0.1}')
TEXT = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(token=TOKENS, sent=st.lists(FRAMES, max_size=8), cuts=st.lists(st.integers(1, 40), min_size=1))
def test_frames_arrive_as_they_were_sent_however_the_bytes_are_cut(
    token: bytes, sent: list[Frame], cuts: list[int]
) -> None:
    data = b"".join(encode(*frame, token) for frame in sent)
    decoder, arrived, position = Decoder(token), [], 0
    while position < len(data):
        step = cuts[len(arrived) % len(cuts)]
        arrived += decoder.feed(data[position : position + step])
        position += step
    assert arrived == sent


@given(token=st.binary(min_size=8, max_size=16), noise=st.binary(min_size=25, max_size=200))
def test_bytes_without_the_token_are_never_a_frame(token: bytes, noise: bytes) -> None:
    if noise.startswith(token):
        return
    with pytest.raises(FrameError, match="token"):
        list(Decoder(token).feed(noise))


@given(noise=st.binary(max_size=200))
def test_any_bytes_are_frames_or_an_error(noise: bytes) -> None:
    try:
        decoded = list(Decoder().feed(noise))
    except FrameError:
        return
    assert (
        b"".join(encode(*frame) for frame in decoded)
        == noise[: sum(9 + len(frame.payload) for frame in decoded)]
    )


def test_frames_have_bounds() -> None:
    with pytest.raises(FrameError, match="longer"):
        encode(Kind.DATA, 1, b"x" * (MAX_PAYLOAD + 1))
    with pytest.raises(FrameError, match="longer"):
        list(Decoder().feed(bytes([Kind.DATA]) + bytes(4) + b"\xff\xff\xff\xff"))
    assert b"".join(frames.pieces(b"ab" * 300_000)) == b"ab" * 300_000


@given(value=JSON)
def test_strict_json_keeps_every_json_value(value: Any) -> None:
    assert decode_strict(encode_strict(value, 1 << 20)) == value


@given(
    data=st.binary(max_size=60) | st.text('[]{}":,0123456789.eE-+ NaInfty\\u', max_size=60).map(str.encode)
)
def test_any_bytes_are_strict_json_or_an_error(data: bytes) -> None:
    try:
        value = decode_strict(data)
    except NotJson:
        return
    assert decode_strict(encode_strict(value, 1 << 20)) == value


@each_case(
    "data",
    [
        b"NaN", b"[Infinity]", b"1e999", b"[" * 70 + b"]" * 70, b"[" * 100_000, b"\xff", b'"\\ud800"', b"1" * 5000, b"",
    ],
)  # fmt: skip
def test_hostile_json_is_refused(data: bytes) -> None:
    with pytest.raises(NotJson):
        decode_strict(data)


def test_the_limits_of_strict_json_are_where_they_are_said_to_be() -> None:
    assert decode_strict(encode_strict(10**4300 - 1, 1 << 20)) == 10**4300 - 1
    nested: Any = []
    for _ in range(64):
        nested = [nested]
    assert decode_strict(encode_strict(nested, 1 << 20)) == nested
    with pytest.raises(NotJson, match="deeper"):
        encode_strict([nested], 1 << 20)
    with pytest.raises(NotJson, match=r"limit of 2 \(json_depth\)"):
        encode_strict([[[1]]], 1 << 20, 2)
    with pytest.raises(NotJson, match=r"limit of 2 \(json_depth\)"):
        decode_strict(b"[[[1]]]", 2)
    assert decode_strict(encode_strict([[1]], 1 << 20, 2), 2) == [[1]]
    with pytest.raises(NotJson, match="result_bytes"):
        encode_strict("x" * 99, 100)
    allowed = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(640)
        with pytest.raises(NotJson, match="640"):
            encode_strict(10**1000, 1 << 20)
    finally:
        sys.set_int_max_str_digits(allowed)


@each_case(
    "changes, weakness",
    [
        ({"pid": 2}, "pid 2"),
        ({"status": {"Uid": "0 0"}}, "root"),
        ({"status": {"Gid": "65532 0"}}, "root"),
        ({"status": {"CapEff": "0001"}}, "CapEff"),
        ({"status": {"CapBnd": "a80425fb"}}, "CapBnd"),
        ({"no_new_privileges": False}, "privileges"),
        ({"status": {"Seccomp": "0"}}, "seccomp"),
        ({"interfaces": ["eth0", "lo"]}, "eth0"),
        ({"root_read_only": False}, "writable"),
        ({"core_limit": -1}, "core"),
        ({"scratch_bytes": 0}, "scratch"),
        ({"scratch_bytes": 1 << 30}, "scratch"),
        ({"scratch_files": 0}, "files"),
        ({"memory_limit": "max"}, "memory limit is None"),
        ({"memory_limit": None}, "memory limit is None"),
        ({"memory_limit": str(1 << 40)}, "memory limit"),
        ({"process_limit": "65"}, "process limit"),
        ({"process_limit": "max"}, "process limit"),
    ],
)
async def test_a_sandbox_weaker_than_asked_is_refused(changes: dict[str, Any], weakness: str) -> None:
    demands = Demands(
        memory_bytes=256 << 20, processes=64, scratch_bytes=64 << 20, scratch_files=4096, engine_filter=True
    )
    await greeted(Played(), demands=demands)
    facts = FACTS | changes
    if "status" in changes:
        facts["status"] = FACTS["status"] | changes["status"]
    with pytest.raises(SandboxError, match=weakness):
        await greeted(Played(hello=facts), demands=demands)


def test_an_old_python_is_refused() -> None:
    old = "import sys\nsys.version_info, sys.version = (3, 9), '3.9.2 old'\n"
    program = old + bundle.boot_program().replace("from __future__ import annotations\n", "")
    ended = subprocess.run([sys.executable, "-c", program, "0"], capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (64, b"Python 3.11 or newer is needed, this is 3.9.2")


async def test_a_sandbox_that_ends_at_once_says_what_it_complained_about() -> None:
    with pytest.raises(WorkerLost, match="it said so"):
        await greeted(Played(hello=None))
    with pytest.raises(SandboxRefused, match="too small to start Python"):
        await greeted(Played(hello=None, out_of_memory=True))


async def test_a_wrong_token_ends_it() -> None:
    with pytest.raises(SandboxError, match="token"):
        await greeted(Played(token=b"0123456789abcdef"))


@each_case(
    "answers",
    [
        [(Kind.OPEN, 1, b"")],
        [(Kind.OUTPUT, 3, b"x")],
        [(Kind.OUTPUT, 1, b"x" * 11)],
        [(Kind.CHUNK, 0, b"x" * 500_000)],
        [(Kind.RESULT, 0, b"not json")],
        [(Kind.CLEAN, 0, b"{}")],
        [(Kind.ASK, 1, b"{}")],
        [(Kind.RESULT, 0, b"[" * 100_000)],
        [result(status="new")],
        [result(status="ok", seconds="long")],
        [result(status="error", error_kinds=["builtins.ValueError", None])],
        [result(status="error", error_kinds=[["builtins.ValueError"]])],
        [result(status="error", error_kinds=["E"] * 5_000)],
        [result(status="error", error_kinds=["E" * 5_000])],
        [b"\x00" * 40],
        [b""],
    ],
)
async def test_a_sandbox_that_breaks_the_protocol_is_an_error_of_the_sandbox(answers: list[Answer]) -> None:
    worker = await greeted(Played(LOADED, *answers), JOB.limits)
    with pytest.raises(SandboxError):
        await call(worker, JOB)


@each_case(
    "answers, status, message",
    [
        ([(Kind.CHUNK, 0, b"41"), result(status="ok")], "ok", ""),
        ([(Kind.CHUNK, 0, b"NaN"), result(status="ok")], "bad_result", "NaN"),
        ([(Kind.CHUNK, 0, b'"' + b"x" * 1500 + b'"'), result(status="ok")], "bad_result", "1000"),
        ([result(status="crashed", signal=9, message="killed")], "crashed", "killed"),
        ([result(status="error", message="\ud800", trace=["\udfff"])], "error", "\N{REPLACEMENT CHARACTER}"),
        ([(Kind.OUTPUT, 1, b"\xff\xfe"), result(status="ok")], "bad_result", "not JSON"),
    ],
)
async def test_a_result_is_checked_again_outside(answers: list[Answer], status: str, message: str) -> None:
    worker = await greeted(Played(LOADED, *answers), JOB.limits)
    answer = await call(worker, JOB)
    assert answer.status == status
    assert message in answer.message


@pytest.mark.parametrize(
    "answers",
    [[result(status="crashed", signal=9)], [result(status="load_failed", signal=9)], [b""]],
    ids=range(3),
)
async def test_the_back_end_can_tell_that_memory_ran_out(answers: list[Answer]) -> None:
    worker = await greeted(Played(LOADED, *answers, out_of_memory=True), JOB.limits)
    answer = await call(worker, JOB)
    assert answer.status == "memory"
    assert str(JOB.limits.memory_bytes) in answer.message


async def test_the_outer_clock_ends_a_call_that_the_inner_one_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "GRACE_SECONDS", 0.01)
    job = JOB.model_copy(update={"limits": Limits(wall_seconds=0.01)})
    worker = await greeted(Played(LOADED, b"hang"), job.limits)
    answer = await call(worker, job)
    assert answer.status == "timeout"
    assert "from outside" in answer.message


def test_what_goes_inside_needs_the_standard_library_and_itself_only() -> None:
    modules = json.loads(bundle.supervisor_bundle(b"", egress=True).partition(b"\n")[2])
    inside = modules["modules"] + modules["options"]["zygote"]["modules"]
    names = {name for name, _ in inside}
    assert len(names) >= 12
    imported = {
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for _, code in [*inside, ("boot", bundle.boot_program())]
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    ours = {name for name in imported if name and name.startswith("alita_mcp")}
    assert ours <= names | {name.rpartition(".")[0] for name in names}
    assert {str(name).partition(".")[0] for name in imported - ours} <= set(sys.stdlib_module_names)


CLEAN = (Kind.CLEAN, 0, b'{"clean": true}')


@each_case(
    "said",
    [
        CLEAN,  # and then something that nobody asked for
        (Kind.CLEAN, 0, b'{"clean": false}'),
        (Kind.CLEAN, 0, b"garbage"),
        (Kind.CHUNK, 0, b"1"),
        b"\x00" * 40,
        b"",
    ],
)
async def test_a_worker_that_was_not_cleaned_takes_no_call(said: Answer | bytes) -> None:
    played = Played(LOADED, (Kind.CHUNK, 0, b"1"), result(status="ok"), said)
    worker = await greeted(played, JOB.limits)
    assert (await call(worker, JOB)).ok
    played.talkative = said == CLEAN
    with pytest.raises(WorkerStale):
        await call(worker, JOB)


@each_case(
    "answers",
    [
        [(Kind.CHUNK, 0, b"1"), LOADED],
        [(Kind.ASK, 1, b"{}")],
        [result(status="ok")],
        [(Kind.LOADED, 0, b"[]")],
        [(Kind.LOADED, 0, b'{"status": "ok"}')],
    ],
)
async def test_a_sandbox_that_breaks_the_protocol_while_it_loads_is_an_error(answers: list[Answer]) -> None:
    worker = await greeted(Played(*answers), JOB.limits)
    with pytest.raises(SandboxError, match="protocol"):
        await call(worker, JOB)


def test_workers_are_shared_only_by_jobs_that_agree_in_everything_but_arguments() -> None:
    changes: tuple[dict[str, Any], ...] = (
        {"code": "def f(): return 2\n"}, {"function": "g"}, {"limits": Limits(wall_seconds=1)}, {"hash_seed": 1},
        {"clock_offset_s": 1}, {"moment": 0}, {"random_seed": 0}, {"grants": Grants(model=True)},
        {"grants": Grants(network=("a.example",))},
        {"environment": Environment(digest="sha256:1", location="x")},
    )  # fmt: skip
    assert key_of(JOB) == key_of(JOB.model_copy(update={"arguments": {"a": 1}, "fresh": True}))
    keys = {key_of(JOB), *(key_of(JOB.model_copy(update=change)) for change in changes)}
    assert len(keys) == 1 + len(changes)
