"""Program that runs a script or one step of a session and reports its result or its error.

Standard library only. What few scripts need is compiled at its first use, from the texts in `SOURCES`.
"""

from __future__ import annotations

import ast
import binascii
import builtins
import io
import itertools
import json
import linecache
import math
import os
import sys
import types
from typing import Any

FILE = "script.py"
SCRATCH = "/tmp"  # noqa: S108 - the sandbox's own
MAX_JSON = 1 << 20
"""Characters of a result as JSON; a longer one, like a longer `repr`, is a file of the run."""
MAX_REPR = 20_000
MAX_FILE = 16 << 20
SHOWN = 2_000
"""Characters of what is too large that stand in the answer."""
MAX_DEPTH = 60
SOURCES: dict[str, str] = {}
"""The other modules of this folder by name; filled in by `program.py`."""
_ASYNC = types.CodeType.co_flags.__get__  # read past whatever a script does to the inspect module
_COROUTINE = 0x80
_steps = itertools.count(1)
_PICTURES = ("_repr_png_", "_repr_svg_", "savefig")
"""Who has one of these may be a picture."""
os.environ |= {"MPLBACKEND": "module://alita_plots", "MPLCONFIGDIR": f"{SCRATCH}/.matplotlib"}


def run_code(code: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Runs one script in a module of its own."""
    module = main_module()
    report = step(module, code, arguments)
    left = report.get("files", ()) if isinstance(report, dict) else ()  # a script may have replaced `step`
    if sum(len(file["data"]) for file in left) > MAX_JSON:
        vars(module).clear()  # to send large files takes several times their memory
    return report


def serve_session() -> None:
    """Runs the steps of a session in one module, until the host ends it."""
    part("steps").serve_steps(main_module(), step, _describe_error)


def part(name: str) -> types.ModuleType:
    """Loads another module of this folder, once."""
    module = sys.modules.get(f"alita_{name}")
    if module is None:
        module = types.ModuleType(f"alita_{name}")
        _fill(module, name)
        sys.modules[module.__name__] = module
    return module


def _fill(module: types.ModuleType, name: str) -> None:
    exec(compile(SOURCES[name], f"<alita_{name}>", "exec", dont_inherit=True), vars(module))


class _Plots(types.ModuleType):
    """The module `plots`, compiled when matplotlib asks something of it."""

    def __getattr__(self, name: str) -> Any:
        if name != "FigureCanvas":
            raise AttributeError(name)
        _fill(self, "plots")
        return vars(self)[name]


def main_module() -> types.ModuleType:
    """Makes an empty `__main__`, in which code runs."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.modules["alita_plots"] = _Plots("alita_plots")
    builtins.input = _input
    vars(builtins)["display"] = lambda *values: part("figures").display(*values)
    return module


def step(module: types.ModuleType, code: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Runs code in a module: `kind` and `value` of its result, or `error`; `figures`, `files` and `notes`."""
    names = vars(module)
    file = _name_script(names, code)
    names.update({name: value for name, value in arguments.items() if name != "input"})
    sys.stdin = io.StringIO(_lines(arguments.get("input", "")))
    before = names.get("result")
    if "alita_tools" in code and "alita_tools" not in sys.modules:
        part("tools").install_modules()
    try:
        value = _evaluate(code, file, names)
    except MemoryError:
        raise
    except BaseException as problem:
        if not isinstance(problem, SystemExit) or problem.code not in (None, 0):
            return _with_outputs({"error": _describe_error(problem)}, None)
        value = None
    if value is None and (names.get("result") is not before or _sets_result(code)):
        value = names.get("result")
    return _with_outputs(outcome_of(value), value)


def _name_script(names: dict[str, Any], code: str) -> str:
    """Names the script, each step of a session anew, so that its lines are found in tracebacks and by `inspect`."""
    number = next(_steps)
    file = FILE if number == 1 else FILE.replace(".", f"-{number}.")
    path = f"{SCRATCH}/{file}"
    sys.argv[:] = [FILE]
    for name in (file, path):
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    # Only for code that looks: who starts processes runs this file in them, where there is one.
    if "__file__" in code or "inspect" in code:
        names["__file__"] = path
        with open(path, "w", encoding="utf-8", errors="replace") as written:
            written.write(code)
        part("files").ignore_file(file)
    return file


def _describe_error(problem: BaseException) -> Any:
    return part("errors").describe_error(problem, FILE.partition(".")[0])


def _with_outputs(report: dict[str, Any], value: Any) -> dict[str, Any]:
    """The report with what the code showed and wrote; the parts for that are compiled only where there is any."""
    try:
        if _may_show(value):
            _add_outputs(report, part("figures").take_figures(value))
        if os.listdir(SCRATCH):
            _add_outputs(report, part("files").collect_files())
    except Exception as problem:
        report["notes"] = [
            *report.get("notes", ()),
            f"Figures or files are left out: {type(problem).__name__}.",
        ]
    return report


def _add_outputs(report: dict[str, Any], found: dict[str, Any]) -> None:
    both = {each: [*report.get(each, ()), *found.get(each, ())] for each in ("files", "notes")}
    report |= found | both


def _may_show(value: Any) -> bool:
    if "matplotlib.pyplot" in sys.modules or "alita_figures" in sys.modules:
        return True
    if isinstance(value, str):
        return value[:200].lstrip().startswith(("<svg", "<?xml", "<!DOCTYPE svg"))
    if isinstance(value, bytes):
        return value.startswith(b"\x89PNG")
    return any(hasattr(type(value), name) for name in _PICTURES)


def _evaluate(code: str, file: str, names: dict[str, Any]) -> Any:
    """The value of the last expression; None where the code ends with another statement."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if "await" in code or "async" in code else 0
    tree = compile(code, file, "exec", ast.PyCF_ONLY_AST | flags, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    body = compile(tree, file, "exec", flags, dont_inherit=True)
    value = None
    if isinstance(last, ast.Expr):
        value = compile(ast.Expression(last.value), file, "eval", flags, dont_inherit=True)
    waits = any(each and _ASYNC(each) & _COROUTINE for each in (body, value))
    if waits:
        import asyncio

        return asyncio.run(_evaluate_async(body, value, names))
    exec(body, names)
    return eval(value, names) if value is not None else None


async def _evaluate_async(body: types.CodeType, value: types.CodeType | None, names: dict[str, Any]) -> Any:
    """The same for code that awaits at its top level."""
    begun: Any = eval(body, names)
    if _ASYNC(body) & _COROUTINE:
        await begun
    result: Any = eval(value, names) if value is not None else None
    return await result if value is not None and _ASYNC(value) & _COROUTINE else result


def _sets_result(code: str) -> bool:
    """Whether it gives `result` a value at its top level, perhaps the one that an earlier step gave it."""
    if "result" not in code:
        return False
    import symtable

    table = symtable.symtable(code, FILE, "exec")
    return "result" in table.get_identifiers() and table.lookup("result").is_assigned()


def outcome_of(value: Any) -> dict[str, Any]:
    """Turns a result into JSON, else into its `repr`; what is too large for the answer is one of `files`."""
    if value is None:
        return {"kind": "none", "value": None}
    try:
        plain = _plain(value, MAX_DEPTH)
        text = json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        pass
    else:
        if len(text) <= MAX_JSON:
            return {"kind": "json", "value": plain}
        return _as_file("result.txt", plain) if type(plain) is str else _as_file("result.json", text)
    if isinstance(value, bytes | bytearray) and len(value) > MAX_REPR:
        is_picture = _may_show(value)  # which stands for it in the answer
        return {"kind": "none", "value": None} if is_picture else _as_file("result.bin", value)
    try:
        text = repr(value)
    except Exception as problem:
        text = f"<{type(value).__name__}, whose repr raises {type(problem).__name__}>"
    text = text.encode("utf-8", "replace").decode()
    return {"kind": "repr", "value": text} if len(text) <= MAX_REPR else _as_file("result.txt", text)


def _as_file(name: str, whole: Any) -> dict[str, Any]:
    """The report of a result that is too large: how it begins, and the whole as a file where that is not too large."""
    shown = whole[:SHOWN] if isinstance(whole, str) else repr(bytes(whole[: SHOWN // 4]))
    data = whole.encode() if isinstance(whole, str) else bytes(whole)
    report: dict[str, Any] = {"kind": "cut", "value": f"{shown}…"}
    if len(data) > MAX_FILE:
        note = f"The result is too large to be kept: {len(data):,} bytes of at most {MAX_FILE:,}."
        return report | {"notes": [note]}
    while os.path.exists(f"{SCRATCH}/{name}"):
        name = f"_{name}"
    note = f"The result is too large for the answer: it is the file {name} ({len(data):,} bytes)."
    encoded = binascii.b2a_base64(data, newline=False).decode()
    return report | {"files": [{"name": name, "data": encoded}], "notes": [note]}


def _plain(value: Any, depth: int) -> Any:
    """The value in exact types of JSON.

    Raises:
        TypeError, ValueError: it has none.
    """
    kind = type(value)
    if value is None or kind in (bool, int) or (kind is float and math.isfinite(value)):
        return value
    if kind is str:
        value.encode()
        return value
    if depth == 0:
        raise ValueError("nested too deeply")
    if kind in (list, tuple):
        return [_plain(each, depth - 1) for each in value]
    if kind is dict and all(type(name) is str for name in value):
        return {_plain(name, depth): _plain(each, depth - 1) for name, each in value.items()}
    if hasattr(kind, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name), depth - 1) for name in kind.__dataclass_fields__}
    if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tolist"):
        return _plain(value.tolist(), depth - 1)
    raise TypeError(kind.__name__)


def _lines(given: Any) -> str:
    lines = given if isinstance(given, list) else [given]
    text = "\n".join(map(str, lines))
    return f"{text}\n" if text else ""


def _input(_prompt: object = "", /) -> str:
    """`input` without a terminal: its prompt is nobody's to read, and no part of what the script prints."""
    line = sys.stdin.readline()
    if not line:
        raise EOFError("the script reads more lines than `input` of its arguments holds")
    return line.removesuffix("\n")
