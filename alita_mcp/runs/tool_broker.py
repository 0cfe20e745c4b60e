"""Broker of `alita_tools` during one run: describes and calls tools of the library.

A run makes one call after the other. A result goes out in pieces that fit an answer.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol

from alita_mcp.errors import InvalidArguments, ToolNotFound
from alita_mcp.event_loop import is_large, off_loop
from alita_mcp.library.search.signature import signature_of
from alita_mcp.runs.code_run import CodeRun
from alita_mcp.sandbox.broker.requests import BrokerRequest, CallToolRequest, Name, parse_request
from alita_mcp.sandbox.interface import Broker, EgressPolicy, RunResult
from alita_mcp.sandbox.runner.tool.grants import lacks
from alita_mcp.sandbox.workers.call_session import in_words
from alita_mcp.values import Manifest

MODULE = "alita_tools"
"""Code that never says this name runs without a broker of ours, in the faster worker for that."""
MAX_CALLS = 100
MAX_NAMES = 200
"""So many names of tools may be looked up in one run."""
QUESTIONS = 5_000
"""Far more than a run within the limits above asks; `Limits.broker_calls` of such a run."""
PIECE = 200_000
"""Characters of a result in one answer: whatever they are, as JSON they take less than a frame's megabyte."""
MAX_MESSAGE = 2_000
_NOT_RAISED = frozenset(
    {
        "Exception",
        "BaseException",
        "object",
        "MemoryError",
        "SystemExit",
        "KeyboardInterrupt",
        "GeneratorExit",
    }
)
"""Classes that say nothing, and those that would end the run, as if it were out of memory itself."""


class DescribeRequest(BrokerRequest):
    """Request for the signature of a tool."""

    name: Name


class LibraryTools(Protocol):
    """The library's tools as one run may use them; an AlitaError's text reaches the author of the code."""

    def manifest(self, name: str) -> Manifest:
        """A tool as the client may see it.

        Raises:
            ToolNotFound: there is none of that name.
        """
        ...

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> RunResult:
        """Calls a tool under its own rights and in a sandbox of its own."""
        ...


class RedactingBroker(Broker, Protocol):
    """Broker that removes secrets from a result."""

    def redact_result(self, result: RunResult) -> RunResult:
        """The result without the secrets that the call was given."""
        ...


class ToolBroker(RedactingBroker):
    """Broker of one run; requests that are not for `alita_tools` go to the `inner` one."""

    def __init__(self, tools: LibraryTools, inner: RedactingBroker | None = None) -> None:
        self._tools = tools
        self._inner = inner
        self._asked: Counter[str] = Counter()
        self._called: list[str] = []
        self._running = ""
        """The tool that is being called; after the end of a run the one that was."""
        self._rest = ""
        """What has not gone out yet of the last call's result."""
        self._own: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "tools.describe": self._describe,
            "tools.call": self._call,
            "tools.more": self._more,
        }

    @property
    def egress_policy(self) -> EgressPolicy | None:
        """Egress policy of the inner broker."""
        return self._inner.egress_policy if self._inner is not None else None

    async def answer(self, service: str, words: dict[str, Any]) -> Any:
        """The answer to a request; see `Broker`."""
        if service in self._own:
            return await self._own[service](words)
        if self._inner is None:
            raise PermissionError(lacks(service))
        return await self._inner.answer(service, words)

    def redact_result(self, result: RunResult) -> RunResult:
        """The result as the inner one lets it leave."""
        return self._inner.redact_result(result) if self._inner is not None else result

    def add_calls(self, run: CodeRun) -> CodeRun:
        """The run with the tools that it called; after a timeout also with the one that was still running."""
        added: dict[str, Any] = {"tools": tuple(dict.fromkeys(self._called))}
        if run.status == "timeout" and self._called:
            running = self._running or "none"
            added["error"] = f"{run.error}, including the time of tool calls (still running: {running})"
        return run.model_copy(update=added)

    async def _describe(self, words: dict[str, Any]) -> dict[str, Any]:
        name = parse_request(DescribeRequest, MODULE, words).name
        self._count("names", MAX_NAMES, "names of tools looked up")
        try:
            manifest = self._tools.manifest(name)
        except ToolNotFound as missing:
            raise LookupError(f"{missing} search_capabilities finds tools.") from missing
        required = set(manifest.input_schema.get("required", ()))
        return {
            "stub": signature_of(manifest),
            "summary": manifest.summary,
            "parameters": [[each, each in required] for each in manifest.input_schema.get("properties", {})],
        }

    async def _call(self, words: dict[str, Any]) -> dict[str, Any]:
        """Calls a tool; the first piece of what it gave."""
        request = parse_request(CallToolRequest, MODULE, words)
        self._tools.manifest(request.name)
        self._count("calls", MAX_CALLS, "tool calls")
        self._called.append(request.name)
        self._running = request.name
        outcome = await self._outcome(request.name, request.arguments)
        self._running = ""
        write = partial(json.dumps, outcome, ensure_ascii=False)
        self._rest = await off_loop(write, large=is_large(outcome))
        return self._next_piece()

    async def _more(self, words: dict[str, Any]) -> dict[str, Any]:
        """The next piece of what the last call gave."""
        parse_request(BrokerRequest, MODULE, words)
        return self._next_piece()

    def _next_piece(self) -> dict[str, Any]:
        piece, self._rest = self._rest[:PIECE], self._rest[PIECE:]
        return {"text": piece, "more": bool(self._rest)}

    def _count(self, what: str, most: int, words: str) -> None:
        self._asked[what] += 1
        if self._asked[what] > most:
            raise RuntimeError(f"more than {most} {words} in one run")

    async def _outcome(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What a call gave: its value as `ok`, or the `kinds` of error to raise inside and a `message`."""
        try:
            result = await self._tools.call_tool(name, arguments)
        except InvalidArguments as wrong:
            stub = signature_of(self._tools.manifest(name))
            return _failure(("ValueError",), f"{name}: {wrong.message}\n{stub}")
        except Exception as problem:  # noqa: BLE001 - the edge: whatever fails here fails in the code, in words
            kind, message = in_words(problem)
            return _failure((kind,), f"{name}: {message}")
        # Case 1: it returned a value.
        if result.ok:
            return {"ok": result.value}
        # Case 2: the sandbox ended it.
        if result.status != "error":
            late = ["TimeoutError"] if result.status == "timeout" else []
            return _failure(late, f"{name} failed ({result.status}): {result.message}")
        # Case 3: it raised. Where that is a class of Python's own, the code can catch it by name.
        named = (
            each.removeprefix("builtins.") for each in result.error_kinds if each.startswith("builtins.")
        )
        kinds = tuple(each for each in named if each not in _NOT_RAISED)
        if result.error_type in kinds:
            return _failure(kinds, f"{name}: {result.message}")
        return _failure(kinds, f"{name} failed ({result.error_type}): {result.message}")


def tools_imported_by(code: str) -> tuple[str, ...]:
    """Names of the library tools that code imports."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in imports if node.module == MODULE]
    return tuple(dict.fromkeys(alias.name for node in ours for alias in node.names))[:MAX_NAMES]


def _failure(kinds: Sequence[str], message: str) -> dict[str, Any]:
    return {"kinds": list(kinds), "message": message[:MAX_MESSAGE]}
