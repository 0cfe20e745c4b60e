"""A sandbox that guards nothing: our own tools in a plain process, with the real `alita_tool` and the real proxy.

For tools from this repository and for rehearsals; never give it what a stranger wrote.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import ByteStream, SocketAttribute

from alita_mcp.sandbox.gate import NoHosts
from alita_mcp.sandbox.proxy import PROXY, PROXY_VARIABLES, serve
from alita_mcp.sandbox.scripted import ScriptedSandbox
from alita_mcp.sandbox.seam import Broker, Gate, Job, RunResult
from alita_mcp.sandbox.serving import in_words

PROGRAM = """
import inspect, json, os, sys
from alita_mcp.sandbox.runner import grants

job = json.loads(sys.stdin.readline())
out, sys.stdout = os.fdopen(os.dup(1), "w"), sys.stderr

def say(said):
    out.write(json.dumps(said) + "\\n")
    out.flush()

def ask(door, words):
    say({"door": door, "words": words})
    answer = json.loads(sys.stdin.readline())
    if "error" in answer:
        name, message = answer["error"]
        raise grants.ERRORS.get(name, RuntimeError)(message)
    return answer["ok"]

sys.modules["alita_tool"] = grants.module(job["grants"], ask, root=job["root"])
space = {"__name__": "tool"}
try:
    exec(compile(job["code"], "tool.py", "exec"), space)
    value = space[job["function"]](**job["arguments"])
    grants.finish()
    say({"status": "ok", "value": value})
except BaseException as error:
    say({"status": "error", "error_type": type(error).__name__, "message": str(error)})
"""


class TrustingSandbox(ScriptedSandbox):
    """Answers each job by running it as a plain process; remembers all jobs and brokers."""

    def __init__(self, kind: str = "trusting") -> None:
        super().__init__(lambda job: RunResult(status="crashed"), kind)
        self.brokers: list[Broker | None] = []

    async def run(self, job: Job, broker: Broker | None = None) -> RunResult:
        """What the process says at its end."""
        self.jobs.append(job)
        self.brokers.append(broker)
        gate = (broker.gate if broker else None) or NoHosts()
        with tempfile.TemporaryDirectory() as root, anyio.fail_after(60):
            async with proxied(gate) as variables, await started(variables) as process:
                request = job.model_dump(mode="json") | {"root": f"{root}/workspace"}
                return await conversation(process, request, broker)
        raise AssertionError("a conversation ends with a result")


async def conversation(
    process: anyio.abc.Process, request: dict[str, Any], broker: Broker | None
) -> RunResult:
    assert process.stdin is not None
    assert process.stdout is not None
    await process.stdin.send(json.dumps(request).encode() + b"\n")
    heard = b""
    while True:
        while b"\n" not in heard:
            heard += await process.stdout.receive(1 << 20)
        line, _, heard = heard.partition(b"\n")
        said = json.loads(line)
        if "door" not in said:
            return RunResult(**said)
        await process.stdin.send(json.dumps(await answer(said, broker)).encode() + b"\n")


async def answer(said: dict[str, Any], broker: Broker | None) -> dict[str, Any]:
    if broker is None:
        return {"error": ["PermissionError", "nobody answers"]}
    try:
        return {"ok": await broker.answer(said["door"], said["words"])}
    except Exception as problem:  # noqa: BLE001 - as the host's side of a sandbox does
        return {"error": list(in_words(problem))}


async def started(variables: dict[str, str]) -> anyio.abc.Process:
    return await anyio.open_process(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=variables,
    )


class Caller:
    """A connection from inside as the proxy wants it."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return b""

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def end(self) -> None:
        await self._stream.send_eof()


@asynccontextmanager
async def proxied(gate: Gate) -> AsyncIterator[dict[str, str]]:
    """The environment variables of a proxy that goes through the gate."""

    async def take(stream: ByteStream) -> None:
        async with stream:
            await serve(Caller(stream), gate)

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(listener.serve, take)
        port = listener.extra(SocketAttribute.local_port)
        ours = f"http://127.0.0.1:{port}"
        yield {name: value.replace(PROXY, ours) for name, value in PROXY_VARIABLES.items()}
        tasks.cancel_scope.cancel()
