"""Entry point of the component: imports a tool and calls its function once; one instance lives for one call.

All at module level runs once, when the component is built: the memory after it is what each instance starts with.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import random
import sys
import types
from importlib.machinery import PathFinder
from typing import Any

import wit_world

from alita_mcp.sandbox.runner.tool import calling, failures, grants
from alita_mcp.sandbox.wasm.guest import (
    library,
    packages,
    set_order,
    waiting,
    web,
)
from alita_mcp.sandbox.wasm.guest.scratch import installation


class Tool:
    """Tool of one instance; made before the import, so that it keeps the modules a tool may replace."""

    def __init__(self) -> None:
        self._function: Any = None
        self._caller = calling.Caller({}, wit_world.ask)

    def load(self, order: dict[str, Any]) -> calling.Report:
        """Imports the code; an empty dict, or how it failed."""
        options, code = order["options"], order["code"]
        self._caller.limits = options["limits"]
        for name in _OURS:
            sys.modules.pop(name, None)
        random.seed()
        sys.argv[:] = ["tool"]  # an instance starts without
        _FILES.set_limits(options["limits"])
        sys.modules["alita_tool"] = grants.module(options["grants"], self._caller.ask)
        web.Grant.ask = self._ask_network if options["grants"]["network"] else None
        if options["packages"]:
            packages.install(options["packages"], wit_world.packaged, _FILES.tree.root)
            gc.disable()  # until all is imported: large packages leave no garbage, and looking for it takes a quarter
        if options["random_seed"] is not None:
            self._caller.before_call.append(random.seed)  # the host draws anew for the call

        def compiled(module: types.ModuleType) -> types.CodeType:
            # The code is one of three:
            # 1. the program of `run_code` and a script: the program was compiled with the component;
            # 2. a tool in a rehearsal: its sets get an order that depends on the seed;
            # 3. a tool in a call: compiled as it is.
            source: str | ast.Module = code
            seed = options["hash_seed"]
            if seed is None and code.startswith(_PROGRAM[0]):
                exec(_PROGRAM[1], module.__dict__)
                source = code[len(_PROGRAM[0]) :]
            if seed is not None:
                module.__dict__["__builtins__"] = set_order.seed_sets(seed)
                source = set_order.rewrite_sets(code, failures.FILE)
            code_object: types.CodeType = compile(source, failures.FILE, "exec", dont_inherit=True)
            return code_object

        function = options["function"]
        self._function, failed = calling.import_tool(code, function, compiled, packages.native_cause)
        gc.enable()
        self._caller.flush()
        return failed

    def call(self, arguments: str) -> tuple[str, bytes]:
        """How the call ended, and its result, as JSON."""
        return self._caller.call(self._function, arguments)

    def _ask_network(self, question: dict[str, Any]) -> Any:
        """What the host answers about an HTTP request."""
        if not self._caller.is_calling:
            message = "the network answers only while a call runs, not while the module is imported"
            return {"error": ["ConnectionError", message]}
        return json.loads(wit_world.network(json.dumps(question)))


class WitWorld(wit_world.WitWorld):
    """The exports of the component; see `alita.wit`."""

    def load(self, order: str) -> str:
        """Imports the code of an order."""
        head = _TOOL.load(json.loads(order))
        return json.dumps(head or {"status": "ok"})

    def call(self, arguments: str) -> str:
        """Calls the function that was loaded."""
        report, result = _TOOL.call(arguments)
        return f"{report}\n{result.decode()}"


_PLACE = os.path.join(os.path.dirname(failures.__file__), "..", "..", "..", "program.txt")
with open(_PLACE, encoding="utf-8") as _file:
    _TEXT = _file.read()
_PROGRAM = _TEXT, compile(_TEXT, failures.FILE, "exec", dont_inherit=True)
"""The program that runs code once, which is imported for each run: its text, and what it compiles to."""
# what every instance starts with: the library at hand, nothing of the machine that built it
# the folder is there while the component is built, and never again
_STANDARD_LIBRARY = library.Archive("/python")
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
