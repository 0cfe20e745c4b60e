"""The child: loads the code as a module named `tool`, calls the function once and reports on its channel."""

from __future__ import annotations

import json
import linecache
import os
import socket
import struct
import sys
from types import CoroutineType, ModuleType
from typing import Any

from alita_mcp.sandbox.runner import clock, grants, shapes
from alita_mcp.sandbox.strict_json import NotJson, encode_strict

CHANNEL = 3
FILE = "tool.py"
MAX_TRACE = 10


class Channel:
    """Messages to the supervisor; keeps what it needs, so that a tool that replaces modules breaks only itself."""

    def __init__(self) -> None:
        self._socket = socket.socket(fileno=CHANNEL)
        self._socket.set_inheritable(False)
        self._pack = struct.pack
        self._dumps = json.dumps
        self._exit = os._exit
        self._streams = (sys.stdout, sys.stderr)

    def say_loaded(self) -> None:
        """The module was imported."""
        self._socket.sendall(self._pack(">cI", b"L", 0))

    def end(self, head: dict[str, Any], result: bytes = b"") -> None:
        """The outcome; nothing runs after it: no exit handlers, no threads, no destructors."""
        for stream in self._streams:
            try:
                stream.flush()
            except BaseException:
                pass
        text = self._dumps(head).encode()
        payload = self._pack(">I", len(text)) + text + result
        self._socket.sendall(self._pack(">cI", b"R", len(payload)) + payload)
        self._exit(0)


def main(source: int, options: dict[str, Any]) -> None:
    """Entry of the child's bundle; the payload follows on the same file descriptor."""
    try:
        with open(source, "rb") as file:
            job = json.load(file)
        channel = Channel()
        _prepare(options)
        function = _load(channel, job["code"], job["function"])
        channel.say_loaded()
        _call(channel, function, job["arguments"], options["result_bytes"])
    finally:
        os._exit(96)


def _prepare(options: dict[str, Any]) -> None:
    sys.argv[:] = ["tool"]
    for name in [name for name in sys.modules if name.partition(".")[0] == "alita_mcp"]:
        del sys.modules[name]
    if options["packages"]:
        sys.path.append(options["packages"])  # after the standard library, and never read by `site`
    sys.modules["alita_tool"] = grants.module()
    if options["clock_offset_s"]:
        clock.shift(options["clock_offset_s"])


def _load(channel: Channel, code: str, name: str) -> Any:
    module = ModuleType("tool")
    module.__file__ = FILE
    sys.modules["tool"] = module
    linecache.cache[FILE] = (len(code), None, code.splitlines(keepends=True), FILE)
    try:
        exec(compile(code, FILE, "exec", dont_inherit=True), module.__dict__)
    except BaseException as problem:
        channel.end(_failure("load_failed", problem))
    function = module.__dict__.get(name)
    if not callable(function):
        message = f"the module defines no function {name!r}"
        channel.end({"status": "load_failed", "error_type": "AttributeError", "message": message})
    return function


def _call(channel: Channel, function: Any, arguments: dict[str, Any], limit: int) -> None:
    encode, failure, bad, exhausted = encode_strict, _failure, NotJson, MemoryError
    try:
        value = function(**shapes.to_parameters(function, arguments))
        if isinstance(value, CoroutineType):
            import asyncio

            value = asyncio.run(value)
        data = encode(shapes.to_json(value), limit)
    except bad as problem:
        channel.end({"status": "bad_result", "message": str(problem)})
    except exhausted as problem:
        channel.end(failure("memory", problem))
    except BaseException as problem:
        channel.end(failure("error", problem))
    else:
        channel.end({"status": "ok"}, data)


def _failure(status: str, problem: BaseException) -> dict[str, Any]:
    return {
        "status": status,
        "error_type": type(problem).__name__[:200],
        "message": _text_of(problem),
        "trace": _trace_of(problem),
    }


def _text_of(problem: BaseException) -> str:
    try:
        return str(problem)[:2000].encode("utf-8", "backslashreplace").decode()
    except BaseException:
        return "<the exception's text could not be read>"


def _trace_of(problem: BaseException) -> list[str]:
    """The tool's own frames, one line each: the outermost three and the innermost ones."""
    lines = []
    step = problem.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename == FILE:
            text = linecache.getline(FILE, step.tb_lineno).strip()
            lines.append(f"{FILE}:{step.tb_lineno} in {code.co_name}: {text}"[:300])
        step = step.tb_next
    if isinstance(problem, SyntaxError) and problem.filename == FILE:
        lines.append(f"{FILE}:{problem.lineno}: {(problem.text or '').strip()}"[:300])
    if len(lines) > MAX_TRACE:
        lines[3 : len(lines) - MAX_TRACE + 4] = [f"… {len(lines) - MAX_TRACE + 1} more"]
    return [line.encode("utf-8", "backslashreplace").decode() for line in lines]
