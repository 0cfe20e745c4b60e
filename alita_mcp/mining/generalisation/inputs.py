"""Replaces what programs read with `input()` by parameters that give the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from alita_mcp.mining.generalisation.refusal import NoFunctionError
from alita_mcp.mining.generalisation.scopes import global_names, globals_declared, resolve, walk
from alita_mcp.mining.generalisation.script import BUILTINS, Script, own_names

_ONCE = (
    ast.Assign | ast.Expr | ast.Call | ast.keyword | ast.Attribute | ast.Subscript | ast.BinOp | ast.UnaryOp
    | ast.List | ast.Tuple | ast.Starred | ast.JoinedStr | ast.FormattedValue
)  # fmt: skip
"""Nodes that evaluate their parts once each, in the order in which they are written."""
_READER = """
{left} = iter({lines})
def {read}(prompt=""):
    for line in {left}:
        return line
    raise EOFError("EOF when reading a line")
"""


@dataclass
class Reading:
    """Parameters with a value for each run; expressions by the id of the node that they replace; code to begin with."""

    columns: dict[str, list[object]] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    gone: list[ast.Assign] = field(default_factory=list)
    prelude: str = ""


def reading_of(scripts: Sequence[Script]) -> Reading:
    """Parameters for the lines that programs read: one each where it reads each once, else a list.

    Raises:
        NoFunctionError: what they read is not known, or prompts are part of what they print.
    """
    base = scripts[0]
    names = [
        node
        for node, stack in walk(base.tree.body, (base.scope,))
        if isinstance(node, ast.Name) and node.id == "input" and resolve(stack, "input") is None
    ]
    if not names:
        return Reading()
    if any("input" not in script.run.arguments for script in scripts):
        raise NoFunctionError("what input() gave is not known")
    _check_prompts(base, scripts)
    calls = [(statement, call) for statement in base.rest for call in _calls(statement)]
    plain = all(isinstance(each, ast.Constant) for _, call in calls for each in call.args)
    if len(calls) < len(names) or not plain:
        return _list(names, scripts)
    return _one_by_one(calls, scripts)


def _check_prompts(base: Script, scripts: Sequence[Script]) -> None:
    prompts = [
        argument.value
        for node in ast.walk(base.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "input"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    if any(prompt.strip() and prompt in script.run.stdout for prompt in prompts for script in scripts):
        raise NoFunctionError("the prompts of input() stand in what it printed")


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """Calls of `input` that happen exactly once whenever the node is evaluated."""
    match node:
        case ast.Call(func=ast.Name(id="input"), keywords=[]):
            yield node
        case ast.Assign(value=value):
            yield from _calls(value)
        case _ if isinstance(node, _ONCE):
            for child in ast.iter_child_nodes(node):
                yield from _calls(child)


def _one_by_one(calls: Sequence[tuple[ast.stmt, ast.Call]], scripts: Sequence[Script]) -> Reading:
    if any(len(script.lines) < len(calls) for script in scripts):
        raise NoFunctionError("a run read more lines than it was given")
    base, reading = scripts[0], Reading()
    for place, (statement, call) in enumerate(calls):
        name = _variable(statement, base) if [each for each, _ in calls].count(statement) == 1 else ""
        if not name or name in reading.columns:
            name = _free(f"line_{place + 1}", base)
        reading.columns[name] = [script.lines[place] for script in scripts]
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name and value is call:
                reading.gone.append(statement)
            case _:
                reading.texts[id(call)] = name
    return reading


def _variable(statement: ast.stmt, base: Script) -> str:
    """The variable that a statement gives its first value, where a parameter may have its name."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            earlier = base.rest[: base.rest.index(statement)]
            known = (
                global_names([*earlier, statement.value], base.scope) | globals_declared(base.tree) | BUILTINS
            )
            return name if name.isascii() and name not in known and name not in base.run.arguments else ""
    return ""


def _list(names: Sequence[ast.Name], scripts: Sequence[Script]) -> Reading:
    base = scripts[0]
    lines, left, read = (_free(name, base) for name in ("lines", "_lines_left", "_next_line"))
    return Reading(
        {lines: [script.lines for script in scripts]},
        {id(name): read for name in names},
        prelude=_READER.format(left=left, lines=lines, read=read),
    )


def _free(name: str, base: Script) -> str:
    """The name, with underscores behind it where the program has it already."""
    while name in own_names(base):
        name += "_"
    return name
