"""The answers that need no SDK: the same as the server's, once, and only to plain requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from alita_mcp.domains import FILE
from alita_mcp.server.build import build_server
from alita_mcp.server.transports import greeting
from alita_mcp.server.transports.greeting import Id, greet
from alita_mcp.settings import Settings
from tests.server.in_memory import PATIENCE_S, connected

CLIENT = {"name": "somebody", "version": "1"}


def initialize(**changes: Any) -> dict[str, Any]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params} | changes


def discover(**changes: Any) -> dict[str, Any]:
    words = {"protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": CLIENT}
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in words.items()}
    return {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}} | changes


def with_meta(**changes: Any) -> dict[str, Any]:
    changed = {f"io.modelcontextprotocol/{name}": value for name, value in changes.items()}
    return discover(params={"_meta": discover()["params"]["_meta"] | changed})


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, int, int]]:
    """Reads and writes of the server, then reads and writes of the client."""
    server_reads, client_writes = os.pipe()
    client_reads, server_writes = os.pipe()
    os.set_blocking(client_reads, False)
    opened = (server_reads, server_writes, client_reads, client_writes)
    yield opened
    for descriptor in opened:
        os.close(descriptor)


def greeted(pipes: tuple[int, int, int, int], written: bytes) -> tuple[tuple[bytes, Id | None], bytes]:
    server_reads, server_writes, client_reads, client_writes = pipes
    os.write(client_writes, written)
    result = greet(server_reads, server_writes, {"ALITA_HOME": "/nowhere"})
    try:
        return result, os.read(client_reads, 65_536)
    except BlockingIOError:
        return result, b""


def test_the_protocol_versions_are_those_of_the_sdk() -> None:
    assert tuple(HANDSHAKE_PROTOCOL_VERSIONS) == greeting.HANDSHAKES


async def test_the_words_are_those_of_the_server(settings: Settings) -> None:
    async with connected(build_server(settings), "legacy") as client:
        told = client.session.initialize_result
    assert told is not None
    words = greeting.initialize_result(told.protocol_version, settings.home)
    assert words == told.model_dump(by_alias=True, mode="json", exclude_none=True)


@pytest.mark.process
def test_the_words_of_the_modern_protocol_are_those_of_the_server(home: Path) -> None:
    # the second request is not the first line, so that the server itself answers it
    (home / FILE).write_text("PDF\nCSV", encoding="ascii")
    said = [discover(id="a"), discover(id="b")]
    first, second = served(home, said)
    assert first["result"] == second["result"] == greeting.discover_result(home)
    assert first["result"]["instructions"].endswith(" It holds tools for CSV, PDF.")


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28", "1999-01-01", ""])
@pytest.mark.parametrize("number", [0, 7, "seven"])
def test_a_plain_request_is_answered_at_once(
    pipes: tuple[int, int, int, int], version: str, number: int | str
) -> None:
    asked = initialize(id=number, params=initialize()["params"] | {"protocolVersion": version})
    more = line({"jsonrpc": "2.0", "method": "notifications/initialized"})

    result, written = greeted(pipes, line(asked) + more)

    assert result == (line(asked) + more, number)
    answer = json.loads(written)
    assert answer["id"] == number
    told = types.InitializeResult.model_validate(answer["result"])
    assert told.protocol_version == (version if version in HANDSHAKE_PROTOCOL_VERSIONS else "2025-11-25")


@pytest.mark.parametrize(
    "written",
    [
        b"\n",
        b"{}\n",
        b"[]\n",
        b"\xff\xfe\n",
        b"[" * 50_000 + b"\n",
        line(initialize())[:-1],
        line(initialize(jsonrpc="1.0")),
        line(initialize(method="server/discover")),
        line(discover(method="initialize")),
        line(initialize(method="ping")),
        line(initialize(id=None)),
        line(initialize(id=True)),
        line(initialize(id=1.5)),
        line(initialize(id=[1])),
        line(initialize(params=None)),
        line(initialize(params={})),
        line(initialize(params={"protocolVersion": 1, "capabilities": {}, "clientInfo": CLIENT})),
        line(initialize(params={"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": CLIENT})),
        line(initialize(params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}})),
        line(initialize(params=initialize()["params"] | {"_meta": {"x": 1}})),
        line(discover(params={})),
        line(discover(params={"_meta": None})),
        line(discover(params=discover()["params"] | {"more": 1})),
        line(with_meta(protocolVersion="2027-01-01")),
        line(with_meta(clientCapabilities=None)),
        line(with_meta(clientInfo={"name": "x"})),
    ],
)
def test_all_else_waits_for_the_server(pipes: tuple[int, int, int, int], written: bytes) -> None:
    assert greeted(pipes, written) == ((written, None), b"")


def test_a_client_that_writes_nothing_yet_is_not_waited_for(
    pipes: tuple[int, int, int, int], tmp_path: Path
) -> None:
    assert greet(pipes[0], pipes[1], {}) == (b"", None)
    with (tmp_path / "file").open("w+b") as file:
        assert greet(file.fileno(), pipes[1], {}) == (b"", None)


def served(home: Path, said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a server process answers to these lines; its input ends when every request has an answer."""
    due = {each["id"] for each in said if "id" in each}
    answers = []
    with subprocess.Popen(
        [sys.executable, "-m", "alita_mcp.server.transports.entry"],
        env={**os.environ, "ALITA_HOME": str(home)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"".join(map(line, said)))
        process.stdin.flush()
        while due:
            answers.append(json.loads(process.stdout.readline()))
            due.discard(answers[-1].get("id"))
        rest, _ = process.communicate(timeout=PATIENCE_S)
        return answers + [json.loads(each) for each in rest.splitlines()]


@pytest.mark.process
def test_the_answer_comes_once_and_the_session_goes_on(home: Path) -> None:
    said = [
        initialize(id="a"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "ping"},
        {"jsonrpc": "2.0", "id": "c", "method": "tools/list"},
    ]
    answers = served(home, said)
    assert [each["id"] for each in answers if "id" in each] == ["a", "b", "c"]
    assert answers[0]["result"]["serverInfo"]["name"] == "alita"


@pytest.mark.process
def test_nothing_but_the_standard_library_is_loaded_for_it() -> None:
    program = (
        "import sys; import alita_mcp.server.transports.greeting; "
        "print(sorted({each.partition('.')[0] for each in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE_S,
        env={**os.environ, "PYTHONPATH": str(Path(greeting.__file__).parents[2])},
    )  # fmt: skip
    assert done.stdout.strip() == "['__main__', 'alita_mcp']"
