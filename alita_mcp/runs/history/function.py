"""Makes one typed function of runs of a program: the literals in which they differ are its parameters.

The statements of the program stay as they are, inside the function. Whether they do the same there is for the gates to
find out: each run is an example.
"""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from alita_mcp.runs.code_run import RecordedRun
from alita_mcp.runs.execution import LIMITS
from alita_mcp.runs.history.annotations import Annotations, NoFunctionError
from alita_mcp.runs.history.program import Program, program_of, slot_name
from alita_mcp.syntax import expression_tree, module_tree, symbol_table
from alita_mcp.values import Example, Value

MAX_PARAMETERS = 20
_BUILTINS = frozenset(dir(builtins))
_INPUT_ERRORS = (ValueError, TypeError, LookupError, ArithmeticError)
"""Errors that say something about what a program was given."""
_KINDS = {"str": "A text", "int": "A whole number", "float": "A number", "bool": "True or false"}
_IMPORTS = ast.Import | ast.ImportFrom
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


class RunFunction(Value):
    """A function that does what several runs did, and what these runs were as calls of it."""

    code: str
    signature: str
    """Parameters and result, as in `(prices: list[float], rate: float) -> list[float]`."""
    varied: tuple[str, ...]
    """Names of the parameters that were not the same in all runs."""
    calls: tuple[Example, ...]
    """For each run, in order: its arguments and what it gave, exactly as it was."""


@dataclass
class _Parameter:
    name: str
    values: list[Any]
    """One of each run."""
    slots: list[int] = field(default_factory=list)
    """Places in the program that it fills; none for what the runs were given as arguments."""
    annotation: str = ""

    @property
    def optional(self) -> bool:
        return self.annotation.endswith("| None")


def function_of(runs: Sequence[RecordedRun], name: str, description: str = "") -> RunFunction:
    """The function of this name that runs of one program amount to.

    What was only seen shows which of its values vary, and is no example.

    Raises:
        NoFunctionError: syntax alone makes no function of them.
    """
    runs = [each for each in runs if each.ok or each.status == "seen" or _is_input_error(each)]
    try:
        programs = [each for run in runs if (each := program_of(run.code))]
        if len(programs) < len(runs):
            raise NoFunctionError("the code of a run does not parse, or is too long")
        return _function(runs, programs, name, description)
    except (RecursionError, SyntaxError, ValueError) as unwritable:
        raise NoFunctionError(f"it cannot be written as a function: {unwritable}") from unwritable


def _is_input_error(run: RecordedRun) -> bool:
    """Whether a run failed by an error that says something about what it was given."""
    kind = getattr(builtins, run.error_type, None) if run.status == "error" else None
    return isinstance(kind, type) and issubclass(kind, _INPUT_ERRORS)


