"""Traces as a collector receives them over OTLP, and a server that was asked for none."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from alita_mcp.settings import wants_traces
from tests.server.connections import SPIN, publish_spin
from tests.server.processes import ENTRY, META, PATIENCE_S, SERVE_HTTP, environment, started
from tests.tables import each_case

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"


class Collector:
    """An OTLP collector on loopback, and the spans that it received."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.address = ""

    async def received(self, name: str) -> Any:
        """Waits for a span of that name."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                for span in tuple(self.spans):
                    if span.name == name:
                        return span
                await anyio.sleep(0.02)


@contextmanager
def collecting() -> Iterator[Collector]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    collector = Collector()

    class Receive(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            body = self.rfile.read(int(self.headers["content-length"]))
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    collector.spans += scope.spans
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Receive) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        collector.address = f"http://127.0.0.1:{server.server_port}"
        yield collector
        server.shutdown()


def said(span: Any) -> dict[str, str]:
    return {each.key: each.value.string_value for each in span.attributes}


@pytest.mark.process
@pytest.mark.extra("team")
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
async def test_a_call_is_traced_below_the_span_of_its_client(tmp_path: Path) -> None:
    await publish_spin(tmp_path / "home")
    with collecting() as collector:
        # batches leave after an hour, or when the server ends
        env = environment(home=tmp_path / "home", sandbox="wasm") | {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address,
            "OTEL_BSP_SCHEDULE_DELAY": "3600000",
        }
        async with started(SERVE_HTTP, env, tmp_path) as peer, httpx.AsyncClient(timeout=PATIENCE_S) as http:
            url = (await peer.says("serving MCP at")).split()[-1]
            headers = {
                "accept": "application/json, text/event-stream",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": "spin_around",
            }
            meta = META | {"traceparent": PARENT}
            params = {"name": "spin_around", "arguments": {"turns": 7_777}, "_meta": meta}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            assert '"isError":false' in (await http.post(url, json=call, headers=headers)).text
            assert collector.spans == []
            peer.process.send_signal(signal.SIGTERM)
            assert await peer.ended() == 143
        request, work = (
            await collector.received("tools/call spin_around"),
            await collector.received("call spin_around"),
        )
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, SPAN)
    assert (work.trace_id.hex(), work.parent_span_id) == (TRACE, request.span_id)
    assert said(work) == {"alita.kind": "call", "alita.tool": "spin_around", "alita.outcome": "ok"}
    assert not re.search(r"\b7777\b", str(collector.spans))  # as a number of its own: times have many digits


@pytest.fixture(params=["home", pytest.param("postgres", marks=pytest.mark.postgres)])
def library(request: pytest.FixtureRequest) -> str:
    """A library in the home, or one whose jobs go through a queue."""
    return "" if request.param == "home" else str(request.getfixturevalue("postgres_url"))


@pytest.mark.process
@pytest.mark.extra("team")
async def test_a_synthesis_over_stdio_belongs_to_the_trace_of_its_client(
    tmp_path: Path, library: str
) -> None:
    with collecting() as collector:
        env = environment(home=tmp_path / "home", sandbox="wasm", shared="off", library=library) | {
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.address}/v1/traces",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        async with started(ENTRY, env, tmp_path) as peer:
            await peer.initialize()
            params = {"name": "synthesize_tool", "arguments": SPIN, "_meta": {"traceparent": PARENT}}
            made = await peer.request("tools/call", params)
            assert made["result"]["structuredContent"]["status"] == "created"
            request = await collector.received("tools/call synthesize_tool")
            work = await collector.received("synthesis spin_around")
    assert (work.trace_id.hex(), work.parent_span_id) == (TRACE, request.span_id)
    assert said(work)["alita.outcome"] == "created"


@each_case(
    "variables, wanted",
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}, False),
        ({"OTEL_SERVICE_NAME": "tools"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
    ],
)
def test_only_variables_that_name_an_exporter_ask_for_traces(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], wanted: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert wants_traces() is wanted


BUILT = """
import json, sys
from alita_mcp.server.build import build_server
from alita_mcp.settings import read_settings
import alita_mcp.server.transports.http
server = build_server(read_settings())
print(json.dumps([len(server.middleware), sorted(name for name in sys.modules if name.startswith("opentelemetry."))]))
"""


@pytest.mark.process
@pytest.mark.extra("team")
@pytest.mark.parametrize("is_wanted", [False, True])
def test_a_server_without_the_variables_imports_nothing_of_the_sdk(tmp_path: Path, is_wanted: bool) -> None:
    wanted = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"} if is_wanted else {}
    ran = subprocess.run(
        [sys.executable, "-c", BUILT],
        env=environment(home=tmp_path) | wanted, capture_output=True, timeout=PATIENCE_S, check=True,
    )  # fmt: skip
    middleware, modules = json.loads(ran.stdout)
    assert middleware == (4 if is_wanted else 3)
    assert (
        any(name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")) for name in modules) is is_wanted
    )
