"""A tool's code in, what the embedded interpreter needs to know of it out; read with CPython's parser, never executed.

Two things that every tool may use (typed dictionaries, names of `typing` in annotations) are unknown to the
interpreter although they do nothing at run time; `runnable` is the code with these written in a way that it knows.
"""

from __future__ import annotations

import ast
import io
import typing
from functools import lru_cache
from typing import Any, NamedTuple

from alita_mcp.syntax import expression_of, module_of, symbols_of

_TYPING = frozenset({"typing", "typing_extensions"})
_KNOWN_TYPING = frozenset({
    "TYPE_CHECKING", "Annotated", "Any", "Callable", "ClassVar", "Dict", "Final", "FrozenSet", "Generator", "Generic",
    "Iterable", "Iterator", "List", "Literal", "Mapping", "Never", "NoReturn", "Optional", "Protocol", "Self",
    "Sequence", "Set", "Tuple", "Type", "TypeVar", "Union",
})  # fmt: skip
Shape = dict[str, Any] | None
"""Where dataclasses sit in a parameter: `{"class": name}`, `{"items": shape}`, `{"values": shape}`, or nowhere."""


class Broken(NamedTuple):
    """Why CPython itself would not load the code."""

    error_type: str
    message: str
    line: int | None


class Source(NamedTuple):
    """What was read."""

    runnable: str
    """Equal to the code but for the two things above; every line keeps its number."""
    modules: frozenset[str]
    """Names of all modules imported anywhere, with and without their submodules."""
    coroutines: frozenset[str]
    """Names of the coroutine functions at the top level."""
    dataclasses: dict[str, dict[str, Shape]]
    """Fields of each dataclass at the top level."""
    parameters: dict[str, dict[str, Shape]]
    """Parameters that take dataclasses, of each function at the top level."""


@lru_cache(maxsize=64)
def read_source(code: str) -> Source | Broken:
    """Parses the code, which neither compiles nor executes anything of it."""
    try:
        tree = module_of(code)
        symbols_of(code)
        return _read(code, tree)
    except SyntaxError as error:
        return Broken(type(error).__name__, error.msg, error.lineno)
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        return Broken(type(error).__name__, str(error), None)


def _read(code: str, tree: ast.Module) -> Source:
    dataclasses = {
        node.name: node for node in tree.body if isinstance(node, ast.ClassDef) and _is_dataclass(node)
    }
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    names = frozenset(dataclasses)
    return Source(
        runnable=_runnable(code, tree),
        modules=frozenset(_imported(tree)),
        coroutines=frozenset(node.name for node in functions if isinstance(node, ast.AsyncFunctionDef)),
        dataclasses={name: _fields(node, names) for name, node in dataclasses.items()},
        parameters={node.name: _parameters(node, names) for node in functions},
    )


def _imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names | {name.partition(".")[0] for name in names}


def _is_dataclass(node: ast.ClassDef) -> bool:
    decorators = [item.func if isinstance(item, ast.Call) else item for item in node.decorator_list]
    return any(_last_name(decorator) == "dataclass" for decorator in decorators)


def _fields(node: ast.ClassDef, dataclasses: frozenset[str]) -> dict[str, Shape]:
    annotated = [item for item in node.body if isinstance(item, ast.AnnAssign)]
    return {
        item.target.id: _shape(item.annotation, dataclasses)
        for item in annotated
        if isinstance(item.target, ast.Name) and "ClassVar" not in ast.dump(item.annotation)
    }


def _parameters(
    node: ast.FunctionDef | ast.AsyncFunctionDef, dataclasses: frozenset[str]
) -> dict[str, Shape]:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    shapes = {item.arg: _shape(item.annotation, dataclasses) for item in every if item.annotation}
    return {name: shape for name, shape in shapes.items() if shape}


def _shape(annotation: ast.expr, dataclasses: frozenset[str]) -> Shape:
    match annotation:
        case ast.Constant(value=str(text)):
            return _shape(expression_of(text.strip()).body, dataclasses)
        case ast.Name(id=name) if name in dataclasses:
            return {"class": name}
        case ast.BinOp(left=left, right=right):
            return _shape(left, dataclasses) or _shape(right, dataclasses)
        case ast.Subscript(value=generic, slice=inner):
            return _generic(_last_name(generic).lower(), inner, dataclasses)
    return None


def _generic(name: str, inner: ast.expr, dataclasses: frozenset[str]) -> Shape:
    last = inner.elts[-1] if isinstance(inner, ast.Tuple) and inner.elts else inner
    options = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name in {"optional", "union"}:
        return next(filter(None, (_shape(option, dataclasses) for option in options)), None)
    part = _shape(last, dataclasses) if name in {"list", "dict"} else None
    return {"items" if name == "list" else "values": part} if part else None


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _runnable(code: str, tree: ast.Module) -> str:
    lines = list(io.StringIO(code, newline=""))  # the parser's idea of a line, not that of str.splitlines
    typed_dicts = _typed_dicts(tree)
    for node in typed_dicts:
        # calling a TypedDict makes a plain dict, so this is the same at run time
        _replace(lines, node, f"{node.name} = dict")
    used = _used_at_run_time(tree, typed_dicts)
    for item in tree.body:
        if isinstance(item, ast.ImportFrom) and item.module in _TYPING and not item.level:
            kept = [alias for alias in item.names if _is_needed(alias, used)]
            if len(kept) < len(item.names):
                _replace(lines, item, ast.unparse(ast.ImportFrom("typing", kept, 0)) if kept else "pass")
    return "".join(lines)


def _typed_dicts(tree: ast.Module) -> list[ast.ClassDef]:
    found: dict[str, ast.ClassDef] = {}
    for node in tree.body:
        if not isinstance(node, ast.ClassDef) or node.decorator_list or not node.bases:
            continue
        bases = [_last_name(base) for base in node.bases]
        if all(base == "TypedDict" or base in found for base in bases) and _only_declares(node):
            found[node.name] = node
    return list(found.values())


def _only_declares(node: ast.ClassDef) -> bool:
    return all(
        isinstance(item, ast.Pass)
        or (isinstance(item, ast.AnnAssign) and item.value is None)
        or (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        for item in node.body
    )


def _used_at_run_time(tree: ast.Module, typed_dicts: list[ast.ClassDef]) -> set[str]:
    """Names read anywhere but in annotations, which the interpreter never evaluates."""
    roots: list[ast.AST] = [*typed_dicts]
    for node in ast.walk(tree):
        roots += filter(None, (getattr(node, "annotation", None), getattr(node, "returns", None)))
    idle = {id(part) for root in roots for part in ast.walk(root)}
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in idle}


def _is_needed(alias: ast.alias, used: set[str]) -> bool:
    """False for a real name of `typing` that the interpreter lacks and the code only annotates with."""
    known = alias.name in _KNOWN_TYPING or not hasattr(typing, alias.name)
    return known or (alias.asname or alias.name) in used


def _replace(lines: list[str], node: ast.stmt, text: str) -> None:
    """Puts one line in the place of a statement that has its lines for itself; the others become empty."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    alone = node.col_offset == 0 and not lines[last].encode()[node.end_col_offset :].strip().startswith(b";")
    if alone:
        lines[first : last + 1] = [f"{text}\n", *["\n"] * (last - first)]