def _function(
    runs: Sequence[RecordedRun], programs: Sequence[Program], name: str, description: str
) -> RunFunction:
    program, bound = programs[0], _bindings(programs[0].body)
    other = next((run.id for run, each in zip(runs, programs, strict=True) if each.key != program.key), "")
    if other:
        raise NoFunctionError(f"run {other} differs from run {runs[0].id} in more than literals")
    # 1. What a function cannot do is refused here: the gates would say less clearly what is wrong.
    for node in ast.walk(ast.Module([*program.body], [])):
        match node:
            case ast.Name(id="input") if not bound["input"]:
                raise NoFunctionError("it reads input(); pass what it reads in `arguments`")
            case ast.ImportFrom(module="alita_tools") | ast.alias(name="alita_tools"):
                raise NoFunctionError("it calls tools of the library")
    # 2. Parameters are what the runs were given as arguments, as far as the program names it, and what varies.
    top = symbol_table(runs[0].code)
    given = [argument for argument in runs[0].arguments if argument in bound]
    for argument in given:
        if any(argument not in run.arguments for run in runs):
            raise NoFunctionError(f"{argument} was given to only some of the runs")
    parameters = [_Parameter(argument, [run.arguments[argument] for run in runs]) for argument in given]
    parameters += _literal_parameters(programs, bound, {*top.get_identifiers()}, {*given})
    if not parameters:
        raise NoFunctionError("nothing varies between the runs, and they were given no arguments")
    if len(parameters) > MAX_PARAMETERS:
        raise NoFunctionError(
            f"{len(parameters)} values vary; a tool has at most {MAX_PARAMETERS} parameters"
        )
    # 3. Their types, and that of the result, are those that were seen.
    annotations = Annotations(_BUILTINS.union(bound))
    for each in parameters:
        each.annotation = annotations.annotation_of(each.name, each.values)
    parameters.sort(key=lambda each: each.optional)
    prints, returns = _prints(runs), "str"
    if not prints:
        returns = annotations.annotation_of("result", [run.result for run in runs if run.ok], nulls=True)
    # 4. The statements stay, inside of the function; imports go before it.
    body = _fill_slots(program, parameters)
    imports = list(dict.fromkeys(ast.unparse(each) for each in body if isinstance(each, _IMPORTS)))
    body = [each for each in body if not isinstance(each, _IMPORTS | ast.Pass)]
    if prints:
        imports += ["import contextlib", "import io"]
        redirected = expression_tree("contextlib.redirect_stdout(io.StringIO())").body
        block = ast.With([ast.withitem(redirected, ast.Name("_printed", ast.Store()))], body)
        body = [block, ast.Return(expression_tree("_printed.getvalue()").body)]
    else:
        sets_result = "result" in top.get_identifiers() and top.lookup("result").is_assigned()
        body = _return_result(body, sets_result=sets_result)
    listed = ", ".join(f"{each.name}: {each.annotation}{' = None' * each.optional}" for each in parameters)
    text = f"{'async ' * any(map(_awaits, body))}def {name}({listed}) -> {returns}:\n    pass"
    function = module_tree(text).body[0]
    summary = description.strip() or f"{name.replace('_', ' ').capitalize()}."
    words = [f"{summary.splitlines()[0]}\n", "    Args:"]
    for each in parameters:
        kind = each.annotation.removesuffix(" | None")
        said = _KINDS.get(kind, "A list" if kind.startswith("list") else "An object")
        words.append(f"        {each.name}: {said}{', or nothing' * each.optional}.")
    docstring = ast.Expr(ast.Constant("\n".join([*words, "    "])))
    function.body = [docstring, *body]  # type: ignore[attr-defined]
    imports.sort(key=lambda line: not line.startswith("from __future__"))
    whole = ["\n".join(imports), annotations.classes, ast.unparse(ast.fix_missing_locations(function))]
    code = "\n\n\n".join(filter(None, whole)) + "\n"
    symbol_table(code)
    return RunFunction(
        code=code,
        signature=f"({listed}) -> {re.sub('_[A-Z][A-Za-z0-9_]*', 'dict', returns)}",
        varied=tuple(each.name for each in parameters if len({*map(json.dumps, each.values)}) > 1),
        calls=_calls(runs, parameters, prints=prints),
    )


