"""The import of a tool's code and the call of its function, the same in every sandbox. Standard library only."""

from __future__ import annotations

import json
import linecache
import sys
from collections.abc import Callable
from types import CodeType, CoroutineType, ModuleType
from typing import Any

from alita_mcp.sandbox.runner.tool import failures, grants, shapes
from alita_mcp.sandbox.wire.strict_json import NotJson, encode_strict

MAX_QUESTION = 1 << 20
Report = dict[str, Any]


class Caller:
    """Caller of a function; made before the tool is imported, so that it keeps what a tool may replace."""

    def __init__(self, limits: dict[str, int], exchange: Callable[[str], str]) -> None:
        """`exchange` gives the host's answer to a question, both as JSON."""
        self.before_call: list[Callable[[], object]] = []
        """What makes the world of a rehearsed call the same each time."""
        self.is_calling = False
        self._exchange, self.limits = exchange, limits
        self._dumps, self._read_json = json.dumps, json.JSONDecoder().raw_decode
        self._encode, self._not_json, self._head = encode_strict, NotJson, failures.head
        self._to_parameters, self._to_json, self._finish = shapes.to_parameters, shapes.to_json, grants.finish
        self._streams = (sys.stdout, sys.stderr)

    def call(self, function: Any, arguments: str) -> tuple[str, bytes]:
        """How the call ended, as JSON, and its result, as JSON."""
        limits, head, bad, exhausted = self.limits, self._head, self._not_json, MemoryError
        report, data = {"status": "ok"}, b""
        self.is_calling = True
        try:
            for begin in self.before_call:
                begin()
            value = function(**self._to_parameters(function, self._read_json(arguments)[0]))
            if isinstance(value, CoroutineType):
                import asyncio

                value = asyncio.run(value)
            self._finish()
            data = self._encode(self._to_json(value), limits["result_bytes"], limits["json_depth"])
        except bad as problem:
            report = {"status": "bad_result", "message": str(problem)}
        except exhausted as problem:
            report = head("memory", problem)
        except BaseException as problem:
            report = head("error", problem, limits)
        self.flush()
        return self._dumps(report), data

    def ask(self, service: str, words: dict[str, Any]) -> Any:
        """The host's answer to a request of `alita_tool`."""
        if not self.is_calling:
            raise RuntimeError("alita_tool works only during a call, not while the module is imported")
        question = self._dumps({"door": service, "words": words}, allow_nan=False)
        if len(question) > MAX_QUESTION:
            raise ValueError(f"a question of {len(question)} bytes is longer than {MAX_QUESTION}")
        answer = self._read_json(self._exchange(question))[0]
        if "error" in answer:
            name, message = answer["error"]
            raise grants.ERRORS.get(name, RuntimeError)(message)
        return answer["ok"]

    def flush(self) -> None:
        """Writes out what the tool printed, as far as it left the streams whole."""
        for stream in self._streams:
            try:
                stream.flush()
            except BaseException:
                pass


def import_tool(
    code: str,
    name: str,
    compiled: Callable[[ModuleType], CodeType],
    cause: Callable[[BaseException], BaseException] = lambda problem: problem,
) -> tuple[Any, Report]:
    """Imports code as the module `tool`: the function of that name, and an empty report; or how that failed.

    `compiled` compiles the code for the module, `cause` finds what is behind an error.
    """
    module = sys.modules["tool"] = ModuleType("tool")
    module.__file__ = failures.FILE
    lines = code.splitlines(keepends=True)
    linecache.cache[failures.FILE] = (len(code), None, lines, failures.FILE)
    head = failures.head
    try:
        exec(compiled(module), module.__dict__)
    except MemoryError as problem:
        return None, head("memory", problem)
    except BaseException as problem:
        return None, head("load_failed", cause(problem))
    function = module.__dict__.get(name)
    if callable(function):
        return function, {}
    message = f"the module defines no function {name!r}"
    return None, {"status": "load_failed", "error_type": "AttributeError", "message": message}
