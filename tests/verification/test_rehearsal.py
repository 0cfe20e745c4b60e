"""Rehearsals: a draft's grants are checked as later, and nothing behind them is real."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from alita_mcp.errors import SandboxError, ToolNotFound
from alita_mcp.library.versions.files import manifest_of
from alita_mcp.sandbox.interface import Broker, EgressRefused, Job, RunResult
from alita_mcp.sandbox.network.host_patterns import read_pattern
from alita_mcp.values import Draft, Example, Grants, StoredVersion
from alita_mcp.verification.rehearsal.origin import (
    FILES,
    LARGE,
    MAX_REQUEST,
    OriginStream,
    RehearsalEgressPolicy,
)
from alita_mcp.verification.rehearsal.rehearsal import ReadTool, Rehearsal, RehearsalBroker, value_of
from alita_mcp.verification.verify import verify
from tests.library.factory import simple
from tests.scripted_sandbox import ScriptedSandbox
from tests.verification.drafts import Stages
from tests.verification.trusting_sandbox import TrustingSandbox

WAIT_S = 300


async def said(request: bytes, *, pieces: int = 1, eof: bool = False) -> bytes:
    """What the stand-in answers to a request that arrives in pieces."""
    stream = OriginStream()
    step = -(-len(request) // pieces)
    async with anyio.create_task_group() as tasks:
        answer = b""

        async def speak() -> None:
            for start in range(0, len(request), step):
                await stream.send(request[start : start + step])
            if eof:
                await stream.send_eof()

        with anyio.fail_after(WAIT_S):
            tasks.start_soon(speak)
            while True:
                try:
                    answer += await stream.receive()
                except anyio.EndOfStream:
                    return answer
    raise AssertionError("a stream ends")


def get(path: str, method: str = "GET", head: str = "", body: bytes = b"") -> bytes:
    lines = f"{method} {path} HTTP/1.1\r\nHost: api.example.org\r\n{head}"
    if body:
        lines += f"Content-Length: {len(body)}\r\n"
    return lines.encode("latin-1") + b"\r\n" + body


def parsed(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split(" ")[1]), headers, body


# --- the stand-in host


async def test_a_request_comes_back_as_json_however_it_is_cut() -> None:
    request = get("/a/b?x=1&y=%20z", "POST", "X-Trace: 7\r\nUser-Agent: me\r\nAccept: */*\r\n", "é€".encode())
    for pieces in (1, 7, len(request)):
        status, headers, body = parsed(await said(request, pieces=pieces))
        assert (status, headers["Content-Type"]) == (200, "application/json")
        assert json.loads(body) == {
            "method": "POST",
            "path": "/a/b",
            "query": {"x": "1", "y": " z"},
            "headers": {"host": "api.example.org", "x-trace": "7", "accept": "*/*"},
            "body": "é€",
        }


@pytest.mark.parametrize(
    ("path", "status", "kind", "body"),
    [
        ("/text", 200, "text/plain", FILES["sample.txt"].encode()),
        ("/csv", 200, "text/csv", FILES["sample.csv"].encode()),
        ("/json", 200, "application/json", FILES["sample.json"].encode()),
        ("/html", 200, "text/html", FILES["sample.html"].encode()),
        ("/bytes", 200, "application/octet-stream", b"\x00\x01\x02\xff"),
        ("/large", 200, "text/plain", b"x" * LARGE),
        ("/empty", 204, "text/plain", b""),
        ("/status/404", 404, "application/json", b'{"status":404}'),
        ("/status/304", 304, "application/json", b""),
        ("/status/100", 400, "application/json", b'{"status":400}'),
        ("/status/99999", 400, "application/json", b'{"status":400}'),
        ("/status/x", 400, "application/json", b'{"status":400}'),
    ],
)
async def test_fixed_paths_give_fixed_answers(path: str, status: int, kind: str, body: bytes) -> None:
    answer = parsed(await said(get(path)))
    assert (answer[0], answer[1]["Content-Type"].partition(";")[0], answer[2]) == (status, kind, body)
    head = parsed(await said(get(path, "HEAD")))
    assert (head[0], head[1], head[2]) == (status, answer[1], b"")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"", 400),
        (b"GET\r\n\r\n", 400),
        (get("/text", "POST", "Content-Length: 9\r\n") + b"half", 400),
        (get("/text", "POST", body=b"x" * (MAX_REQUEST + 1)), 413),
    ],
    ids=["nothing", "no HTTP", "half a body", "too large"],
)
async def test_what_is_no_whole_request_is_answered_too(request_: bytes, status: int) -> None:
    assert parsed(await said(request_ or b"\r\n", eof=True))[0] == status


async def test_only_hosts_that_are_asked_for_answer_and_only_over_http() -> None:
    policy = RehearsalEgressPolicy([read_pattern("*.example.org")], any_host=False)
    assert await policy.open("api.example.org", 80)
    with pytest.raises(EgressRefused, match="not granted") as refused:
        await policy.open("example.com", 80)
    assert refused.value.status == 403
    with pytest.raises(EgressRefused, match="speaks http only") as secure:
        await policy.open("api.example.org", 443)
    assert secure.value.status == 502
    anywhere = RehearsalEgressPolicy([], any_host=True)
    assert await anywhere.open("whatever.example.com", 8080)
    with pytest.raises(EgressRefused, match="speaks http only"):
        await anywhere.open("whatever.example.com", 443)


# --- the doors


class ActingSandbox(ScriptedSandbox):
    """Lets each function be acted by a coroutine of the tests, which has the broker of its call."""

    def __init__(self, **acts: Callable[[Job, Broker | None], Awaitable[Any]]) -> None:
        super().__init__(lambda job: RunResult(status="crashed"))
        self.acts = acts

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        self.jobs.append(job)
        try:
            return RunResult(status="ok", value=await self.acts[job.function](job, broker))
        except SandboxError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an act does is a result
            return RunResult(status="error", error_type=type(error).__name__, message=str(error))


async def asked(
    grants: Grants, door: str, read_tool: ReadTool | None = None, *, tool: str = "", **words: Any
) -> RunResult:
    """How a call ends that asks one question at a door; `tool` names what the called tools do."""

    async def caller(_job: Job, broker: Broker | None) -> Any:
        assert broker is not None
        return await broker.answer(door, words)

    async def called(job: Job, broker: Broker | None) -> Any:
        if tool == "breaks":
            raise SandboxError("the engine is gone")
        if tool == "fails":
            raise ValueError("three is too many")
        if tool == "denied":
            raise PermissionError("/home/ada is closed")
        if tool == "calls again" and broker is not None:
            return await broker.answer("call_tool", {"name": "caller", "arguments": {}})
        return [job.function, job.arguments, broker is None]

    box = ActingSandbox(caller=caller, pure_tool=called, asking_tool=called)
    job = Job(code="", function="caller", arguments={}, grants=grants)
    with anyio.fail_after(WAIT_S):
        return await Rehearsal(box, read_tool).run(job)


async def stored(name: str) -> StoredVersion:
    if name == "missing_tool":
        raise ToolNotFound("There is no tool 'missing_tool'.")
    asks = Grants(tools=("caller",)) if name == "asking_tool" else Grants()
    accepted = simple(name, grants=asks)
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    manifest = manifest_of(accepted, 1).model_copy(update={"input_schema": closed})
    return StoredVersion(
        manifest=manifest, code=accepted.draft.code, lock=accepted.lock, examples=accepted.draft.examples,
        report=accepted.report,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("door", "words", "grant"),
    [
        ("complete", {"prompt": "x"}, "'model'"),
        ("secret", {"name": "token"}, "'secrets'"),
        ("call_tool", {"name": "pure_tool", "arguments": {}}, "'tools'"),
        ("workspace.list", {"path": ""}, "'workspace'"),
        ("workspace.read", {"path": "sample.txt", "offset": 0, "length": 10}, "'workspace'"),
        ("shell", {"command": "id"}, "no service"),
    ],
)
async def test_a_door_without_its_grant_stays_shut_as_in_real_calls(
    door: str, words: dict[str, Any], grant: str
) -> None:
    result = await asked(Grants(network=("api.example.org",)), door, stored, **words)
    assert (result.status, result.error_type) == ("error", "PermissionError")
    assert grant in result.message


async def test_secrets_are_made_up_and_kept_out_of_the_result_as_real_ones_are() -> None:
    told: list[Any] = []

    async def teller(_job: Job, broker: Broker | None) -> Any:
        assert broker is not None
        told.append(await broker.answer("secret", {"name": "token"}))
        return {"header": f"Bearer {told[0]}"}

    job = Job(code="", function="teller", arguments={}, grants=Grants(secrets=("token",)))
    result = await Rehearsal(ActingSandbox(teller=teller)).run(job)
    assert told == ["rehearsal-token"]
    assert result.value == {"header": "Bearer [secret]"}


def workspace_of(broker: Broker | None) -> Path:
    assert isinstance(broker, RehearsalBroker)
    folder = broker._services.workspace
    assert folder is not None
    return folder


async def test_the_workspace_holds_the_samples_and_is_thrown_away() -> None:
    seen: list[Path] = []

    async def lister(_job: Job, broker: Broker | None) -> Any:
        seen.append(workspace_of(broker))
        assert seen[-1].is_dir()
        assert broker is not None
        return sorted(await broker.answer("workspace.list", {"path": ""}))

    job = Job(code="", function="lister", arguments={}, grants=Grants(workspace="read"))
    rehearsal = Rehearsal(ActingSandbox(lister=lister))
    for _ in range(2):
        assert (await rehearsal.run(job)).value == sorted(FILES)
    assert seen[0] != seen[1]
    assert not any(folder.exists() for folder in seen)


async def test_other_tools_are_really_called_under_their_own_grants() -> None:
    asks = Grants(tools=("pure_tool", "asking_tool"))
    pure = await asked(asks, "call_tool", stored, name="pure_tool", arguments={})
    assert pure.value == ["pure_tool", {}, True]
    asking = await asked(asks, "call_tool", stored, name="asking_tool", arguments={})
    assert asking.value == ["asking_tool", {}, False]


async def test_a_called_tool_finds_the_clock_and_the_seed_of_its_caller() -> None:
    async def caller(_job: Job, broker: Broker | None) -> Any:
        assert broker is not None
        return await broker.answer("call_tool", {"name": "pure_tool", "arguments": {}})

    async def called(job: Job, _broker: Broker | None) -> Any:
        return [job.moment, job.random_seed, job.clock_offset_s]

    rehearsal = Rehearsal(ActingSandbox(caller=caller, pure_tool=called), stored)
    for world in ({"moment": 7, "random_seed": 8}, {"clock_offset_s": 9}, {}):
        job = Job(code="", function="caller", arguments={}, grants=Grants(tools=("pure_tool",)), **world)
        with anyio.fail_after(WAIT_S):
            told = (await rehearsal.run(job)).value
        assert told == [world.get("moment"), world.get("random_seed"), world.get("clock_offset_s", 0)]


async def test_a_sandbox_that_fails_in_a_called_tool_is_not_the_callers_failure() -> None:
    with pytest.raises(SandboxError, match="the engine is gone"):
        await asked(
            Grants(tools=("pure_tool",)), "call_tool", stored, tool="breaks", name="pure_tool", arguments={}
        )


@pytest.mark.parametrize(
    ("result", "error", "words"),
    [
        (RunResult(status="error", error_type="ValueError", message="m"), ValueError, "x: m"),
        (
            RunResult(status="error", error_type="KeyError", message="m"),
            LookupError,
            "x failed (KeyError): m",
        ),
        (
            RunResult(
                status="error",
                error_type="JSONDecodeError",
                error_kinds=("json.decoder.JSONDecodeError", "builtins.ValueError", "builtins.Exception"),
                message="m",
            ),
            ValueError,
            "x failed (JSONDecodeError): m",
        ),
        (
            RunResult(status="error", error_type="TypeError", message="m"),
            RuntimeError,
            "x failed (TypeError): m",
        ),
        (RunResult(status="timeout", message="30 s"), RuntimeError, "x failed (timeout): 30 s"),
    ],
)
def test_an_error_of_a_called_tool_keeps_its_name_where_it_can(
    result: RunResult, error: type[Exception], words: str
) -> None:
    with pytest.raises(error) as caught:
        value_of("x", result)
    assert str(caught.value) == words


# --- the gates

FETCH = '''import json
import urllib.request


def fetch_item(number: int) -> str:
    """Fetches an item.

    Args:
        number: Which.

    Raises:
        ValueError: There is none.
    """
    if number < 0:
        raise ValueError("negative")
    with urllib.request.urlopen(f"http://api.example.org/items/{number}", timeout=20) as answer:
        return json.loads(answer.read())["path"]
'''


def fetching(**changes: Any) -> Draft:
    fields: dict[str, Any] = {
        "name": "fetch_item",
        "description": "Fetches an item.",
        "code": FETCH,
        "examples": (
            Example(arguments={"number": 3}, expected="/items/3"),
            Example(arguments={"number": 0}, expected="/items/0"),
            Example(arguments={"number": -1}, raises="ValueError"),
        ),
        "grants": Grants(network=("api.example.org",)),
    }
    return Draft(**{**fields, **changes})


@pytest.mark.slow
async def test_a_draft_with_grants_is_verified_in_rehearsal_by_the_same_path_with_a_broker_for_each_call() -> (
    None
):
    box = TrustingSandbox()
    with anyio.fail_after(WAIT_S):
        verdict = await verify(fetching(), box, Stages())
    assert verdict.report.failure is None
    assert verdict.report.trust == "verified"
    calls = [
        (job, broker)
        for job, broker in zip(box.jobs, box.brokers, strict=True)
        if job.function == "fetch_item"
    ]
    assert len(calls) > 5
    assert all(job.grants == fetching().grants for job, _ in calls)
    assert len({id(broker) for _, broker in calls}) == len(calls)
    assert all(isinstance(broker, RehearsalBroker) for _, broker in calls)


async def test_a_host_that_was_not_asked_for_is_refused_in_rehearsal_too() -> None:
    with anyio.fail_after(WAIT_S):
        verdict = await verify(
            fetching(grants=Grants(network=("other.example.org",))), TrustingSandbox(), Stages()
        )
    failure = verdict.report.failure
    assert failure is not None
    assert failure.stage == "examples"
    assert "403" in str(failure.got)