def _bindings(body: Sequence[ast.stmt]) -> Counter[str]:
    """How often each name that occurs is bound, in all scopes; what is declared global counts twice."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.Module([*body], [])):
        if isinstance(node, ast.Name):
            found[node.id] += not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.alias):
            found[node.asname or node.name.partition(".")[0]] += 1
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update([*node.names, *node.names])
        elif not isinstance(node, ast.keyword):
            # functions, classes, parameters, handlers of errors, patterns
            words = (getattr(node, word, None) for word in ("name", "arg", "rest"))
            found.update(word for word in words if isinstance(word, str))
    return found


def _literal_parameters(
    programs: Sequence[Program], bound: Counter[str], top: set[str], chosen: set[str]
) -> list[_Parameter]:
    """The literals in which the programs differ; texts and numbers that always vary alike are one parameter.

    `top` holds the names of the programs' top level, `chosen` those of other parameters.
    """
    found: dict[str, _Parameter] = {}
    for number, slots in enumerate(zip(*(program.slots for program in programs), strict=True)):
        values = [slot.value for slot in slots]
        if len({*map(json.dumps, values)}) == 1:
            continue
        merges = all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in values)
        column = json.dumps(values if merges else [number, *values])
        found.setdefault(column, _Parameter("", values)).slots.append(number)
    assigned = {slot: variable for variable, slot in map(_variable_and_name, programs[0].body)}
    for parameter in found.values():
        parameter.name = next(
            name for name in _names(parameter, programs[0], assigned, bound, top) if name not in chosen
        )
        chosen.add(parameter.name)
    return list(found.values())


def _variable_and_name(statement: ast.stmt) -> tuple[str, str]:
    """The variable to which a statement gives the value of a name, and this name; empty ones for all else."""
    match statement:
        case (
            ast.Assign(targets=[ast.Name(id=variable)], value=ast.Name(id=name))
            | ast.AnnAssign(target=ast.Name(id=variable), value=ast.Name(id=name))
        ):
            return variable, name
    return "", ""


def _names(
    parameter: _Parameter, program: Program, assigned: dict[str, str], bound: Counter[str], top: set[str]
) -> Iterator[str]:
    """Names that a parameter may have, the best first."""
    # Case 1: it is a variable that is bound nowhere else, and so needs no assignment any more.
    for number in parameter.slots:
        variable = assigned.get(slot_name(number), "")
        if _NAME.fullmatch(variable) and bound[variable] == 1 and variable not in _BUILTINS | {"result"}:
            yield variable
    # Case 2: the program says what it is, by a variable, keyword, key or parameter, in a word that is free there.
    slots = [program.slots[number] for number in parameter.slots]
    used = _BUILTINS | top | (set() if all(slot.at_top for slot in slots) else bound.keys())
    for slot in slots:
        hint = re.sub(r"\W+", "_", slot.hint).strip("_").lower()
        for name in (hint, f"{hint}_value"):
            if _NAME.fullmatch(name) and not keyword.iskeyword(name) and name not in used:
                yield name
    # Case 3: it says nothing.
    yield from (name for number in range(1, 1_000) if (name := f"value_{number}") not in used | bound.keys())


def _prints(runs: Sequence[RecordedRun]) -> bool:
    """Whether what the program prints is its result, as it has no other."""
    good = [run for run in runs if run.ok]
    if any(run.result_kind == "repr" for run in good):
        raise NoFunctionError("its result is not JSON; return numbers, texts, lists or dicts of them")
    if any(run.result_kind == "cut" for run in good):
        raise NoFunctionError("its result is too large")
    if any(run.result is not None for run in good):
        return False
    if any(len(run.stdout.encode()) > LIMITS.output_bytes for run in good):
        raise NoFunctionError("it printed more than is kept")
    if any(run.stdout for run in good):
        return True
    raise NoFunctionError("it gave no result and printed nothing")


def _calls(
    runs: Sequence[RecordedRun], parameters: Sequence[_Parameter], *, prints: bool
) -> tuple[Example, ...]:
    """Each run as a call, the same call once."""
    calls: dict[str, Example] = {}
    for place, run in enumerate(runs):
        if run.status == "seen":
            continue
        arguments = {
            each.name: each.values[place]
            for each in parameters
            if not (each.optional and each.values[place] is None)
        }
        outcome = {"expected": run.stdout if prints else run.result} if run.ok else {"raises": run.error_type}
        call = Example(arguments=arguments, **outcome)
        known = calls.setdefault(json.dumps(arguments, sort_keys=True), call)
        if json.dumps(known.as_json(), sort_keys=True) != json.dumps(call.as_json(), sort_keys=True):
            raise NoFunctionError(
                "runs gave different results for the same values: pass what they depend on (clock, chance, files, "
                "earlier steps) in `arguments`"
            )
    return tuple(calls.values())


class _Filler(ast.NodeTransformer):
    """Puts literals and parameters in the places of slots."""

    def __init__(self, program: Program, parameters: Sequence[_Parameter]) -> None:
        self._nodes: dict[str, ast.expr] = {
            slot_name(number): slot.node for number, slot in enumerate(program.slots)
        }
        for each in parameters:
            self._nodes |= {slot_name(number): ast.Name(each.name, ast.Load()) for number in each.slots}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._nodes.get(node.id, node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        node.values = [
            ast.FormattedValue(each, -1) if isinstance(each, ast.Name) else each for each in node.values
        ]
        return node

    def visit_Global(self, node: ast.Global) -> ast.stmt:
        return ast.Nonlocal(node.names)  # what was global is a variable of the function around it


def _fill_slots(program: Program, parameters: Sequence[_Parameter]) -> list[ast.stmt]:
    """The program's statements with its literals and parameters, without assignments of a parameter to itself."""
    filled = map(_Filler(program, parameters).visit, program.body)
    own = {each.name for each in parameters}
    return [each for each in filled if (pair := _variable_and_name(each))[0] != pair[1] or pair[0] not in own]


def _return_result(body: list[ast.stmt], *, sets_result: bool) -> list[ast.stmt]:
    """The body with the value of its last expression returned, or else of its variable `result`, as `run_code` does."""
    match body:
        case [*before, ast.Expr(value=value)] if not sets_result or isinstance(value, ast.Name):
            return [*before, ast.Return(value)]
        case [*before, ast.Expr(value=value)]:
            kept = ast.Assign([ast.Name("_last", ast.Store())], value)
            return [*before, kept, ast.Return(expression_tree("result if _last is None else _last").body)]
    if not sets_result:
        raise NoFunctionError("it ends without an expression and sets no variable named result")
    return [*body, ast.Return(ast.Name("result", ast.Load()))]


def _awaits(node: ast.AST) -> bool:
    """Whether a node waits for something outside the functions in it."""
    if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or getattr(node, "is_async", False):
        return True
    inner = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    return not isinstance(node, inner) and any(map(_awaits, ast.iter_child_nodes(node)))
