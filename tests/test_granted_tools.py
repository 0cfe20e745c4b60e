"""Tools at work under their grants, end to end in real sandboxes: files, a model, secrets, other tools, the network."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream, SocketAttribute

from alita_mcp.app import App, open_app
from alita_mcp.app.calls import Calls
from alita_mcp.errors import ToolUnavailable
from alita_mcp.models.scripted import ScriptedModel
from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import HostServices
from alita_mcp.sandbox.bubblewrap.sandbox import BubblewrapSandbox
from alita_mcp.sandbox.docker.sandbox import DockerSandbox
from alita_mcp.sandbox.interface import RunResult, Sandbox
from alita_mcp.server.tools.admission import admit
from alita_mcp.settings import Settings
from alita_mcp.toolsmith.requests.outcomes import NeedsApproval
from alita_mcp.toolsmith.requests.request import read_request
from alita_mcp.values import Lock, StoredVersion
from alita_mcp.verification.rehearsal.rehearsal import value_of

pytestmark = pytest.mark.no_cover

LONG_S = 300
HERE = frozenset({"127.0.0.1"})
SECRET = "hunter2-hunter2"
TELL = '''import alita_tool


def tell_secret(twice: bool = False) -> str:
    """Tells what it should not.

    Args:
        twice: Once more.
    """
    print(alita_tool.secret("token"))
    return "it is " + alita_tool.secret("token") * (2 if twice else 1)
'''
TELL_SECRET: dict[str, Any] = {
    "name": "tell_secret",
    "description": "Tells what it should not.",
    "code": TELL,
    "tests": [
        {"arguments": {}, "expected": "it is [secret]"},
        {"arguments": {"twice": True}, "expected": "it is [secret][secret]"},
        {"arguments": {"twice": False}, "expected": "it is [secret]"},
    ],
    "secrets": ["token"],
}


BUBBLEWRAP = pytest.param("bubblewrap", marks=pytest.mark.bubblewrap)
IN_BUBBLEWRAP = pytest.mark.parametrize(
    "sandbox",
    [pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.exhaustive]), BUBBLEWRAP],
    indirect=True,
)
"""For what does not differ by the engine: `make test` runs it in bubblewrap alone."""


@pytest.fixture(params=[pytest.param("docker", marks=pytest.mark.docker), BUBBLEWRAP])
def sandbox(request: pytest.FixtureRequest, settings: Settings) -> Sandbox:
    if request.param == "docker":
        request.getfixturevalue("docker_engine")
        return DockerSandbox(settings)
    request.getfixturevalue("bubblewrap")
    return BubblewrapSandbox(settings)


async def silent(_stage: str) -> None:
    return None


@asynccontextmanager
async def opened(
    settings: Settings,
    sandbox: Sandbox,
    grants: Mapping[str, Sequence[str]],
    model: ScriptedModel | None = None,
) -> AsyncIterator[App]:
    """The whole application with a workspace, a secret and these tools approved, for these hosts.

    Its starter tools count as proved in this kind of sandbox: test_starter_tools.py runs their gates there.
    """
    folder = settings.home.parent
    (folder / "files").mkdir(exist_ok=True)
    (folder / "secrets.json").write_text(json.dumps({"token": SECRET}), encoding="utf-8")
    (folder / "secrets.json").chmod(0o600)
    set_up = settings.model_copy(
        update={
            "workspace": folder / "files",
            "secrets_file": folder / "secrets.json",
        }
    )
    with anyio.fail_after(LONG_S):
        async with open_app(set_up, admit=admit, sandbox=sandbox, model=model) as app:
            for entry in list(app.library.tools.entries()):
                await app.library.raise_evidence(entry.name, 1, sandbox.kind, Lock())
            for name, hosts in grants.items():
                await app.library.approve(name, hosts=hosts)
            yield app


@IN_BUBBLEWRAP
async def test_files_are_written_and_read_in_the_workspace_and_nowhere_else(
    settings: Settings, sandbox: Sandbox
) -> None:
    grants = dict.fromkeys(("write_text_file", "read_text_file"), ())
    files = settings.home.parent / "files"
    async with opened(settings, sandbox, grants) as app:
        written = await app.run_tool("write_text_file", {"path": "notes/a.txt", "text": "one\ntwo\n"})
        assert written.structured_content == {"path": "notes/a.txt", "created": True, "bytes": 8, "lines": 2}
        assert (files / "notes" / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"
        read = await app.run_tool("read_text_file", {"path": "notes/a.txt", "first_line": -1})
        assert read.structured_content is not None
        assert read.structured_content["text"] == "two\n"
        (files / "link.txt").symlink_to(settings.home.parent / "secrets.json")
        through = await app.run_tool("read_text_file", {"path": "link.txt"})
        assert not through.result.ok
        assert SECRET not in str(through)
        await app.library.settle()
        called = [
            row for row in app.library.journal() if row.name == "write_text_file" and row.event == "called"
        ]
        assert any(event["door"] == "workspace" for event in called[0].detail["events"])


@IN_BUBBLEWRAP
async def test_the_model_is_asked_and_an_unapproved_tool_is_not_run(
    settings: Settings, sandbox: Sandbox
) -> None:
    model = ScriptedModel(["It is Friday now."])
    async with opened(settings, sandbox, {"summarize_text": ()}, model) as app:
        answer = await app.run_tool("summarize_text", {"text": "The meeting was moved to Friday."})
        assert answer.structured_content == {"summary": "It is Friday now.", "pieces": 1, "characters": 32}
        assert "JSON string" in model.asked[0][0].content
        for name, arguments in (("read_text_file", {"path": "a"}), ("http_request", {"url": "http://x.org"})):
            with pytest.raises(ToolUnavailable, match="nobody approved"):
                await app.run_tool(name, arguments)


async def test_a_secret_reaches_the_tool_and_nobody_else(settings: Settings, sandbox: Sandbox) -> None:
    async with opened(settings, sandbox, {}) as app:
        outcome = await app.synthesize(read_request(TELL_SECRET), silent)
        assert isinstance(outcome, NeedsApproval), outcome
        with pytest.raises(ToolUnavailable, match="secret token"):
            await app.run_tool("tell_secret", {})
        await app.library.approve("tell_secret")
        answer = await app.run_tool("tell_secret", {})
        assert answer.structured_content == {"result": "it is [secret]"}
        assert SECRET not in str(answer)
        await app.library.settle()
        assert SECRET not in str(app.library.journal())


COMPOSE: dict[str, Any] = {
    "name": "sum_and_double",
    "description": "Sums a column and doubles the sum.",
    "code": '''import alita_tool


def sum_and_double(text: str) -> str:
    """Sums the column n of a CSV text and doubles the sum.

    Args:
        text: CSV text.

    Raises:
        ValueError: There is no such column.
    """
    asked = [{"function": "sum", "column": "n"}]
    total = alita_tool.call_tool("csv_query", text=text, aggregates=asked)["rows"][0]["sum_n"]
    return alita_tool.call_tool("calculate", expression=f"2 * {total}")["exact"]
''',
    "tests": [
        {"arguments": {"text": "n\n1\n2\n"}, "expected": "6"},
        {"arguments": {"text": "n\n"}, "expected": "0"},
        {"arguments": {"text": "m\n1\n"}, "raises": "ValueError"},
    ],
    "tools": ["csv_query", "calculate"],
}


@IN_BUBBLEWRAP
async def test_a_tool_calls_others_each_in_a_sandbox_of_its_own(settings: Settings, sandbox: Sandbox) -> None:
    async with opened(settings, sandbox, {}) as app:
        outcome = await app.synthesize(read_request(COMPOSE), silent)
        assert isinstance(outcome, NeedsApproval), outcome
        await app.library.approve("sum_and_double")
        assert (await app.run_tool("sum_and_double", {"text": "n\n20\n1\n"})).structured_content == {
            "result": "42"
        }
        failed = (await app.run_tool("sum_and_double", {"text": "m\n1\n"})).result
        assert (failed.status, failed.error_type) == ("error", "ValueError")
        assert "there is no column 'n'" in failed.message
        await app.library.disable("calculate")
        refused = (await app.run_tool("sum_and_double", {"text": "n\n1\n"})).result
        assert refused.error_type == "RuntimeError"
        assert "calculate is disabled" in refused.message
        await app.library.settle()
        called = [row.name for row in app.library.journal() if row.event == "called"]
        assert called.count("csv_query") == 3


@pytest.mark.exhaustive
@pytest.mark.bubblewrap
async def test_tools_that_call_tools_never_wait_for_one_another(settings: Settings, bubblewrap: None) -> None:
    narrow = settings.model_copy(update={"max_workers": 1})
    async with opened(narrow, BubblewrapSandbox(narrow), {}) as app:
        assert isinstance(await app.synthesize(read_request(COMPOSE), silent), NeedsApproval)
        await app.library.approve("sum_and_double")
        sums: dict[int, Any] = {}

        async def call(number: int) -> None:
            answer = await app.run_tool("sum_and_double", {"text": f"n\n{number}\n"})
            sums[number] = answer.structured_content or answer.result.message

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(call, number)
        print(sums)
        assert sums == {number: {"result": str(2 * number)} for number in range(4)}


@asynccontextmanager
async def web_server() -> AsyncIterator[tuple[int, list[bytes]]]:
    """A server on this machine that gives a CSV file; its port and the requests that it saw."""
    seen: list[bytes] = []
    body = b"city,amount\nBerlin,12.5\nParis,7\nBerlin,3\n"

    async def answer(stream: ByteStream) -> None:
        async with stream:
            head = b""
            while b"\r\n\r\n" not in head:
                head += await stream.receive()
            seen.append(head)
            headers = b"Content-Type: text/csv\r\nConnection: close\r\n"
            await stream.send(
                b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (headers, len(body), body)
            )

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, answer)
        yield listener.extra(SocketAttribute.local_port), seen
        tasks.cancel_scope.cancel()


@IN_BUBBLEWRAP
async def test_one_tool_fetches_and_another_computes(settings: Settings, sandbox: Sandbox) -> None:
    async with web_server() as (port, seen), opened(settings, sandbox, {}) as app:
        host = f"data.example.org:{port}"
        await app.library.approve("http_request", hosts=[host])
        await app.library.approve("fetch_csv_and_query")
        calls = calls_that_find(app, sandbox)
        arguments = {
            "url": f"http://{host}/sales.csv",
            "group_by": ["city"],
            "aggregates": [{"function": "sum", "column": "amount", "name": "total"}],
            "order_by": ["-total"],
        }
        answer = await calls.run_tool("fetch_csv_and_query", arguments)
        assert answer.structured_content is not None, answer.result
        assert answer.structured_content["rows"] == [
            {"city": "Berlin", "total": "15.5"},
            {"city": "Paris", "total": "7"},
        ]
        assert len(seen) == 1
        other = (
            await calls.run_tool("fetch_csv_and_query", {"url": f"http://www.example.com:{port}/"})
        ).result
        assert other.error_type == "RuntimeError"
        assert "is not granted" in other.message
        assert len(seen) == 1


def calls_that_find(app: App, sandbox: Sandbox, reachable: frozenset[str] = HERE) -> Calls:
    """The flow of calls where every name stands for this machine, which tools may reach where it is `reachable`."""

    async def resolve(_host: str, _port: int) -> list[str]:
        return list(HERE)

    async def call_tool(name: str, arguments: dict[str, Any], *, chain: tuple[str, ...]) -> Any:
        result: RunResult = (await calls.run_tool(name, arguments, chain=chain[:-1])).result
        return value_of(name, result)

    def broker_for(stored: StoredVersion, chain: tuple[str, ...], _client: object) -> GrantedBroker:
        manifest = stored.manifest
        granted = app.library.effective_grants.of(manifest)
        assert granted is not None
        here = HostServices(
            call_tool=call_tool,
            chain=(*chain, manifest.name),
            resolve=resolve,
            reachable=reachable,
        )
        return GrantedBroker(granted, manifest.limits, here)

    calls = Calls(app.library, sandbox, broker_for)
    return calls


async def test_a_host_on_this_machine_is_refused_though_it_is_granted(
    settings: Settings, sandbox: Sandbox
) -> None:
    async with web_server() as (port, seen):
        host = f"data.example.org:{port}"
        async with opened(settings, sandbox, {"http_request": [host]}) as app:
            calls = calls_that_find(app, sandbox, reachable=frozenset())
            answer = await calls.run_tool("http_request", {"url": f"http://{host}/", "max_bytes": 1_000})
            assert answer.result.error_type == "PermissionError", answer.result
            assert "127.0.0.1" in answer.result.message
        assert seen == []
