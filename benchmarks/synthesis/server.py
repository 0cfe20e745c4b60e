"""Hands requests to a real server process over stdio, and calls what it publishes with hidden examples."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import Field

from alita_mcp.values import Example, Value
from alita_mcp.verification.comparison import same_result
from benchmarks.synthesis.tool_requests import ToolRequest

if TYPE_CHECKING:
    from mcp_types import CallToolResult

START_WITHIN_S = 60.0
MAKE_WITHIN_S = 900.0
CALL_WITHIN_S = 150.0
"""The server promises an answer to `synthesize_tool` within 45 s; thrice that and more is a hung call."""
SHOWN_CHARACTERS = 400
LONGEST_NAME = 40
BROKE_OFF = (
    TimeoutError,
    MCPError,
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    RuntimeError,
)
"""What a call raises when the server is gone, late, or answers what the client refuses."""


class Trial(Value):
    """Trial of one request."""

    task_id: str
    tool: str
    status: str
    """As the server says it: `created`, `exists`, `rejected`, …; `failed` also when no answer came."""
    trust: str = ""
    stage: str = ""
    reason: str = ""
    renamed: bool = False
    """The name was taken, so the request was handed in again under another one."""
    listed: bool = False
    """The tool stood in `tools/list` right after it was made."""
    right: int = 0
    hidden: int
    wrong: tuple[str, ...] = ()
    """One line for each hidden example that came out wrong."""
    seconds: float = 0.0
    """From handing it in to the last answer about it; without the hidden examples."""
    seconds_by_gate: dict[str, float] = Field(default_factory=dict)
    """As the tool's report has it, like the two below."""
    calls: int = 0
    """Of models, where they wrote it."""
    tokens: int = 0

    @property
    def published(self) -> bool:
        """Whether a new tool stands in the library."""
        return self.status == "created"


@dataclass(frozen=True)
class Server:
    """A connected server process."""

    client: Client

    async def synthesize(self, request: dict[str, Any]) -> dict[str, Any]:
        """The last answer about a request, asking again while it is worked on."""
        with anyio.fail_after(MAKE_WITHIN_S):
            answer = await self._synthesize(request)
            while answer.get("status") == "working":
                answer = await self._synthesize({"job_id": answer["job_id"]})
        return answer

    async def _synthesize(self, arguments: dict[str, Any]) -> dict[str, Any]:
        result = await self.call("synthesize_tool", arguments)
        if isinstance(result.structured_content, dict):
            return result.structured_content
        return {"status": "failed", "reason": text_of(result)}

    async def call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        """One call of one tool."""
        with anyio.fail_after(CALL_WITHIN_S):
            return await self.client.call_tool(name, arguments)

    async def listed_names(self) -> set[str]:
        """The names in `tools/list`, all pages of it."""
        names, cursor = set[str](), None
        with anyio.fail_after(CALL_WITHIN_S):
            while True:
                page = await self.client.list_tools(cursor=cursor, cache_mode="refresh")
                names |= {tool.name for tool in page.tools}
                cursor = page.next_cursor
                if not cursor:
                    return names

    async def report(self, name: str) -> dict[str, Any]:
        """The verification report of a tool."""
        card = (await self.call("inspect_tool", {"name": name})).structured_content or {}
        report: dict[str, Any] = card.get("report") or {}
        return report


@asynccontextmanager
async def connected(kind: str, folder: Path, model: dict[str, str]) -> AsyncIterator[Server]:
    """A server with that sandbox and an empty library; `model` are its settings of the model, if any.

    Raises:
        TimeoutError: it does not start in time.
        MCPError: it ends before it answers.
    """
    variables = {
        **os.environ,  # noqa: TID251 - the process inherits what ours has: DOCKER_HOST, ALITA_DOCKER_IMAGE
        "ALITA_HOME": str(folder / "home"),
        "ALITA_SANDBOX": kind,
        "ALITA_SHARED": "off",
        **model,
    }
    words = ["-m", "alita_mcp.server.transports.entry"]
    parameters = StdioServerParameters(command=sys.executable, args=words, env=variables)
    with (
        (folder / "server.log").open("w", encoding="utf-8") as log,
        anyio.fail_after(START_WITHIN_S) as starting,
    ):
        async with Client(stdio_client(parameters, errlog=log)) as client:
            starting.deadline = float("inf")
            yield Server(client)


