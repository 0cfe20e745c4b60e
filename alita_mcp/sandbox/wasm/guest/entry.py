"""Entry point of the component: imports a tool and calls its function once; one instance lives for one call.

All at module level runs once, when the component is built: the memory after it is what each instance starts with.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import json
import linecache
import os
import random
import sys
import types
from collections.abc import Callable
from importlib.machinery import PathFinder
from typing import Any

import wit_world

from alita_mcp.sandbox.runner.tool import failures, grants, shapes
from alita_mcp.sandbox.wasm.guest import (
    archive,
    library,
    packages,
    set_code,
    set_order,
    waiting,
    web,
)
from alita_mcp.sandbox.wasm.guest.scratch import installation
from alita_mcp.sandbox.wire.strict_json import NotJson, encode_strict

_MAX_QUESTION = 1 << 20


class Tool:
    """Tool of one instance; made before the import, so that it keeps the modules a tool may replace."""

    def __init__(self) -> None:
        self._function: Any = None
        self._limits: dict[str, int] = {}
        self._running = False
        self._before_call: list[Callable[[], None]] = []

    def load(self, order: dict[str, Any]) -> dict[str, Any]:
        """Imports the code; an empty dict, or how it failed."""
        options = order["options"]
        self._limits = options["limits"]
        for name in _OURS:
            sys.modules.pop(name, None)
        random.seed()
        sys.argv[:] = ["tool"]  # an instance starts without
        _FILES.set_limits(options["limits"])
        sys.modules["alita_tool"] = grants.module(options["grants"], self.ask)
        web.Grant.ask = self.ask_network if options["grants"]["network"] else None
        if options["packages"]:
            packages.install(options["packages"], wit_world.packaged, _FILES.tree.root)
            gc.disable()  # until all is imported: large packages leave no garbage, and looking for it takes a quarter
        if options["clock_offset_s"]:
            waiting.shift(options["clock_offset_s"])
        if options["random_seed"] is not None:
            self._before_call.append(random.seed)  # the host draws anew for the call
        return self._import_code(order["code"], options["function"], options["hash_seed"])

    def call(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """How the call ended, and its result as JSON."""
        limits = self._limits
        self._running = True
        try:
            for begin in self._before_call:
                begin()
            value = self._function(**shapes.to_parameters(self._function, arguments))
            if isinstance(value, types.CoroutineType):
                value = asyncio.run(value)
            grants.finish()
            data = encode_strict(shapes.to_json(value), limits["result_bytes"], limits["json_depth"])
        except NotJson as problem:
            return {"status": "bad_result", "message": str(problem)}, b""
        except MemoryError as problem:
            return failures.head("memory", problem), b""
        except BaseException as problem:
            return failures.head("error", problem, limits), b""
        finally:
            _flush()
        return {"status": "ok"}, data

    def ask(self, service: str, words: dict[str, Any]) -> Any:
        """The host's answer to a request of `alita_tool`."""
        if not self._running:
            raise RuntimeError("alita_tool works only during a call, not while the module is imported")
        question = json.dumps({"door": service, "words": words}, allow_nan=False)
        if len(question) > _MAX_QUESTION:
            raise ValueError(f"a question of {len(question)} bytes is longer than {_MAX_QUESTION}")
        answer = json.loads(wit_world.ask(question))
        if "error" in answer:
            name, message = answer["error"]
            raise grants.ERRORS.get(name, RuntimeError)(message)
        return answer["ok"]

    def ask_network(self, question: dict[str, Any]) -> Any:
        """What the host answers about an HTTP request."""
        if not self._running:
            message = "the network answers only while a call runs, not while the module is imported"
            return {"error": ["ConnectionError", message]}
        return json.loads(wit_world.network(json.dumps(question)))

    def _import_code(self, code: str, name: str, hash_seed: int | None) -> dict[str, Any]:
        module = types.ModuleType("tool")
        module.__file__ = failures.FILE
        sys.modules["tool"] = module
        lines = code.splitlines(keepends=True)
        linecache.cache[failures.FILE] = (len(code), None, lines, failures.FILE)
        try:
            # The code is one of three:
            # 1. the program of `run_code` and a script: the program was compiled with the component;
            # 2. a tool in a rehearsal: its sets get an order that depends on the seed;
            # 3. a tool in a call: compiled as it is.
            source: str | ast.Module = code
            if hash_seed is None and code.startswith(_PROGRAM[0]):
                exec(_PROGRAM[1], module.__dict__)
                source = code[len(_PROGRAM[0]) :]
            if hash_seed is not None:
                module.__dict__["__builtins__"] = set_order.seed_sets(hash_seed)
                source = set_code.rewrite_sets(code, failures.FILE)
            exec(compile(source, failures.FILE, "exec", dont_inherit=True), module.__dict__)
        except MemoryError as problem:
            return failures.head("memory", problem)
        except BaseException as problem:
            return failures.head("load_failed", packages.native_cause(problem))
        finally:
            gc.enable()
            _flush()
        self._function = module.__dict__.get(name)
        if not callable(self._function):
            message = f"the module defines no function {name!r}"
            return {"status": "load_failed", "error_type": "AttributeError", "message": message}
        return {}


class WitWorld(wit_world.WitWorld):
    """The exports of the component; see `alita.wit`."""

    def load(self, order: str) -> str:
        """Imports the code of an order."""
        head = _TOOL.load(json.loads(order))
        return json.dumps(head) if head else ""

    def call(self, arguments: str) -> str:
        """Calls the function that was loaded."""
        head, result = _TOOL.call(json.loads(arguments))
        return f"{json.dumps(head)}\n{result.decode()}"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass


_PLACE = os.path.join(os.path.dirname(failures.__file__), "..", "..", "..", "program.txt")
with open(_PLACE, encoding="utf-8") as _file:
    _TEXT = _file.read()
_PROGRAM = _TEXT, compile(_TEXT, failures.FILE, "exec", dont_inherit=True)
"""The program that runs code once, which is imported for each run: its text, and what it compiles to."""
# what every instance starts with: the library at hand, nothing of the machine that built it
# the folder is there while the component is built, and never again
_STANDARD_LIBRARY = archive.Archive("/python")
web.install()
library.install()
waiting.install()
sys.meta_path.insert(sys.meta_path.index(PathFinder), _STANDARD_LIBRARY)  # before any package
sys.path[:] = []
sys.path_importer_cache.clear()
os.environ.clear()
_FILES = installation.install()
gc.collect()
gc.freeze()
_TOOL = Tool()
_OURS = {
    name: module
    for name, module in sys.modules.items()
    if name.partition(".")[0] in {"alita_guest", "alita_mcp", "tzdata", "wit_world"}
}
"""What no tool imports; held here, since to free it would cost each instance time."""
