"""Finder of a tool's one public function, checks of its shape, and its signature as text."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections.abc import Iterator, Sequence

from alita_mcp.values import META_TOOLS, TOOL_NAME
from alita_mcp.verification.code.names import Names
from alita_mcp.verification.code.schema import is_error_class
from alita_mcp.verification.code.source import excerpt
from alita_mcp.verification.findings import ContractError, refusal

Function = ast.FunctionDef | ast.AsyncFunctionDef

_WITH_A_MODEL = ("solve_task", "research_web")
"""Tools that the server lists when a model is configured; their names are never free."""

_KEPT_DECORATORS = {"functools.cache", "functools.lru_cache"}


MAX_NAME = 40


def check_name(name: str) -> None:
    """Refuses a name that is not allowed for tools, with the nearest one that is."""
    if not re.fullmatch(TOOL_NAME.removeprefix("^").removesuffix("$"), name):
        problem = "is not a tool name"
    elif name in (*META_TOOLS, *_WITH_A_MODEL):
        problem = "is one of the server's own tools"
    elif keyword.iskeyword(name):
        problem = "is a Python keyword"
    else:
        return
    near = nearest_name(name)
    rule = "A name has 3 to 40 lower-case letters, digits and underscores, and begins with a letter."
    fix = f"Use {near!r}. {rule}" if near else rule
    raise refusal(f"{name[:60]!r} {problem}", fix, stage="schema")


def nearest_name(text: str) -> str:
    """The name of a tool that is nearest to a text; empty where that has no letter or digit of ASCII."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text[:200])  # of camelCase
    plain = unicodedata.normalize("NFKD", words.casefold()).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    taken = name in (*META_TOOLS, *_WITH_A_MODEL) or keyword.iskeyword(name)
    if name and (len(name) < 3 or taken or not name[0].isalpha()):
        name = f"my_{name}"
    return name[:MAX_NAME].rstrip("_")


def find_function(tree: ast.Module, name: str) -> Function:
    """The module's public function.

    Raises:
        ContractError: it is missing, defined twice, bound again, or not the only public one.
    """
    public = public_functions(tree)
    named = [function for function in public if function.name == name]
    others = [function for function in public if function.name != name]
    if not named:
        if len(others) > 1:
            found = " and ".join(f"{function.name}()" for function in others)
            message = f"there is no function {name}(), but {found}"
            fix = f"Rename the tool's function to {name}(), and give helpers a leading underscore: _name()."
            raise refusal(message, fix, line=others[0].lineno)
        if others:
            fix = f"Rename {others[0].name}() to {name}(), the tool's name."
            raise refusal(f"there is no function {name}()", fix, line=others[0].lineno)
        fix = f"Define `def {name}(...)` at the top level of the module, not inside if, try or a class."
        raise refusal(f"there is no function {name}() at the top level", fix)
    if len(named) > 1:
        raise refusal(f"{name}() is defined twice", "Keep one definition.", line=named[1].lineno)
    if others:
        raise several_public(public, name)
    _check_bound_once(tree, name)
    return named[0]


def public_functions(tree: ast.Module) -> list[Function]:
    """Functions at the top level whose names do not begin with an underscore."""
    defined = [statement for statement in tree.body if isinstance(statement, Function)]
    return [function for function in defined if not function.name.startswith("_")]


def several_public(public: Sequence[Function], name: str = "") -> ContractError:
    """The error for more than one public function; those that are not the tool, called `name`, are its helpers.

    Without a name the tool is the one that no other of them calls, where only one is so.
    """
    uses = ((function.name, node) for function in public for node in ast.walk(function))
    called = {node.id for user, node in uses if isinstance(node, ast.Name) and node.id != user}
    tops = [function.name for function in public if function.name not in called]
    tool = name or (tops[0] if len(tops) == 1 else "")
    helpers = [function for function in public if function.name != tool]
    named = " and ".join(f"{function.name}()" for function in public)
    if tool:
        renamed = ", ".join(f"{function.name}() to _{function.name}()" for function in helpers)
        fix = f"Rename the helper{'s' * (len(helpers) > 1)} {renamed} where defined and where called."
    else:
        fix = "Make two tools of them, or give helpers a leading underscore: _name()."
    message = f"{named} are public, but a tool has one public function"
    return refusal(message, fix, line=helpers[0].lineno)


def check_shape(function: Function, names: Names) -> None:
    """Refuses parameters that cannot be passed by name, generators, and decorators that may change the call."""
    # a client sends an object of named arguments and gets one value
    arguments = function.args
    line = function.lineno
    if arguments.vararg or arguments.kwarg:
        star = f"*{arguments.vararg.arg}" if arguments.vararg else f"**{arguments.kwarg.arg}"  # type: ignore[union-attr]
        raise refusal(f"{star} has no schema", "Name each parameter; use list[T] for many values.", line=line)
    if arguments.posonlyargs:
        raise refusal("positional-only parameters cannot be sent by name", "Remove the `/`.", line=line)
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _outside_functions(function.body)):
        raise refusal(f"{function.name}() is a generator", "Return a list instead of using yield.", line=line)
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if names.full_name(called) not in _KEPT_DECORATORS:
            message = f"the decorator @{excerpt(decorator)} may change what callers see"
            fix = f"Remove it and do its work inside {function.name}()."
            raise refusal(message, fix, line=decorator.lineno)


def check_classes(names: Names, used: set[str]) -> None:
    """Refuses public classes other than errors and the types of the signature."""
    for name, definition in names.classes.items():
        if name.startswith("_") or name in used or is_error_class(definition, names):
            continue
        message = f"class {name} is public but neither an error nor a type of the signature"
        raise refusal(message, f"Rename it to _{name}.", line=definition.lineno)


def _check_bound_once(tree: ast.Module, name: str) -> None:
    """The signature that was read must be the one that is called."""
    anywhere = (node for node in ast.walk(tree) if isinstance(node, ast.Global))
    for node in (*anywhere, *_outside_functions(tree.body)):
        bound: list[str] = []
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound = [node.id]
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound = [alias.asname or alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ClassDef):
            bound = [node.name]
        elif isinstance(node, ast.Global):
            bound = node.names
        line = getattr(node, "lineno", None)
        if "*" in bound:
            raise refusal("a star import may bind any name", "Import the names that are used.", line=line)
        if name in bound:
            message = f"the name {name} is bound again"
            raise refusal(message, "Bind the tool's name by its def only.", line=line)


def _outside_functions(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes but those inside functions, lambdas and classes."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)