async def deliver(
    server: Server, requests: Sequence[ToolRequest], tell: Callable[[str], None]
) -> list[Trial]:
    """Hands in all requests, one after another; one that breaks off has failed."""
    trials: list[Trial] = []
    for request in requests:
        try:
            trial = await _deliver(server, request)
        except BROKE_OFF as failure:
            trial = Trial(
                task_id=request.task_id, tool=request.name, status="failed", reason=in_words(failure),
                hidden=len(request.hidden),
            )  # fmt: skip
        trials.append(trial)
        found = (
            f"{trial.trust} {trial.right}/{trial.hidden}"
            if trial.published
            else f"{trial.stage} {trial.reason}"
        )
        tell(
            f"{len(trials)}/{len(requests)} {trial.tool}: {trial.status} {found.strip()} ({trial.seconds:.2f} s)"
        )
    return trials


async def _deliver(server: Server, request: ToolRequest) -> Trial:
    started, renamed = time.monotonic(), False
    answer = await server.synthesize(request.as_request())
    if answer.get("status") == "exists" and answer.get("tool") == request.name:
        request, renamed = request.under(f"{request.name[: LONGEST_NAME - 2]}_2"), True
        answer = await server.synthesize(request.as_request())
    trial = Trial(
        task_id=request.task_id,
        tool=str(answer.get("tool") or request.name),
        status=str(answer.get("status")),
        trust=str(answer.get("trust", "")),
        stage=str(answer.get("stage", "")),
        reason=_reason(answer),
        renamed=renamed,
        hidden=len(request.hidden),
        seconds=time.monotonic() - started,
    )
    return await _judge(server, request, trial) if trial.published else trial


async def _judge(server: Server, request: ToolRequest, trial: Trial) -> Trial:
    """The trial with what the tool gives for the hidden examples."""
    listed = trial.tool in await server.listed_names()
    report = await server.report(trial.tool)
    usage = report.get("usage") or {}
    found = [await _difference(server, trial.tool, example, listed=listed) for example in request.hidden]
    wrong = tuple(filter(None, found))
    return trial.model_copy(
        update={
            "listed": listed, "right": len(found) - len(wrong), "wrong": wrong,
            "seconds_by_gate": report.get("seconds_by_gate") or {}, "calls": usage.get("calls", 0),
            "tokens": usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
        }
    )  # fmt: skip


async def _difference(server: Server, name: str, example: Example, *, listed: bool) -> str:
    """How the tool's answer differs from the example; empty when it does not."""
    try:
        if listed:
            result = await server.call(name, example.arguments)
        else:
            result = await server.call("run_tool", {"name": name, "arguments": example.arguments})
    except RuntimeError as unfit:  # the SDK's client refuses results that do not fit the output schema
        return f"{json.dumps(example.as_json())}: {unfit}"[:SHOWN_CHARACTERS]
    if _fits(example, result):
        return ""
    got = text_of(result) if result.is_error else json.dumps(result.structured_content)
    return f"{json.dumps(example.as_json())} gave {got}"[:SHOWN_CHARACTERS]


def _fits(example: Example, result: CallToolResult) -> bool:
    """Whether a client sees what the example says; a result that is no object comes as `{"result": …}`."""
    if example.raises is not None:
        return bool(result.is_error) and example.raises.rpartition(".")[2] in text_of(result)
    given = result.structured_content
    if result.is_error or not isinstance(given, dict):
        return False
    if same_result(example.expected, given, example.exact):
        return True
    return given.keys() == {"result"} and same_result(example.expected, given["result"], example.exact)


def _reason(answer: dict[str, Any]) -> str:
    """Why nothing was published, in one line."""
    said = [str(answer.get("reason") or answer.get("why") or "")]
    shown = [f"{word} {json.dumps(answer[word])}" for word in ("case", "expected", "got") if word in answer]
    return " ".join(" | ".join(filter(None, said + shown)).split())[:SHOWN_CHARACTERS]


def text_of(result: CallToolResult) -> str:
    """All text of an answer."""
    return " ".join(block.text for block in result.content if block.type == "text")


def in_words(failure: BaseException) -> str:
    """An exception in one short line."""
    if isinstance(failure, TimeoutError):
        return "no answer in time"
    return f"{type(failure).__name__}: {failure}"[:SHOWN_CHARACTERS]
