"""What the broker answers to tools in the embedded sandbox, as in the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from alita_mcp.sandbox.broker.granted import GrantedBroker
from alita_mcp.sandbox.broker.host_services import HostServices
from alita_mcp.sandbox.interface import Job, RunResult
from alita_mcp.sandbox.wasm.sandbox import WasmSandbox
from alita_mcp.settings import Settings
from alita_mcp.values import Grants, Limits
from tests.sandbox.sites import HERE, resolved
from tests.sandbox.test_broker_in_sandboxes import WAIT_SECONDS, BrokerContract

pytestmark = pytest.mark.process

RAW = """
import json, types, alita_tool
HOST = types.SimpleNamespace(**alita_tool._ask.__self__._exchange.__globals__)
"""


@pytest.fixture
async def wasm_sandbox(settings: Settings) -> AsyncIterator[WasmSandbox]:
    sandbox = WasmSandbox(settings)
    yield sandbox
    await sandbox.aclose()


async def echo(prompt: str, **_options: Any) -> str:
    return prompt


async def call(
    sandbox: WasmSandbox, code: str, grants: Grants, services: HostServices | None = None, **more: Any
) -> tuple[RunResult, GrantedBroker]:
    limits = more.pop("limits", Limits(wall_seconds=60))
    broker = GrantedBroker(
        grants, limits, services or HostServices(complete=echo, resolve=resolved, reachable=HERE)
    )
    job = Job(code=code, function="f", arguments=more, limits=limits, grants=grants)
    with anyio.fail_after(WAIT_SECONDS):
        return await sandbox.run(job, broker), broker


class TestWasmBroker(BrokerContract):
    @pytest.fixture
    def sandbox(self, wasm_sandbox: WasmSandbox) -> WasmSandbox:
        return wasm_sandbox

    # it has no sockets: test_network.py has what holds of HTTP here
    test_requests_and_httpx_go_through_the_proxy_with_and_without_tls = None  # type: ignore[assignment]
    test_a_tunnel_is_tls_for_the_granted_name_or_nothing = None  # type: ignore[assignment]


async def test_a_long_question_is_refused_before_it_is_read(wasm_sandbox: WasmSandbox) -> None:
    code = f"""{RAW}
def f():
    told = []
    for question in ("x" * ((1 << 20) + 1), "\\u00fc" * ((1 << 19) + 1)):
        told += [json.loads(HOST.ask(question)), json.loads(HOST.network(question))]
    return told
"""
    result, broker = await call(wasm_sandbox, code, Grants(model=True))
    refused = {"error": ["ValueError", "a question is longer than 1048576 bytes"]}
    assert result.ok, result
    assert result.value == [refused] * 4
    assert broker.events == []


@pytest.mark.parametrize("door", ["ask", "network"])
async def test_a_question_that_is_far_too_long_ends_the_call(wasm_sandbox: WasmSandbox, door: str) -> None:
    code = f"{RAW}\ndef f():\n    return HOST.{door}('x' * (3 << 20))\n"
    result, broker = await call(wasm_sandbox, code, Grants(model=True))
    assert (result.status, broker.events) == ("crashed", [])
    assert "3145728 bytes" in result.message


async def test_a_call_without_grants_and_an_import_are_answered_by_the_worker(
    wasm_sandbox: WasmSandbox,
) -> None:
    code = f"""{RAW}
def asks():
    return [json.loads(HOST.ask("{{}}")), json.loads(HOST.network("{{}}"))]
TOLD = asks()
def f():
    return TOLD + asks()
"""
    result, _ = await call(wasm_sandbox, code, Grants())
    refused = "only a call with grants is answered, and only while it runs"
    assert result.ok, result
    assert result.value == [{"error": ["PermissionError", refused]}] * 4
