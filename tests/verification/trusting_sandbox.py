"""A sandbox that guards nothing: our own tools in a plain process, with the real `alita_tool` and the real proxy.

For tools from this repository and for rehearsals; never give it what a stranger wrote.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from multiprocessing.connection import Connection
from typing import Any

import anyio
from anyio.abc import ByteStream, SocketAttribute

from alita_mcp.sandbox.interface import Broker, EgressPolicy, Job, RunResult
from alita_mcp.sandbox.network.egress_policies import NoHosts
from alita_mcp.sandbox.network.proxy import PROXY, PROXY_VARIABLES, serve
from alita_mcp.sandbox.runner.tool import grants
from alita_mcp.sandbox.workers.call_session import in_words
from tests.forked import FORKED
from tests.scripted_sandbox import ScriptedSandbox


def work(line: Connection, job: dict[str, Any], variables: dict[str, str]) -> None:
    """One job in a process: says requests and the result, hears answers."""
    os.environ.clear()
    os.environ.update(variables)

    def ask(door: str, words: Any) -> Any:
        line.send({"door": door, "words": words})
        answer = line.recv()
        if "error" in answer:
            name, message = answer["error"]
            raise grants.ERRORS.get(name, RuntimeError)(message)
        return answer["ok"]

    sys.modules["alita_tool"] = grants.module(job["grants"], ask)
    space: dict[str, Any] = {"__name__": "tool"}
    try:
        with redirect_stdout(None):
            exec(compile(job["code"], "tool.py", "exec"), space)
            value = json.loads(json.dumps(space[job["function"]](**job["arguments"])))
            grants.finish()
        line.send({"status": "ok", "value": value})
    except BaseException as error:  # noqa: BLE001 - whatever ends a tool is told
        line.send({"status": "error", "error_type": type(error).__name__, "message": str(error)})


class TrustingSandbox(ScriptedSandbox):
    """Answers each job by running it as a plain process; remembers all jobs and brokers."""

    def __init__(self, kind: str = "trusting") -> None:
        super().__init__(lambda job: RunResult(status="crashed"), kind)
        self.brokers: list[Broker | None] = []

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """What the process says at its end."""
        self.jobs.append(job)
        self.brokers.append(broker)
        policy = (broker.egress_policy if broker else None) or NoHosts()
        with tempfile.TemporaryDirectory() as root, anyio.fail_after(60):
            async with proxied(policy) as variables:
                request = job.model_dump(mode="json") | {"root": f"{root}/workspace"}
                return await conversation(request, variables, broker)
        raise AssertionError("a conversation ends with a result")


async def conversation(
    request: dict[str, Any], variables: dict[str, str], broker: Broker | None
) -> RunResult:
    ours, theirs = FORKED.Pipe()
    with ours:
        with theirs:
            process = FORKED.Process(target=work, args=(theirs, request, variables))
            await anyio.to_thread.run_sync(process.start)
        try:
            while "door" in (said := await anyio.to_thread.run_sync(ours.recv, abandon_on_cancel=True)):
                ours.send(await answer(said, broker))
            return RunResult(**said)
        finally:
            process.kill()
            process.join()


async def answer(said: dict[str, Any], broker: Broker | None) -> dict[str, Any]:
    if broker is None:
        return {"error": ["PermissionError", "nobody answers"]}
    try:
        return {"ok": await broker.answer(said["door"], said["words"])}
    except Exception as problem:  # noqa: BLE001 - as the host's side of a sandbox does
        return {"error": list(in_words(problem))}


@asynccontextmanager
async def proxied(policy: EgressPolicy) -> AsyncIterator[dict[str, str]]:
    """The environment variables of a proxy that goes through the policy."""

    async def take(stream: ByteStream) -> None:
        async with stream:
            await serve(stream, policy)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, take)
        port = listener.extra(SocketAttribute.local_port)
        ours = f"http://127.0.0.1:{port}"
        yield {name: value.replace(PROXY, ours) for name, value in PROXY_VARIABLES.items()}
        tasks.cancel_scope.cancel()
